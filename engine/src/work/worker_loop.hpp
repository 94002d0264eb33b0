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

// Sleeps until there is another run than number `seen`, which may be over already; nullopt when the
// engine shuts down.
std::optional<ring::RunWord> await_run(RunState state, std::uint32_t worker, std::uint32_t seen);

// The worker has no payload: says so in its slot, and wakes egress.
void report_start_failure(RunState state, std::uint32_t worker, ring::StartFailure failure,
                          std::string_view message);

// ErrorKind::plugin with the words of a worker that has no payload.
Result<void> check_starts(RunState state);

// The calling thread takes its memory from where the worker's slot says, from now on; as far as the
// kernel lets it.
void settle_on_node(RunState state, std::uint32_t worker);

// Looks where the worker's buffers lie, and adds it up in its slot. Nothing when they are not placed.
void audit_memory(RunState state, std::uint32_t worker, std::span<const std::byte> memory);

// Threads: one, in any process that maps the run state.
class WorkerLoop {
  public:
    // All outlive this. `isolation`: where batches leave their output that killed their workers; none:
    // workers cannot die.
    WorkerLoop(RunState state, const WorkOrder &order, const WorkerIdentity &identity,
               record::InputBuffer &input, store::OutputArea &output,
               store::IsolationArea *isolation = nullptr);

    // Makes the payload. False: it failed, the worker's slot says why and egress has been woken.
    bool start();

    // Works until the run is over: true; or until it has worked on as many batches as its process may.
    bool run();

    // Ends the payload. To be called when its time is to be measured, before this is destroyed.
    void close();

    // Works on one batch, if there is one to claim. For a caller that hosts the worker itself.
    bool step();

  private:
    void work_on(const ring::Claim &claim);

    RunState state_;
    const WorkOrder &order_;
    WorkerIdentity identity_;
    record::InputBuffer &input_;
    store::OutputArea &output_;
    store::IsolationArea *const isolation_;
    ring::Claimer<ring::SystemAtomics> claimer_;
    std::unique_ptr<Payload> payload_;
    std::optional<BatchWorker> worker_;
};

} // namespace gristmill::work
