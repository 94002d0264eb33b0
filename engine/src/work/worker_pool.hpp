// Worker threads: pinned, each inside its node's task arena, waiting between runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <gristmill/topology.hpp>

#include "os/thread.hpp"
#include "store/collection.hpp"
#include "store/output_ring.hpp"
#include "work/worker_loop.hpp"

namespace gristmill::work {

// Threads: the coordinator's, one run at a time.
// Owns:    the threads and what each of them writes to. Joins them at the end.
// Keeps:   I14. A run's memory is reused only after every worker has acknowledged the run's end.
class WorkerPool {
  public:
    // Starts plan.workers threads that serve runs of `state`; with none, step() does the work.
    static Result<std::unique_ptr<WorkerPool>> start(const Plan &plan, RunState state);
    ~WorkerPool();

    // Gives every worker an output ring of this size, unless it has one.
    Result<void> prepare_rings(std::uint64_t ring_bytes);

    // Begins a run: wakes the workers. `order` outlives the run.
    void begin_run(const WorkOrder &order);
    // Works on one batch in the calling thread. Only without threads.
    bool step();
    // The run is over or given up: returns when every worker has left it. A second call does
    // nothing.
    void end_run();

    std::vector<store::OutputMemory> &output_memory() { return rings_; }
    // After end_run(): what was collected, in no order.
    std::vector<store::Chunks> take_chunks();
    std::uint64_t overflow_batches() const;

  private:
    struct Worker;
    WorkerPool(const Plan &plan, RunState state);
    void serve(std::uint32_t index);
    void begin_worker(std::uint32_t index);
    void end_worker(std::uint32_t index);

    RunState state_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<store::OutputMemory> rings_;
    const WorkOrder *order_ = nullptr;
    struct Arenas;
    std::unique_ptr<Arenas> arenas_;
    bool threaded_ = false;
    bool running_ = false;
    std::vector<os::Thread> threads_; // last: joined before what they use is destroyed
};

} // namespace gristmill::work
