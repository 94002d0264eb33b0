// A worker's life within one run, wherever it is hosted: a thread, the caller, a process.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "ring/claimer.hpp"
#include "work/batch_worker.hpp"
#include "work/work_order.hpp"

namespace gristmill::work {

using RunState = ring::RunState<ring::SystemAtomics>;

// Threads: one, in any process that maps the run state.
class WorkerLoop {
  public:
    // All outlive this. `steal_order`: node numbers, the own first.
    WorkerLoop(RunState state, const WorkOrder &order, const WorkerIdentity &identity,
               std::span<const std::uint32_t> steal_order, record::InputBuffer &input,
               store::OutputArea &output);

    // Makes the payload. False: it failed, the worker's slot says why and egress has been woken.
    bool start();

    // Works until the run is over.
    void run();

    // Works on one batch, if there is one to claim. For a caller that hosts the worker itself.
    bool step();

  private:
    bool fail_start(std::string_view message);
    void work_on(const ring::Claim &claim);

    RunState state_;
    const WorkOrder &order_;
    WorkerIdentity identity_;
    record::InputBuffer &input_;
    store::OutputArea &output_;
    ring::Claimer<ring::SystemAtomics> claimer_;
    std::unique_ptr<Payload> payload_;
    std::optional<BatchWorker> worker_;
};

} // namespace gristmill::work
