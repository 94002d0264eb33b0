// Input that cannot be read again, on its way to the workers: slots of a file in memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/plugin.h>

#include "os/memory.hpp"
#include "os/placement.hpp"
#include "os/unique_fd.hpp"

namespace gristmill::store {

struct SpoolCounters {
    std::uint64_t slots = 0;           // made
    std::uint64_t resident_bytes = 0;  // now: of slots in use, or kept warm
    std::uint64_t resident_bytes_max = 0;
    std::uint64_t punched_bytes = 0;   // given back
    std::uint64_t punches_failed = 0;
};

// Whose memory a pool of slots is.
struct SpoolNode {
    std::uint32_t workers = 1;                    // none: it gets no slots, if others have some
    std::optional<std::uint32_t> memory_node{};   // of the machine; none: the kernel chooses
};

// One pool of slots for each node, in one file. Usual slots are recycled warm; those beyond the working
// set, and larger ones, lose their memory as soon as they are free.
//
// Threads: one, ingress.
// Owns:    the file, and mappings of its slots.
// Keeps:   a slot's memory is taken from its node from the first touch on, as far as that has any.
class Spool {
  public:
    // No more than `limit_bytes` in use, but for what acquire() is told to take beyond. A usual slot
    // takes `slot_bytes`, rounded up to pages.
    static Result<Spool> create(std::uint64_t slot_bytes, std::uint64_t limit_bytes,
                                const std::vector<SpoolNode> &nodes = {{}});

    int fd() const { return fd_.get(); }
    std::uint64_t slot_bytes() const { return slot_bytes_ - GM_BATCH_PADDING; } // of a usual one
    const SpoolCounters &counters() const { return counters_; }

    // A slot of at least so many bytes, held once, of the node that has the fewest bytes in use for
    // each of its workers; of another, where no more can be made. nullopt: the limit is reached, and
    // more will be free when slots are released. Errors: ErrorKind::memory, when none is in use and
    // none can be had. `beyond_limit`: nobody will release any.
    Result<std::optional<std::uint32_t>> acquire(std::uint64_t bytes, bool beyond_limit);

    // To be written by system calls, or when make_present() has said that it may be stored to:
    // otherwise there may be no memory for it, and a store is the end of this process.
    std::byte *data(std::uint32_t slot) { return slots_[slot].mapping.data(); }
    bool make_present(std::uint32_t slot);
    // GM_BATCH_PADDING bytes of the slot's own follow.
    std::uint64_t capacity(std::uint32_t slot) const {
        return slots_[slot].bytes - GM_BATCH_PADDING;
    }
    // Of its first byte, in the file.
    std::uint64_t offset(std::uint32_t slot) const { return slots_[slot].offset; }

    std::uint32_t nodes() const { return static_cast<std::uint32_t>(pools_.size()); }
    std::uint32_t node(std::uint32_t slot) const { return slots_[slot].node; }
    // Of each node: which of its slots' pages lie where they should.
    std::vector<os::PageAudit> audit() const;

    void hold(std::uint32_t slot) { ++slots_[slot].holders; }
    // The last one makes it free.
    void release(std::uint32_t slot);

    std::uint64_t bytes_in_use() const { return in_use_bytes_; }

  private:
    struct Slot {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        os::Mapping mapping{};
        std::uint32_t node = 0;
        std::uint32_t holders = 0;
        bool warm = false;    // may have memory
        bool present = false; // has memory throughout
    };

    // Slots of one node.
    struct Pool {
        SpoolNode node{};
        std::uint64_t in_use_bytes = 0;
        std::uint32_t in_use = 0;
        std::uint32_t in_use_max = 0;  // since the last look
        std::uint32_t working_set = 0; // slots in use at a time, lately
        std::uint32_t releases = 0;    // since the last look
        std::vector<std::uint32_t> free{};  // usual ones, the last used last
        std::vector<std::uint32_t> large{}; // free ones without memory
    };

    std::uint32_t choose_node() const;
    std::optional<std::uint32_t> take_free(Pool &pool, std::uint64_t bytes, std::uint64_t bytes_max);
    Result<std::uint32_t> make_slot(std::uint32_t node, std::uint64_t bytes);
    void give_memory_back(Slot &slot);
    void trim(Pool &pool);
    void count_resident(std::uint64_t more, std::uint64_t less);

    os::UniqueFd fd_;
    std::uint64_t slot_bytes_ = 0;
    std::uint64_t limit_bytes_ = 0;
    std::uint64_t file_bytes_ = 0;
    std::uint64_t in_use_bytes_ = 0;
    std::uint32_t chosen_ = 0; // the node of the last slot
    std::vector<Pool> pools_;  // by node
    std::vector<Slot> slots_;
    SpoolCounters counters_;
};

} // namespace gristmill::store
