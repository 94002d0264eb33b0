// What the ring is made of: atomics, a full fence, and a way to sleep on a word.
//
// Everything in this room takes such a policy as a template parameter, so that the tests can run
// the very same code under a deterministic scheduler that owns every step.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/futex.hpp"

namespace gristmill::ring {

enum class Wake : std::uint8_t { notified, timed_out, signal };

struct SystemAtomics {
    template <class T>
    using Atomic = std::atomic<T>;

    // Orders a store before a later load of another word (Dekker's pattern): on both sides of
    // each publish/sleep and done/sleep pair.
    static void fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }

    static Wake wait(const std::atomic<std::uint32_t> &word, std::uint32_t expected,
                     std::int64_t timeout_ns) noexcept {
        switch (os::futex_wait(&word, expected, timeout_ns)) {
        case os::FutexWait::timed_out:
            return Wake::timed_out;
        case os::FutexWait::signal:
            return Wake::signal;
        default:
            return Wake::notified;
        }
    }
    static void wake_all(const std::atomic<std::uint32_t> &word) noexcept {
        os::futex_wake_all(&word);
    }
};

// The rules of the protocol that a test may switch off, to see that its scenarios catch it. The
// engine only ever uses this one.
struct AllRules {
    static constexpr bool exact_state_word = true;  // R1: transitions compare the whole word
    static constexpr bool head_always_claimable = true; // R3
    static constexpr bool recheck_before_sleep = true;  // section 2: no lost wake-up
    static constexpr bool starving_worker_tells_egress = true; // section 2, W3 of the model
    static constexpr bool idle_worker_tells_publisher = true;  // W4 of the model
    static constexpr bool error_waits_for_head = true;  // R7
    static constexpr bool window_spans_ring = true;     // R6: an entry is free once before it is
    static constexpr bool notify_all_after_death = true; // section 2: a death may swallow a wake
};

} // namespace gristmill::ring
