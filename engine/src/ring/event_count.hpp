// One 32-bit word on which somebody sleeps until somebody else has news.
#pragma once

#include <cstdint>

#include "os/crash_point.hpp"
#include "ring/atomics.hpp"

namespace gristmill::ring {

// Threads: any number of waiters and notifiers, in any processes that map the word.
// Owns:    nothing; the word holds bit 0 "somebody waits" and an epoch in the rest. There is no
//          count of waiters, so a waiter that dies leaves at most one needless notification.
// Keeps:   I1. A waiter that saw no news after prepare_wait() is woken by every notify() that
//          follows the news.
// Orders:  prepare_wait()'s fence pairs with notify()'s: either the waiter sees the news, or the
//          notifier sees the bit.
//
// Use:  ticket = prepare_wait();  if (news) cancel_wait(ticket); else commit_wait(ticket, -1);
// and:  make news;  notify();
template <class A>
class EventCount {
  public:
    // Announces a waiter. The caller then looks for news once more.
    std::uint32_t prepare_wait() noexcept {
        // order: relaxed loads are enough, the fence below orders them
        std::uint32_t word = word_.load(std::memory_order_relaxed);
        while (!(word & kWaiting) &&
               // order: relaxed, as above
               !word_.compare_exchange_weak(word, word | kWaiting, std::memory_order_relaxed)) {
        }
        A::fence();
        return word | kWaiting;
    }

    // There was news after all: nobody waits. Takes other waiters' announcement along, so use it
    // only where one thread waits. False: a notify() has come since the ticket.
    bool cancel_wait(std::uint32_t ticket) noexcept {
        // order: relaxed, the bit is only a hint from here on
        return word_.compare_exchange_strong(ticket, ticket & ~kWaiting, std::memory_order_relaxed);
    }

    // Sleeps until a notify() after `ticket`, a signal, or the timeout (< 0: none).
    Wake commit_wait(std::uint32_t ticket, std::int64_t timeout_ns) noexcept {
        return A::wait(word_, ticket, timeout_ns);
    }

    // Wakes whoever announced a wait before the news; false: nobody did, which costs a fence and a
    // load.
    bool notify() noexcept {
        A::fence();
        // order: relaxed, the fence orders it behind the news
        std::uint32_t word = word_.load(std::memory_order_relaxed);
        while (word & kWaiting) {
            const std::uint32_t next = (word + kEpoch) & ~kWaiting;
            // order: relaxed, the futex call orders itself
            if (word_.compare_exchange_weak(word, next, std::memory_order_relaxed)) {
                os::crash_point("before wake");
                A::wake_all(word_);
                return true;
            }
        }
        return false;
    }

    // Like notify(), but wakes even when nobody is announced: a notifier that died may have taken
    // the announcement and left the sleeper asleep.
    void notify_after_death() noexcept {
        A::fence();
        // order: relaxed, the fence orders it behind the news
        std::uint32_t word = word_.load(std::memory_order_relaxed);
        // order: relaxed, the futex call orders itself
        while (!word_.compare_exchange_weak(word, (word + kEpoch) & ~kWaiting,
                                            std::memory_order_relaxed)) {
        }
        A::wake_all(word_);
    }

    // A hint, exact only behind a fence.
    bool has_waiter() const noexcept {
        // order: relaxed, a hint
        return word_.load(std::memory_order_relaxed) & kWaiting;
    }

  private:
    static constexpr std::uint32_t kWaiting = 1;
    static constexpr std::uint32_t kEpoch = 2;
    typename A::template Atomic<std::uint32_t> word_{0};
};

} // namespace gristmill::ring
