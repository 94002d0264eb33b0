// Clocks, in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace gristmill {

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(t.tv_nsec);
}

inline std::uint64_t wall_clock_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }
// CPU time of the calling thread; a system call, unlike the wall clock.
inline std::uint64_t thread_cpu_clock_ns() noexcept { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

} // namespace gristmill
