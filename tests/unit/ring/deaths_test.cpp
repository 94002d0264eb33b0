// Workers that die at any step: what they held is given back, nobody sleeps over it (invariant I19).
#include <string>

#include <gtest/gtest.h>

#include "support/random.hpp"
#include "unit/ring/mortal_world.hpp"
#include "unit/ring/scenarios.hpp"

namespace gristmill::test {
namespace {

constexpr std::uint64_t kSeeds = 500;
constexpr std::uint64_t kSeedsMax = 60'000;

class RingDeaths : public testing::TestWithParam<Scenario> {};

TEST_P(RingDeaths, cost_nothing) {
    for (const std::uint32_t deaths : {1u, 2u, 6u}) {
        Shape shape = GetParam().shape;
        shape.deaths = deaths;
        Scheduler scheduler;
        MortalWorld<> world(scheduler, shape);
        const SeedRange seeds(kSeeds);
        for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
            const std::string failure = world.run(seed);
            ASSERT_TRUE(failure.empty())
                << failure << deaths << " deaths, " << replay(seed);
        }
        if (seeds.last - seeds.first > 50 && shape.batches > 0) {
            EXPECT_GT(world.deaths(), 0u);
            EXPECT_GT(world.given_back(), 0u);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(all, RingDeaths, testing::ValuesIn(kScenarios),
                         [](const auto &tested) { return tested.param.name; });

struct TellNobody : ring::AllRules {
    static constexpr bool notify_all_after_death = false;
};

// Runs seeds until one fails, which must say `expected`.
template <class Rules = ring::AllRules>
void expect_missed(const Shape &shape, const std::string &expected) {
    Scheduler scheduler;
    MortalWorld<Rules> world(scheduler, shape);
    for (std::uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
        const std::string failure = world.run(seed);
        if (failure.empty())
            continue;
        testing::Test::RecordProperty("seed", std::to_string(seed));
        EXPECT_NE(failure.substr(0, failure.find('\n')).find(expected), std::string::npos)
            << failure;
        return;
    }
    ADD_FAILURE() << "no seed misses the rule";
}

TEST(RingDeathWeakenings, everybody_is_notified_after_a_death) {
    expect_missed<TellNobody>({.workers = 2, .entries = 4, .batches = 6, .deaths = 2}, "deadlock");
}

TEST(RingDeathWeakenings, the_report_wakes_whether_or_not_somebody_is_announced) {
    Shape shape{.workers = 2, .entries = 4, .batches = 6, .deaths = 2};
    shape.report_wakes_always = false;
    expect_missed(shape, "deadlock");
}

TEST(RingDeathWeakenings, output_goes_on_behind_what_was_retired) {
    Shape shape{.workers = 2, .nodes = 2, .entries = 8, .batches = 14, .look_ahead = 8,
                .homes = true, .order = ring::RetireOrder::none, .ring_cells = 6, .deaths = 2};
    shape.starts_behind_retired = false;
    expect_missed(shape, "check failed"); // a position is released twice
}

TEST(RingDeathWeakenings, a_batch_is_given_back_when_its_holder_is_dead) {
    Shape shape{.workers = 2, .entries = 4, .batches = 8, .deaths = 2};
    shape.reclaims_only_reported = false;
    expect_missed(shape, "was taken away");
}

} // namespace
} // namespace gristmill::test
