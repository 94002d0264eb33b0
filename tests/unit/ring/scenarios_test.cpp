// The ring under every order of steps that thousands of seeds make: README.md says what each
// scenario is and what the oracle asks.
#include <gtest/gtest.h>

#include "support/random.hpp"
#include "unit/ring/scenarios.hpp"

namespace gristmill::test {
namespace {

constexpr std::uint64_t kSeeds = 2000;

struct Forgetful : ring::AllRules {
    static constexpr bool recheck_before_sleep = false;
};

class RingScenario : public testing::TestWithParam<Scenario> {};

TEST_P(RingScenario, holds) {
    Scheduler scheduler;
    RingWorld<> world(scheduler, GetParam().shape);
    const SeedRange seeds(kSeeds);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        const std::string failure = world.run(seed);
        ASSERT_TRUE(failure.empty()) << failure << replay(seed);
    }
}

INSTANTIATE_TEST_SUITE_P(all, RingScenario, testing::ValuesIn(kScenarios),
                         [](const auto &tested) { return tested.param.name; });

// The same seed gives the same run, or nothing could be replayed.
TEST(RingScenarios, can_be_replayed) {
    Scheduler scheduler;
    RingWorld<Forgetful> world(scheduler, {.workers = 2, .entries = 4, .batches = 6});
    std::uint64_t failed = 0;
    for (std::uint64_t seed = 1; seed < 200; ++seed) {
        const std::string first = world.run(seed);
        world.run(seed + 1000);
        Scheduler other;
        RingWorld<Forgetful> again(other, {.workers = 2, .entries = 4, .batches = 6});
        ASSERT_EQ(again.run(seed), first);
        failed += !first.empty();
    }
    EXPECT_GT(failed, 0u);
}

} // namespace
} // namespace gristmill::test
