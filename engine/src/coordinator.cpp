#include "coordinator.hpp"

#include "base/clock.hpp"

namespace gristmill {

namespace {
constexpr std::uint64_t kSignalCheckNs = 100'000'000;
}

Coordinator::Coordinator(RunState state, work::WorkerPool &pool, input::Ingress &ingress,
                         output::Egress &egress, const RunOptions &options, bool caller_works)
    : state_(state), pool_(pool), ingress_(ingress), egress_(egress), options_(options),
      caller_works_(caller_works), checked_ns_(wall_clock_ns()) {}

Result<void> Coordinator::drive() {
    for (;;) {
        ingress_.pump();
        const std::uint64_t retired = egress_.retire();
        if (egress_.error())
            return *egress_.error();
        if (egress_.finished())
            return {};
        if (Result<void> started = check_workers(); !started)
            return started;
        if (interrupted())
            return Error{ErrorKind::interrupted, "the run was interrupted"};
        if (retired > 0)
            continue; // room to publish
        if (caller_works_)
            pool_.step();
        else
            wait_for_news();
    }
}

void Coordinator::wait_for_news() {
    auto &event = state_.header().egress_event;
    const std::uint32_t ticket = event.prepare_wait();
    if (!egress_.prepare_target() || ingress_.wants_to_publish() || !check_workers()) {
        event.cancel_wait(ticket);
        return;
    }
    const std::int64_t timeout = options_.interrupted ? std::int64_t(kSignalCheckNs) : -1;
    if (event.commit_wait(ticket, timeout) == ring::Wake::signal)
        checked_ns_ = 0;
}

bool Coordinator::interrupted() {
    if (!options_.interrupted)
        return false;
    const std::uint64_t now_ns = wall_clock_ns();
    if (now_ns - checked_ns_ < kSignalCheckNs)
        return false;
    checked_ns_ = now_ns;
    return options_.interrupted();
}

// A worker without a payload ends the run, with its own words.
Result<void> Coordinator::check_workers() const {
    for (std::uint32_t i = 0; i < state_.header().workers; ++i)
        if (state_.slot(i).start_failed.load())
            return Error{ErrorKind::plugin, state_.slot(i).start_error};
    return {};
}

} // namespace gristmill
