// The calling thread's part in a run: publish, retire, sleep.
#pragma once

#include <functional>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

#include "input/ingress.hpp"
#include "output/egress.hpp"
#include "work/worker_host.hpp"

namespace gristmill {

// Threads: the one that called the engine. If the host says so, it does the workers' work as well,
// instead of sleeping.
class Coordinator {
  public:
    using RunState = ring::RunState<ring::SystemAtomics>;

    // All outlive this.
    // `ingress_apart`: publishing must go on while nobody drives.
    Coordinator(work::WorkerHost &host, input::Ingress &ingress, output::Egress &egress,
                const RunOptions &options, bool ingress_apart);

    // From the first batch published until all is retired (true), or `enough` says so between two
    // batches (false; then it may be called again), or something ends the run before.
    Result<bool> drive(const std::function<bool()> &enough);

  private:
    Result<void> publish();
    void wait_for_news();
    bool time_to_look();
    void tell_progress();
    std::int64_t sleep_ns_max() const;

    RunState state_;
    work::WorkerHost &host_;
    input::Ingress &ingress_;
    output::Egress &egress_;
    const RunOptions &options_;
    const bool ingress_apart_;
    bool impatient_ = false; // the last sleep was for more output, and in vain
    const std::uint64_t started_ns_;
    std::uint64_t looked_ns_; // when the caller was last asked about signals, and told of progress
};

} // namespace gristmill
