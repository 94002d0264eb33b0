#include "work/worker_pool.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <tbb/task_arena.h>

#include "base/clock.hpp"

namespace gristmill::work {

// One arena per node: what a payload does with oneTBB shares the node's cores with the workers.
struct WorkerPool::Arenas {
    std::vector<std::unique_ptr<tbb::task_arena>> of_node;
};

struct WorkerPool::Worker {
    WorkerIdentity identity;
    std::optional<std::uint32_t> cpu;
    record::InputBuffer input;
    store::CollectionArea collection;
    std::optional<store::RingArea> ring; // of the run
    std::optional<WorkerLoop> loop;      // of the run
    std::uint64_t overflow_batches = 0;
    std::uint64_t cpu_started_ns = 0;
    bool started = false;
};

WorkerPool::WorkerPool(const Plan &plan, SharedBlock block)
    : block_(std::move(block)), sources_(sources_in(block_.state())), state_(block_.state()),
      arenas_(std::make_unique<Arenas>()), threaded_(!plan.workers.empty()) {
    state_.header().caller_works = !threaded_;
    const std::uint32_t workers = std::max<std::uint32_t>(1, std::uint32_t(plan.workers.size()));
    for (std::uint32_t i = 0; i < workers; ++i) {
        auto worker = std::make_unique<Worker>();
        worker->identity.worker = i;
        if (threaded_) {
            worker->identity.node = plan.workers[i].node;
            worker->cpu = plan.workers[i].cpu;
        }
        workers_.push_back(std::move(worker));
    }
    for (const PlannedNode &node : plan.nodes) {
        const int count = std::max(1, int(node.workers));
        arenas_->of_node.push_back(std::make_unique<tbb::task_arena>(count, unsigned(count)));
    }
}

Result<std::unique_ptr<WorkerPool>> WorkerPool::start(const Plan &plan) {
    Result<SharedBlock> block = SharedBlock::create(plan);
    if (!block)
        return block.error();
    std::unique_ptr<WorkerPool> pool(new WorkerPool(plan, std::move(*block)));
    if (!pool->threaded_)
        return pool;
    for (std::uint32_t i = 0; i < pool->workers_.size(); ++i) {
        WorkerPool *self = pool.get();
        tbb::task_arena *arena = pool->arenas_->of_node[pool->workers_[i]->identity.node].get();
        Result<os::Thread> thread =
            os::Thread::start("gristmill/" + std::to_string(i), pool->workers_[i]->cpu,
                              [self, arena, i] { arena->execute([self, i] { self->serve(i); }); });
        if (!thread)
            return thread.error();
        pool->threads_.push_back(std::move(*thread));
    }
    return pool;
}

WorkerPool::~WorkerPool() {
    state_.header().shutdown.store(1);
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        state_.slot(i).event.notify();
}

// A thread's whole life: sleep until there is a run, work in it, acknowledge its end.
void WorkerPool::serve(std::uint32_t index) {
    auto &header = state_.header();
    settle_on_node(state_, index);
    std::uint32_t seen = 0;
    while (const auto run = await_run(state_, index, seen)) {
        seen = run->id;
        if (!run->over) { // it may have ended before this thread was awake
            begin_worker(index);
            if (workers_[index]->started)
                workers_[index]->loop->run();
            end_worker(index);
        }
        state_.slot(index).acknowledged.store(seen);
        header.egress_event.notify();
    }
}

void WorkerPool::begin_worker(std::uint32_t index) {
    Worker &worker = *workers_[index];
    auto &slot = state_.slot(index);
    worker.cpu_started_ns = thread_cpu_clock_ns();
    worker.collection.set_memory_node(slot.memory_node);
    store::OutputArea *output = &worker.collection;
    if (order_->output == OutputMode::ring) {
        worker.ring.emplace(rings_[index], slot.ring_released, slot.overflow_released);
        output = &*worker.ring;
    }
    worker.loop.emplace(state_, *order_, worker.identity, worker.input, *output);
    worker.started = worker.loop->start();
}

void WorkerPool::end_worker(std::uint32_t index) {
    Worker &worker = *workers_[index];
    worker.overflow_batches = worker.ring ? worker.ring->overflow_batches() : 0;
    worker.loop.reset();
    audit_memory(state_, index, worker.input.memory());
    if (worker.ring)
        audit_memory(state_, index, rings_[index].memory());
    worker.ring.reset();
    state_.slot(index).cpu_ns.store(thread_cpu_clock_ns() - worker.cpu_started_ns);
}

Result<void> WorkerPool::prepare_rings(std::uint64_t ring_bytes) {
    if (!rings_.empty() && rings_[0].ring_bytes == round_up(ring_bytes, kPageBytes))
        return {};
    return store::make_rings(rings_, workers_.size(), ring_bytes);
}

store::OutputPlaces WorkerPool::places() {
    store::OutputPlaces places;
    places.rings = &rings_;
    return places;
}

// A worker without a payload ends the run, with its own words.
Result<void> WorkerPool::supervise() { return check_starts(state_); }
bool WorkerPool::news() const { return !check_starts(state_).ok(); }

Result<void> WorkerPool::begin_run(const WorkOrder &order, const store::OutputReader &) {
    order_ = &order;
    running_ = true;
    state_.begin_run();
    if (!threaded_) {
        begin_worker(0);
        return {};
    }
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        state_.slot(i).event.notify();
    return {};
}

bool WorkerPool::step() { return workers_[0]->started && workers_[0]->loop->step(); }

// A thread cannot be ended: it finishes the batch in hand, and ends its payload.
void WorkerPool::end_run(bool, const std::function<bool()> &) {
    if (!std::exchange(running_, false))
        return;
    auto &header = state_.header();
    state_.end_run();
    if (!threaded_) {
        end_worker(0);
        return;
    }
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        state_.slot(i).event.notify();
    const auto all_left = [&] {
        for (std::uint32_t i = 0; i < workers_.size(); ++i)
            if (state_.slot(i).acknowledged.load() != state_.run_id())
                return false;
        return true;
    };
    while (!all_left()) {
        const std::uint32_t ticket = header.egress_event.prepare_wait();
        if (all_left())
            header.egress_event.cancel_wait(ticket);
        else
            header.egress_event.commit_wait(ticket, -1);
    }
}

store::Collected WorkerPool::take_collected() {
    store::Collected collected;
    for (auto &worker : workers_)
        collected.chunks.push_back(worker->collection.take_chunks());
    return collected;
}

std::uint64_t WorkerPool::overflow_batches() const {
    std::uint64_t total = 0;
    for (const auto &worker : workers_)
        total += worker->overflow_batches;
    return total;
}

} // namespace gristmill::work
