// The calling thread's part in a run: publish, retire, sleep.
#pragma once

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

#include "input/ingress.hpp"
#include "output/egress.hpp"
#include "work/worker_pool.hpp"

namespace gristmill {

// Threads: the one that called the engine. With `caller_works` it does the workers' work as well,
// instead of sleeping.
class Coordinator {
  public:
    using RunState = ring::RunState<ring::SystemAtomics>;

    // All outlive this.
    Coordinator(RunState state, work::WorkerPool &pool, input::Ingress &ingress,
                output::Egress &egress, const RunOptions &options, bool caller_works);

    // From the first batch published until all is retired, or something ends the run before.
    Result<void> drive();

  private:
    void wait_for_news();
    bool interrupted();
    Result<void> check_workers() const;

    RunState state_;
    work::WorkerPool &pool_;
    input::Ingress &ingress_;
    output::Egress &egress_;
    const RunOptions &options_;
    const bool caller_works_;
    std::uint64_t checked_ns_; // when the caller was last asked about signals
};

} // namespace gristmill
