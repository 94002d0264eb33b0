#include "work/worker_process.hpp"

#include <algorithm>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "os/crash_point.hpp"
#include "os/fd_io.hpp"
#include "os/process.hpp"
#include "store/collection_file.hpp"
#include "store/isolation_area.hpp"
#include "store/output_ring.hpp"
#include "work/nursery.hpp"
#include "work/remote_sources.hpp"
#include "work/shared_block.hpp"

namespace gristmill::work {

namespace {

// Two in turn when results are kept until the next are there.
constexpr std::size_t kCollectionsKept = 2;

// What a worker keeps from run to run.
class WorkerProcess {
  public:
    WorkerProcess(RunState state, std::uint32_t worker, std::uint16_t incarnation,
                  const FactoryMaker &make_factory)
        : state_(state), worker_(worker), incarnation_(incarnation), make_factory_(make_factory),
          sources_(sources_in(state)) {}

    void serve() {
        std::uint32_t seen = 0;
        while (const auto run = await_run(state_, worker_, seen)) {
            seen = run->id;
            if (!run->over) // it may have ended before this process was awake
                take_part(seen);
            if (resigned_) {
                slot().resigned.store(1);
                return;
            }
            os::crash_point("before leaving");
            slot().acknowledged.store(seen);
            os::crash_point("left");
            state_.header().egress_event.notify();
        }
    }

  private:
    RunState::Slot &slot() { return state_.slot(worker_); }

    void take_part(std::uint32_t run) {
        const std::uint64_t started_ns = thread_cpu_clock_ns();
        std::string failure = "the order of the run cannot be read";
        std::optional<OrderMessage> message = read_order();
        if (message && !attach(*message, failure))
            message.reset();
        if (!message) {
            report_start_failure(state_, worker_, ring::StartFailure::payload, failure);
            return;
        }
        RemoteSources sources(sources_, static_cast<std::int32_t>(message->holder));
        message->order.sources = &sources;
        if (Result<void> made = prepare_payload(*message); !made) {
            report_start_failure(state_, worker_, ring::StartFailure::loading,
                                 made.error().message);
            return;
        }
        message->order.payloads = factory_.get();
        work(run, *message);
        slot().cpu_ns.fetch_add(thread_cpu_clock_ns() - started_ns);
    }

    std::optional<OrderMessage> read_order() const {
        std::string bytes(state_.header().order_bytes.load(), '\0');
        const std::int64_t got =
            os::pread_full(kOrderFd, std::as_writable_bytes(std::span(bytes)), 0);
        return got == static_cast<std::int64_t>(bytes.size()) ? decode_order(bytes) : std::nullopt;
    }

    // Makes one's own descriptors of what this worker writes to.
    bool attach(const OrderMessage &message, std::string &failure) {
        const auto open = [&](std::int32_t fd, os::UniqueFd &mine) {
            if (fd < 0)
                return true;
            Result<os::UniqueFd> opened =
                os::reopen(static_cast<pid_t>(message.holder), fd, true);
            if (!opened) {
                failure = opened.error().message + " (worker processes reach the engine's memory "
                                                   "through /proc; isolation='thread' does without)";
                return false;
            }
            mine = std::move(*opened);
            return true;
        };
        const WorkerFiles &files = message.files.at(worker_);
        if (!open(message.isolation, isolation_))
            return false;
        if (files.collection >= 0 && !recall_collection(files.collection_id)) {
            os::UniqueFd fd;
            if (!open(files.collection, fd))
                return false;
            collections_.emplace_front(files.collection_id, std::move(fd));
            if (collections_.size() > kCollectionsKept)
                collections_.pop_back();
        }
        if (files.collection >= 0)
            collections_.front().set_warm_bytes(files.collection_warm_bytes);
        if (files.ring < 0 || (rings_ && ring_generation_ == message.ring_generation))
            return true;
        os::UniqueFd ring, overflow;
        if (!open(files.ring, ring) || !open(files.overflow, overflow))
            return false;
        Result<store::OutputMemory> memory = store::OutputMemory::attach(
            std::move(ring), std::move(overflow), message.ring_bytes, message.mirrored);
        if (!memory) {
            failure = memory.error().message;
            return false;
        }
        rings_ = std::move(*memory);
        ring_generation_ = message.ring_generation;
        return true;
    }

    // A file this worker has written to before comes to the front.
    bool recall_collection(std::uint64_t id) {
        const auto found = std::find_if(collections_.begin(), collections_.end(),
                                        [id](const auto &file) { return file.id() == id; });
        if (found == collections_.end())
            return false;
        collections_.splice(collections_.begin(), collections_, found);
        return true;
    }

    // The factory of the run before serves again if it is asked for the same.
    Result<void> prepare_payload(const OrderMessage &message) {
        const bool same = factory_ && description_.kind == message.payload.kind &&
                          description_.texts == message.payload.texts &&
                          framing_ == message.order.framing &&
                          factory_->still_good();
        if (same)
            return {};
        factory_.reset();
        Result<std::unique_ptr<PayloadFactory>> made =
            make_factory_(message.payload, message.order.framing);
        if (!made)
            return made.error();
        factory_ = std::move(*made);
        description_ = message.payload;
        framing_ = message.order.framing;
        return {};
    }

    void work(std::uint32_t run, const OrderMessage &message) {
        std::optional<store::RingArea> ring;
        std::optional<store::CollectionFileArea> collection;
        store::OutputArea *output = nullptr;
        if (message.order.output == OutputMode::ring) {
            const store::OutputStart start{slot().ring_start.load(), slot().overflow_start.load(),
                                           slot().overflow_base.load()};
            output = &ring.emplace(*rings_, slot().ring_released, slot().overflow_released, start);
        } else {
            output = &collection.emplace(collections_.front(), slot().collection_start.load());
        }
        store::IsolationArea isolation(isolation_.get());
        WorkerLoop loop(state_, message.order, {worker_, slot().node, incarnation_}, input_,
                        *output, &isolation);
        if (!loop.start())
            return;
        os::crash_point("before start");
        slot().started.store(run);
        os::crash_point("started");
        state_.header().egress_event.notify();
        resigned_ = !loop.run();
        loop.close();
        if (ring)
            slot().overflow_batches.fetch_add(ring->overflow_batches());
        audit_memory(state_, worker_, input_.memory());
        if (ring)
            audit_memory(state_, worker_, rings_->memory());
    }

    RunState state_;
    const std::uint32_t worker_;
    const std::uint16_t incarnation_;
    const FactoryMaker &make_factory_;
    const record::SourceTable sources_;
    record::InputBuffer input_;
    std::optional<store::OutputMemory> rings_;
    std::uint32_t ring_generation_ = 0;
    std::list<store::WarmFile> collections_; // the last used first
    os::UniqueFd isolation_;
    PayloadDescription description_;
    Framing framing_;
    std::unique_ptr<PayloadFactory> factory_;
    bool resigned_ = false;
};

} // namespace

void live_as_worker(RunState state, std::uint32_t worker, std::uint16_t incarnation,
                    const FactoryMaker &make_factory) {
    os::reset_signals();
    os::volunteer_for_oom();
    os::count_forks();
    os::run_on_cpus(state.slot(worker).cpu_mask);
    settle_on_node(state, worker);
    WorkerProcess(state, worker, incarnation, make_factory).serve();
}

} // namespace gristmill::work
