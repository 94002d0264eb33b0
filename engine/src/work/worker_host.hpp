// Where workers live: threads of this process, or processes of their own. What the engine and the
// coordinator need of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <gristmill/error.hpp>

#include "store/collected.hpp"
#include "store/output_reader.hpp"
#include "work/work_order.hpp"
#include "work/worker_loop.hpp"

namespace gristmill::work {

// Threads: the coordinator's, one run at a time.
// Keeps:   I14. A run's memory is reused only after every worker has acknowledged the run's end, or
//              is dead.
class WorkerHost {
  public:
    virtual ~WorkerHost() = default;

    // The state that the workers share; lives as long as the host.
    virtual RunState state() const = 0;
    // Open sources, as the workers see them. Written by ingress.
    virtual record::SourceTable &sources() = 0;

    // Before begin_run(), one of them: gives every worker an output ring of this size, unless it has
    // one; or a place to collect output in.
    virtual Result<void> prepare_rings(std::uint64_t ring_bytes) = 0;
    virtual Result<void> prepare_collection() { return {}; }
    // Where the workers' output lies.
    virtual store::OutputPlaces places() = 0;

    // Begins a run of a state that was reset: wakes the workers. Both outlive the run.
    virtual Result<void> begin_run(const WorkOrder &order, const store::OutputReader &outputs) = 0;
    // Does a worker have its payload? Before, nothing is published.
    virtual bool ready() const { return true; }
    // Looks after the workers; an error ends the run. To be called when there is news(), and at
    // least every supervise_every_ns() (< 0: only on news).
    virtual Result<void> supervise() { return {}; }
    virtual bool news() const { return false; }
    virtual std::int64_t supervise_every_ns() const { return -1; }
    // Works on one batch in the calling thread, when that is where the worker lives. False: there is
    // none.
    virtual bool caller_works() const { return false; }
    virtual bool step() { return false; }
    // The run is over: returns when every worker has left it. A second call does nothing. One that
    // was given up is left within moments; from one that has completed, workers may take their time
    // to end their payloads, until `interrupted` (may be empty) says to give up.
    virtual void end_run(bool completed, const std::function<bool()> &interrupted) = 0;
    void give_up_run() { end_run(false, {}); }

    // After end_run(): what was collected, in no order.
    virtual store::Collected take_collected() = 0;
    virtual std::uint64_t overflow_batches() const = 0;
    virtual std::uint64_t retries() const { return 0; } // batches given back in the run
    virtual std::uint64_t deaths() const { return 0; }  // workers that died in the run
};

} // namespace gristmill::work
