// Sleeping on a 32-bit word in shared memory (futex(2), shared: works across processes).
#pragma once

#include <atomic>
#include <cstdint>

namespace gristmill::os {

enum class FutexWait : std::uint8_t { woken, changed, timed_out, signal };

// Blocks while *word == expected, at most timeout_ns (< 0: for ever). `woken` may be spurious.
FutexWait futex_wait(const std::atomic<std::uint32_t> *word, std::uint32_t expected,
                     std::int64_t timeout_ns) noexcept;

// Wakes every waiter of the word.
void futex_wake_all(const std::atomic<std::uint32_t> *word) noexcept;

} // namespace gristmill::os
