// The state that all parties of a run share, in one block of shared memory: header, worker slots,
// claim cursors, batch entries. Offsets only, so that every process may map it where it likes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "ring/batch_entry.hpp"
#include "ring/event_count.hpp"

namespace gristmill::ring {

inline constexpr std::uint64_t kAnySequence = ~std::uint64_t{0};
inline constexpr std::uint64_t kNoSequence = ~std::uint64_t{0} - 1; // nothing to be woken for

// Threads: each field names its writer; everybody reads.
// Keeps:   I2. head <= published <= head + entries.
//          I3. ready_count >= number of ready entries: raised before a publish, lowered after a
//              claim.
template <class A>
struct RunHeader {
    template <class T>
    using Atomic = typename A::template Atomic<T>;

    // Fixed for the life of the block.
    std::uint32_t workers = 0;
    std::uint32_t nodes = 0;
    std::uint32_t capacity = 0; // in entries, a power of two
    bool caller_works = false; // the coordinator's thread is the only worker, too
    std::uint64_t slots_offset = 0;
    std::uint64_t cursors_offset = 0;
    std::uint64_t steal_orders_offset = 0;
    std::uint64_t entries_offset = 0;

    // Fixed for a run, written by the coordinator before it begins.
    std::uint32_t entries = 0; // of the ring: a power of two, at most the capacity
    std::uint32_t entries_made = 0; // since the block was created

    // Written by the coordinator.
    alignas(64) Atomic<std::uint32_t> run{1};     // RunWord: which run, and whether it is over
    Atomic<std::uint32_t> over{1};                // the same, for those who are in the run
    Atomic<std::uint32_t> shutdown{0};            // no further run will come
    Atomic<std::uint32_t> publisher_is_egress{1}; // one thread does both and sleeps once
    Atomic<std::uint64_t> order_bytes{0};         // length of the run's order, for processes

    // Written by the nursery: what it is up to, and how many exits it has reported.
    alignas(64) Atomic<std::uint32_t> nursery{0};
    Atomic<std::uint32_t> exits{0};

    // Written by the publisher.
    alignas(64) Atomic<std::uint64_t> published{0}; // sequences below exist
    Atomic<std::uint32_t> ended{0};                 // no more will be published
    Atomic<std::int32_t> publish_wake_at{-1};       // wake the publisher at so few ready entries
    Atomic<std::uint32_t> publisher_wants_input{0}; // wake it when input memory comes back

    // Written by egress.
    alignas(64) Atomic<std::uint64_t> head{0};     // sequences below are retired
    Atomic<std::uint64_t> target{kNoSequence};     // wake egress when this one is done

    alignas(64) Atomic<std::int32_t> ready_count{0};
    // Written by the supervisor: how often a dead worker's batches were given back in this run.
    // From then on ready_count may be too high, by one for each death within a claim.
    Atomic<std::uint32_t> reclaims{0};

    alignas(64) EventCount<A> egress_event{};
    alignas(64) EventCount<A> publisher_event{};
};

// The run, in one word: a worker decides by one look whether to take part, so that none can take
// the last run's number for the next one's.
struct RunWord {
    std::uint32_t id = 0; // grows by one with each run
    bool over = true;     // it has ended, or is given up

    constexpr std::uint32_t pack() const noexcept { return (id << 1) | std::uint32_t{over}; }
    static constexpr RunWord unpack(std::uint32_t word) noexcept {
        return {word >> 1, (word & 1) != 0};
    }
};

// How the life of a worker process ended, as whoever reaped it saw it.
struct ExitReport {
    bool exited = false;
    std::uint16_t incarnation = 0; // of the process
    std::int32_t status = 0;       // as from waitpid(2)

    constexpr std::uint64_t pack() const noexcept {
        return (std::uint64_t{exited} << 63) | (std::uint64_t{incarnation} << 32) |
               static_cast<std::uint32_t>(status);
    }
    static constexpr ExitReport unpack(std::uint64_t word) noexcept {
        return {(word >> 63) != 0, static_cast<std::uint16_t>(word >> 32),
                static_cast<std::int32_t>(static_cast<std::uint32_t>(word))};
    }
};

enum class StartFailure : std::uint32_t {
    none,
    payload, // it could not be made
    loading  // its file could not be loaded
};

inline constexpr std::size_t kCpuMaskWords = 64; // CPUs 0 to 4095

// What one worker tells and is told.
template <class A>
struct alignas(128) WorkerSlot {
    template <class T>
    using Atomic = typename A::template Atomic<T>;

    EventCount<A> event{};                // this worker sleeps here
    Atomic<std::uint32_t> wants_room{0};  // by the worker: it sleeps until output is retired
    Atomic<std::uint32_t> acknowledged{0}; // by the worker: the last run it has left
    Atomic<std::uint32_t> started{0};      // by the worker: the last run its payload stands for
    Atomic<std::uint32_t> start_failed{0}; // by the worker: StartFailure; start_error says why
    char start_error[2048] = {};
    Atomic<std::uint64_t> cpu_ns{0};   // by the worker: CPU time of the run, before it leaves
    Atomic<std::uint64_t> progress{0}; // by the worker: steps made; odd while inside the payload
    Atomic<std::uint64_t> overflow_batches{0}; // by the worker, in the run
    Atomic<std::uint64_t> audited_bytes{0};    // by the worker, before it leaves: pages looked at
    Atomic<std::uint64_t> audited_local_bytes{0}; // the same: that lie on memory_node
    Atomic<std::uint32_t> command_group{0}; // by the worker: process group of what it has started
    Atomic<std::uint32_t> resigned{0}; // by the worker: its process ends by intention

    // By egress: output positions below are free again.
    alignas(64) Atomic<std::uint64_t> ring_released{0};
    Atomic<std::uint64_t> overflow_released{0};

    // Worker processes only. By the supervisor, before the process is started: where a new
    // incarnation goes on with its predecessor's output.
    Atomic<std::uint64_t> ring_start{0};
    Atomic<std::uint64_t> overflow_start{0};
    Atomic<std::uint64_t> overflow_base{0}; // position that lies at offset 0 of the file
    Atomic<std::uint64_t> collection_start{0};
    std::uint32_t node = 0;
    std::int32_t memory_node = -1; // of the machine, to take memory from; -1: as the kernel likes
    std::uint64_t cpu_mask[kCpuMaskWords] = {}; // to run on; all zero: anywhere
    // By the nursery: the process, 0 when there is none; and the end of the last one.
    alignas(64) Atomic<std::uint32_t> pid{0};
    Atomic<std::uint64_t> exit{0}; // ExitReport
};

// A view of such a block.
//
// Threads: any; a view is two words and is copied freely.
// Owns:    nothing, the block must outlive it.
template <class A>
class RunState {
  public:
    using Header = RunHeader<A>;
    using Slot = WorkerSlot<A>;
    using Entry = BatchEntry<A>;
    using Cursor = typename A::template Atomic<std::uint64_t>;

    // Ring size for so many workers (rule R5).
    static std::uint32_t entries_for(std::uint32_t workers) {
        return std::bit_ceil(std::max<std::uint32_t>(64, 8 * workers));
    }
    // The same, where batches are so small that a few dozen of them are worked off before anybody is
    // awake to publish and retire.
    static std::uint32_t entries_for_small_batches(std::uint32_t workers) {
        return 16 * entries_for(workers);
    }
    static std::uint64_t block_bytes(std::uint32_t workers, std::uint32_t nodes,
                                     std::uint32_t capacity) {
        return round_up(sizeof(Header), 128) + workers * sizeof(Slot) +
               round_up(nodes * sizeof(Cursor), 128) + steal_orders_bytes(nodes) +
               capacity * sizeof(Entry);
    }

    // Lays a fresh state into zeroed memory of block_bytes(), aligned to 128, with a ring of so many
    // entries.
    static RunState create(std::byte *block, std::uint32_t workers, std::uint32_t nodes,
                           std::uint32_t capacity, std::uint32_t entries) {
        GM_CHECK(std::has_single_bit(capacity) && workers > 0 && workers <= kWorkerSlotsMax);
        auto *header = new (block) Header;
        header->workers = workers;
        header->nodes = nodes;
        header->capacity = capacity;
        header->slots_offset = round_up(sizeof(Header), 128);
        header->cursors_offset = header->slots_offset + workers * sizeof(Slot);
        header->steal_orders_offset =
            header->cursors_offset + round_up(nodes * sizeof(Cursor), 128);
        header->entries_offset = header->steal_orders_offset + steal_orders_bytes(nodes);
        RunState state(block);
        for (std::uint32_t i = 0; i < workers; ++i)
            new (&state.slot(i)) Slot;
        for (std::uint32_t i = 0; i < nodes; ++i)
            new (&state.cursor(i)) Cursor{0};
        for (std::uint32_t node = 0; node < nodes; ++node)
            for (std::uint32_t step = 0; step < nodes; ++step)
                state.steal_order(node)[step] = static_cast<std::uint16_t>((node + step) % nodes);
        state.set_entries(entries);
        return state;
    }
    static RunState create(std::byte *block, std::uint32_t workers, std::uint32_t nodes,
                           std::uint32_t capacity) {
        return create(block, workers, nodes, capacity, capacity);
    }
    // A view of a state that lies there already.
    explicit RunState(std::byte *block) : block_(block) {}

    std::byte *block() const { return block_; }

    std::uint32_t run_id() const { return RunWord::unpack(header().run.load()).id; }
    // By the coordinator, when the state was reset; and when the run has ended.
    void begin_run() const {
        header().over.store(0);
        header().run.store(RunWord{run_id() + 1, false}.pack());
    }
    void end_run() const {
        header().run.store(RunWord{run_id(), true}.pack());
        header().over.store(1);
    }
    Header &header() const { return *reinterpret_cast<Header *>(block_); }
    Slot &slot(std::uint32_t worker) const {
        return reinterpret_cast<Slot *>(block_ + header().slots_offset)[worker];
    }
    Cursor &cursor(std::uint32_t node) const {
        return reinterpret_cast<Cursor *>(block_ + header().cursors_offset)[node];
    }
    // Whose batches the workers of a node take: node numbers, its own first, then the nearest. Fixed
    // before the first worker looks.
    std::span<std::uint16_t> steal_order(std::uint32_t node) const {
        auto *orders = reinterpret_cast<std::uint16_t *>(block_ + header().steal_orders_offset);
        return {orders + std::size_t{node} * header().nodes, header().nodes};
    }
    Entry &entry(std::uint64_t sequence) const {
        return reinterpret_cast<Entry *>(
            block_ + header().entries_offset)[sequence & (header().entries - 1)];
    }
    std::uint32_t lap(std::uint64_t sequence) const {
        return static_cast<std::uint32_t>(sequence / header().entries);
    }

    // Where the publisher sleeps.
    EventCount<A> &publisher_event() const {
        return header().publisher_is_egress.load() ? header().egress_event
                                                   : header().publisher_event;
    }

    // Makes everything as new for the next run, with a ring of so many entries; memory of the block is
    // touched only as far as some run's ring went. Only while every worker has acknowledged the end
    // of the last one.
    void reset(std::uint32_t entries) const {
        Header &h = header();
        h.published = 0;
        h.ended = 0;
        h.publish_wake_at = -1;
        h.publisher_wants_input = 0;
        h.head = 0;
        h.target = kNoSequence;
        h.ready_count = 0;
        h.reclaims = 0;
        for (std::uint32_t i = 0; i < h.workers; ++i) {
            slot(i).wants_room = 0;
            slot(i).start_failed = 0;
            slot(i).cpu_ns = 0;
            slot(i).overflow_batches = 0;
            slot(i).audited_bytes = 0;
            slot(i).audited_local_bytes = 0;
            slot(i).ring_released = 0;
            slot(i).overflow_released = 0;
            slot(i).ring_start = 0;
            slot(i).overflow_start = 0;
            slot(i).overflow_base = 0;
            slot(i).collection_start = 0;
        }
        for (std::uint32_t i = 0; i < h.nodes; ++i)
            cursor(i) = 0;
        set_entries(entries);
    }

    // Wakes one sleeping worker that could claim, beginning the search behind slot `after`: one
    // that waits for work; one that waits for room only helps when the head is ready (rule R3).
    void wake_one_worker(std::uint32_t after) const {
        const Header &h = header();
        A::fence();
        std::uint32_t starving = h.workers;
        for (std::uint32_t step = 1; step <= h.workers; ++step) {
            const std::uint32_t i = (after + step) % h.workers;
            if (!slot(i).event.has_waiter())
                continue;
            if (!slot(i).wants_room.load()) {
                if (slot(i).event.notify())
                    return;
                continue; // awake meanwhile
            }
            if (starving == h.workers)
                starving = i;
        }
        if (starving < h.workers && head_is_ready())
            slot(starving).event.notify();
    }

    bool head_is_ready() const {
        const std::uint64_t head = header().head.load();
        const StateWord word = StateWord::unpack(entry(head).state.load());
        return word.state == EntryState::ready && word.lap == lap(head);
    }

  private:
    static std::uint64_t steal_orders_bytes(std::uint64_t nodes) {
        return round_up(nodes * nodes * sizeof(std::uint16_t), 128);
    }
    void set_entries(std::uint32_t entries) const {
        Header &h = header();
        GM_CHECK(std::has_single_bit(entries) && entries <= h.capacity);
        h.entries = entries;
        for (std::uint32_t i = 0; i < std::min(entries, h.entries_made); ++i)
            entry(i).state = 0;
        for (; h.entries_made < entries; ++h.entries_made)
            new (&entry(h.entries_made)) Entry;
    }

    std::byte *block_;
};

} // namespace gristmill::ring
