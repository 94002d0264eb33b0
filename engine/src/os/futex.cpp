#include "os/futex.hpp"

#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gristmill::os {

FutexWait futex_wait(const std::atomic<std::uint32_t> *word, std::uint32_t expected,
                     std::int64_t timeout_ns) noexcept {
    timespec limit{};
    limit.tv_sec = timeout_ns / 1'000'000'000;
    limit.tv_nsec = timeout_ns % 1'000'000'000;
    const long result = ::syscall(SYS_futex, word, FUTEX_WAIT, expected,
                                  timeout_ns < 0 ? nullptr : &limit, nullptr, 0);
    if (result == 0)
        return FutexWait::woken;
    switch (errno) {
    case ETIMEDOUT:
        return FutexWait::timed_out;
    case EINTR:
        return FutexWait::signal;
    default:
        return FutexWait::changed;
    }
}

void futex_wake_all(const std::atomic<std::uint32_t> *word) noexcept {
    ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace gristmill::os
