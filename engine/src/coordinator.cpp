#include "coordinator.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace gristmill {

namespace {
constexpr std::int64_t kLookNs = 100'000'000;
constexpr std::int64_t kFlushNs = 5'000'000; // for more output than there is
}

Coordinator::Coordinator(work::WorkerHost &host, input::Ingress &ingress, output::Egress &egress,
                         const RunOptions &options, bool ingress_apart)
    : state_(host.state()), host_(host), ingress_(ingress), egress_(egress), options_(options),
      ingress_apart_(ingress_apart), started_ns_(wall_clock_ns()), looked_ns_(started_ns_) {}

Result<bool> Coordinator::drive(const std::function<bool()> &enough) {
    for (;;) {
        if (Result<void> published = publish(); !published)
            return published.error();
        if (enough && enough())
            return false;
        const std::uint64_t retired = egress_.retire();
        if (enough && enough())
            return false;
        if (egress_.error())
            return *egress_.error();
        if (egress_.finished()) {
            tell_progress();
            return true;
        }
        if (Result<void> supervised = host_.supervise(); !supervised)
            return supervised.error();
        const bool look = time_to_look();
        if (look)
            tell_progress();
        if (look && options_.interrupted && options_.interrupted())
            return Error{ErrorKind::interrupted, "the run was interrupted"};
        if (retired > 0)
            continue; // room to publish
        if (!host_.caller_works() || !host_.step())
            wait_for_news();
    }
}

// Until a worker has its payload, nothing is published; from the first source on that has to be
// waited for, ingress does it by itself.
Result<void> Coordinator::publish() {
    if (ingress_.has_thread() || !host_.ready())
        return {};
    if (!ingress_apart_)
        ingress_.pump();
    if (ingress_apart_ || ingress_.wants_thread())
        return ingress_.start_thread();
    return {};
}

void Coordinator::wait_for_news() {
    auto &event = state_.header().egress_event;
    const std::uint32_t ticket = event.prepare_wait();
    const bool may_publish = !ingress_.has_thread() && host_.ready() &&
                             (ingress_apart_ || ingress_.wants_to_publish());
    if (!egress_.prepare_target(impatient_) || egress_.finished() || may_publish || host_.news() ||
        (host_.caller_works() && host_.step())) {
        event.cancel_wait(ticket);
        return;
    }
    std::int64_t sleep_ns = sleep_ns_max();
    const bool more = egress_.waits_for_more();
    if (more && (sleep_ns < 0 || sleep_ns > kFlushNs))
        sleep_ns = kFlushNs;
    const ring::Wake wake = event.commit_wait(ticket, sleep_ns);
    impatient_ = more && wake == ring::Wake::timed_out;
    if (wake == ring::Wake::signal)
        looked_ns_ = 0;
}

// The caller wants to be asked about signals and told of progress, the host to look after its workers.
std::int64_t Coordinator::sleep_ns_max() const {
    const std::int64_t supervise_ns = host_.supervise_every_ns();
    if (!options_.interrupted && !options_.progress)
        return supervise_ns;
    return supervise_ns < 0 ? kLookNs : std::min(supervise_ns, kLookNs);
}

bool Coordinator::time_to_look() {
    if (!options_.interrupted && !options_.progress)
        return false;
    const std::uint64_t now_ns = wall_clock_ns();
    if (now_ns - looked_ns_ < static_cast<std::uint64_t>(kLookNs))
        return false;
    looked_ns_ = now_ns;
    return true;
}

void Coordinator::tell_progress() {
    if (!options_.progress)
        return;
    const Report &report = egress_.so_far();
    RunProgress progress;
    progress.records = report.read;
    progress.failed = report.failed;
    progress.input_bytes = report.input_bytes;
    progress.retries = host_.retries();
    for (std::uint32_t i = 0; i < state_.header().workers; ++i)
        progress.workers_busy += state_.slot(i).progress.load() % 2;
    progress.seconds = double(wall_clock_ns() - started_ns_) * 1e-9;
    options_.progress(progress);
}

} // namespace gristmill
