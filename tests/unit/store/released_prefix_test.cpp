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

TEST(ReleasedPrefix, knows_what_fits) {
    ReleasedPrefix prefix;
    EXPECT_TRUE(prefix.fits(0, 10));
    EXPECT_TRUE(prefix.fits(5, 5));
    EXPECT_FALSE(prefix.fits(10, 9)) << "ends before it begins";
    prefix.release(0, 10);
    prefix.release(20, 30);
    prefix.release(40, 50);
    EXPECT_FALSE(prefix.fits(0, 10)) << "once more";
    EXPECT_FALSE(prefix.fits(9, 11)) << "below the tail";
    EXPECT_TRUE(prefix.fits(10, 20));
    EXPECT_FALSE(prefix.fits(10, 21));
    EXPECT_FALSE(prefix.fits(20, 30));
    EXPECT_FALSE(prefix.fits(25, 26)) << "within what waits";
    EXPECT_FALSE(prefix.fits(29, 35));
    EXPECT_TRUE(prefix.fits(30, 40));
    EXPECT_FALSE(prefix.fits(15, 60)) << "around what waits";
    EXPECT_TRUE(prefix.fits(50, ~std::uint64_t{0}));
}

TEST(ReleasedPrefix, whatever_fits_can_be_released) {
    const test::SeedRange seeds(2000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        ReleasedPrefix prefix;
        std::vector<bool> taken(64, false);
        std::uint64_t tail = 0;
        for (int i = 0; i < 30; ++i) {
            const std::uint64_t begin = random.below(60), end = begin + random.between(1, 4);
            const bool free = std::find(taken.begin() + std::ptrdiff_t(begin),
                                        taken.begin() + std::ptrdiff_t(end),
                                        true) == taken.begin() + std::ptrdiff_t(end);
            ASSERT_EQ(prefix.fits(begin, end), free) << test::replay(seed);
            if (!free)
                continue;
            std::fill(taken.begin() + std::ptrdiff_t(begin), taken.begin() + std::ptrdiff_t(end),
                      true);
            while (tail < taken.size() && taken[tail])
                ++tail;
            ASSERT_EQ(prefix.release(begin, end), tail) << test::replay(seed);
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
