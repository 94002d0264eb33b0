// The tail moves over the prefix of positions that is retired, whatever the order (rule R4).
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "store/output_ring.hpp"
#include "support/random.hpp"

namespace gristmill::store {
namespace {

TEST(ReleasedPrefix, waits_for_what_lies_before) {
    ReleasedPrefix prefix;
    EXPECT_EQ(prefix.release(10, 20), 0u);
    EXPECT_EQ(prefix.release(30, 40), 0u);
    EXPECT_EQ(prefix.release(0, 10), 20u);
    EXPECT_EQ(prefix.release(20, 30), 40u);
}

TEST(ReleasedPrefix, agrees_with_a_bit_for_each_position) {
    const test::SeedRange seeds(1000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        struct Range {
            std::uint64_t begin, end;
        };
        std::vector<Range> ranges;
        std::uint64_t size = 0;
        for (std::uint64_t count = random.between(1, 12); count > 0; --count) {
            const std::uint64_t bytes = random.between(1, 9);
            ranges.push_back({size, size + bytes});
            size += bytes;
        }
        ReleasedPrefix prefix;
        std::vector<bool> released(size + 1, false);
        while (!ranges.empty()) {
            const auto which = ranges.begin() + std::ptrdiff_t(random.below(ranges.size()));
            std::fill(released.begin() + std::ptrdiff_t(which->begin),
                      released.begin() + std::ptrdiff_t(which->end), true);
            const auto expected = std::uint64_t(
                std::find(released.begin(), released.end(), false) - released.begin());
            ASSERT_EQ(prefix.release(which->begin, which->end), expected) << test::replay(seed);
            ranges.erase(which);
        }
    }
}

TEST(ReleasedPrefixDeathTest, nothing_is_released_twice) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(
        {
            ReleasedPrefix prefix;
            prefix.release(0, 10);
            prefix.release(0, 10);
        },
        "internal error");
}

} // namespace
} // namespace gristmill::store
