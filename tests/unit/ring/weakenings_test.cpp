// Each rule of the protocol is taken away once: some seed must show that it was needed. What
// nobody misses is not a rule. README.md has the table.
#include <string>

#include <gtest/gtest.h>

#include "unit/ring/ring_world.hpp"

namespace gristmill::test {
namespace {

using ring::RetireOrder;

constexpr std::uint64_t kSeedsMax = 30'000;

struct LooseStateWord : ring::AllRules {
    static constexpr bool exact_state_word = false;
};
struct HeadLikeOthers : ring::AllRules {
    static constexpr bool head_always_claimable = false;
};
struct WindowByEntry : ring::AllRules {
    static constexpr bool window_spans_ring = false;
};
struct ErrorAtOnce : ring::AllRules {
    static constexpr bool error_waits_for_head = false;
};
struct SleepUnchecked : ring::AllRules {
    static constexpr bool recheck_before_sleep = false;
};
struct StarveSilently : ring::AllRules {
    static constexpr bool starving_worker_tells_egress = false;
};

// Runs seeds until one fails, which must say `expected`.
template <class Rules, bool Fences = true>
void expect_missed(const Shape &shape, const std::string &expected) {
    Scheduler scheduler;
    RingWorld<Rules, Fences> world(scheduler, shape);
    for (std::uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
        const std::string failure = world.run(seed);
        if (failure.empty())
            continue;
        testing::Test::RecordProperty("seed", std::to_string(seed));
        const std::string what = failure.substr(0, failure.find('\n'));
        EXPECT_NE(what.find(expected), std::string::npos) << failure;
        return;
    }
    ADD_FAILURE() << "no seed misses the rule";
}

TEST(RingWeakenings, r1_exact_state_word) {
    expect_missed<LooseStateWord>({.workers = 3, .entries = 2, .batches = 12}, "and finds batch");
}

TEST(RingWeakenings, r2_room_before_claim) {
    Shape shape{.workers = 2, .nodes = 2, .entries = 8, .batches = 12, .look_ahead = 8,
                .homes = true, .ring_cells = 2};
    shape.room_before_claim = false;
    expect_missed<ring::AllRules>(shape, "deadlock");
}

TEST(RingWeakenings, r3_head_always_claimable) {
    expect_missed<HeadLikeOthers>({.workers = 2, .nodes = 2, .entries = 8, .batches = 12,
                                   .look_ahead = 8, .homes = true, .ring_cells = 2},
                                  "lock:"); // or they wake each other for ever
}

TEST(RingWeakenings, r4_released_by_position) {
    Shape shape{.workers = 2, .nodes = 2, .entries = 8, .batches = 16, .look_ahead = 8,
                .homes = true, .ring_cells = 4};
    shape.released_by_position = false;
    expect_missed<ring::AllRules>(shape, "would overwrite live output");
}

TEST(RingWeakenings, r6_window_spans_ring) {
    expect_missed<WindowByEntry>({.workers = 2, .entries = 2, .batches = 12, .separate = true,
                          .order = RetireOrder::none},
                         "the window holds");
}

TEST(RingWeakenings, r7_error_waits_for_head) {
    expect_missed<ErrorAtOnce>({.workers = 3, .entries = 4, .batches = 8, .look_ahead = 4,
                          .order = RetireOrder::none, .error_at_end = true},
                         "is delivered when");
}

TEST(RingWeakenings, waking_recheck_before_sleep) {
    expect_missed<SleepUnchecked>({.workers = 2, .entries = 4, .batches = 8}, "deadlock");
}

TEST(RingWeakenings, waking_starving_worker_tells_egress) {
    expect_missed<StarveSilently>({.workers = 2, .entries = 8, .batches = 12, .look_ahead = 4,
                          .ring_cells = 2},
                         "deadlock");
}

TEST(RingWeakenings, waking_fences) {
    expect_missed<ring::AllRules, false>({.workers = 2, .entries = 4, .batches = 8}, "deadlock");
}

} // namespace
} // namespace gristmill::test
