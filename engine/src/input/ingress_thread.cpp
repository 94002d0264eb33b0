// Ingress in a thread of its own: how it waits.
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "input/ingress.hpp"

namespace gristmill::input {

namespace {
constexpr std::uint64_t kPatienceNs = 5'000'000; // the flush interval
} // namespace

Result<void> Ingress::start_thread() {
    Result<os::WakeDescriptor> wake = os::WakeDescriptor::create();
    if (!wake)
        return wake.error();
    wake_ = std::move(*wake);
    wants_thread_ = false;
    threaded_ = true;
    // Whoever looked before it was stored has made its news before, too: the thread looks for news
    // behind a fence, before it sleeps for the first time.
    state_.header().publisher_is_egress.store(0);
    Result<os::Thread> thread =
        os::Thread::start("gristmill/input", std::nullopt, [this] { run(); });
    if (!thread)
        return thread.error();
    thread_.emplace(std::move(*thread));
    return {};
}

void Ingress::stop() {
    if (!thread_)
        return;
    stopping_.store(true);
    wake_->signal();
    state_.header().publisher_event.notify();
    if (items_ && items_->give_up)
        items_->give_up();
    thread_.reset();
}

// The thread's life.
void Ingress::run() {
    try {
        while (!finished_ && !stopping_.load()) {
            publisher_.set_look_ahead(look_ahead());
            switch (advance()) {
            case Step::went_on:
                break;
            case Step::no_room:
                await_room();
                break;
            case Step::no_data:
                await_data();
                break;
            case Step::ended:
                return;
            }
        }
    } catch (const std::bad_alloc &) {
        // Nothing was lost that the failure does not tell of: the run ends.
        failure_ = Error{ErrorKind::memory, "the machine has no memory for this run's input"};
        while (!stopping_.load() && fail(*failure_) == Step::no_room)
            await_room();
    }
}

// Looks once more between announcing itself and sleeping. Egress may sleep over a window that has
// become full since it chose what to be woken for, and workers over what was not flushed.
void Ingress::await_room() {
    publisher_.flush();
    auto &event = state_.publisher_event();
    const std::uint32_t ticket = event.prepare_wait();
    waiting_ = true;
    const bool sleeps = !stopping_.load() && advance() == Step::no_room;
    waiting_ = false;
    if (!sleeps) {
        event.cancel_wait(ticket);
        return;
    }
    if (!publisher_.window_open())
        state_.header().egress_event.notify();
    event.commit_wait(ticket, -1);
}

// For input; but whole records wait no longer than the flush interval.
void Ingress::await_data() {
    publisher_.flush();
    std::int64_t patience_ns = -1;
    if (feed_->source().flush_pending()) {
        const std::uint64_t now_ns = wall_clock_ns();
        if (patience_ends_ns_ == 0)
            patience_ends_ns_ = now_ns + kPatienceNs;
        patience_ns = now_ns < patience_ends_ns_ ? std::int64_t(patience_ends_ns_ - now_ns) : 0;
    }
    const os::Waited waited = os::wait_for_input(feed_->source().fd(), *wake_, patience_ns);
    flush_ = waited == os::Waited::timed_out;
}

} // namespace gristmill::input
