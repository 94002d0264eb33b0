// Worker threads: pinned, each inside its node's task arena, waiting between runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <gristmill/topology.hpp>

#include "os/thread.hpp"
#include "store/collection.hpp"
#include "store/output_reader.hpp"
#include "work/shared_block.hpp"
#include "work/worker_host.hpp"
#include "work/worker_loop.hpp"

namespace gristmill::work {

// Threads: the coordinator's, one run at a time.
// Owns:    the threads and what each of them writes to. Joins them at the end.
// Keeps:   I14. A run's memory is reused only after every worker has acknowledged the run's end.
class WorkerPool final : public WorkerHost {
  public:
    // Starts plan.workers threads; with none, step() does the work.
    static Result<std::unique_ptr<WorkerPool>> start(const Plan &plan);
    ~WorkerPool() override;

    RunState state() const override { return block_.state(); }
    record::SourceTable &sources() override { return sources_; }
    Result<void> prepare_rings(std::uint64_t ring_bytes) override;
    store::OutputPlaces places() override;
    Result<void> begin_run(const WorkOrder &order, const store::OutputReader &outputs) override;
    Result<void> supervise() override;
    bool news() const override;
    bool caller_works() const override { return !threaded_; }
    bool step() override;
    void end_run(bool completed, const std::function<bool()> &interrupted) override;
    store::Collected take_collected() override;
    std::uint64_t overflow_batches() const override;

  private:
    struct Worker;
    WorkerPool(const Plan &plan, SharedBlock block);
    void serve(std::uint32_t index);
    void begin_worker(std::uint32_t index);
    void end_worker(std::uint32_t index);

    SharedBlock block_;
    record::SourceTable sources_;
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
