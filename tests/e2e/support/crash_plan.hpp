// What a crashing worker program is told: when to die at its label.
#pragma once

#include <atomic>
#include <cstdint>

namespace gristmill::e2e {

struct CrashPlanWords {
    std::atomic<std::uint64_t> every{1};       // so many passages
    std::atomic<std::int64_t> deaths_left{0};
    std::atomic<std::uint64_t> passages{0};
};

} // namespace gristmill::e2e
