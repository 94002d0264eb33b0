// Proof of coverage: every byte once, whatever the order in which batches retire.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "output/coverage.hpp"
#include "support/random.hpp"

namespace gristmill::output {
namespace {

TEST(Coverage, batches_in_any_order) {
    Coverage coverage;
    EXPECT_TRUE(coverage.add(0, 10, 20));
    EXPECT_FALSE(coverage.complete(0, 20));
    EXPECT_TRUE(coverage.add(0, 0, 10));
    EXPECT_TRUE(coverage.complete(0, 20));
    EXPECT_FALSE(coverage.complete(0, 21)) << "the end is missing";
    EXPECT_FALSE(coverage.complete(0, 19)) << "more than there is";
    EXPECT_EQ(coverage.covered(0), 20u);
}

TEST(Coverage, sources_are_apart) {
    Coverage coverage;
    EXPECT_TRUE(coverage.add(3, 0, 10));
    EXPECT_TRUE(coverage.add(1, 0, 5));
    EXPECT_TRUE(coverage.complete(3, 10));
    EXPECT_TRUE(coverage.complete(0, 0));
    EXPECT_TRUE(coverage.complete(99, 0)) << "an empty source has no batches";
    EXPECT_FALSE(coverage.complete(2, 1));
}

TEST(Coverage, nothing_is_nothing) {
    Coverage coverage;
    EXPECT_TRUE(coverage.add(0, 7, 7));
    EXPECT_TRUE(coverage.add(0, 7, 7));
    EXPECT_EQ(coverage.covered(0), 0u);
}

TEST(Coverage, agrees_with_a_bit_for_each_byte) {
    const test::SeedRange seeds(3000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        constexpr std::uint64_t kBytes = 40;
        Coverage coverage;
        std::vector<bool> covered(kBytes, false);
        for (int i = 0; i < 12; ++i) {
            const std::uint64_t begin = random.below(kBytes);
            const std::uint64_t end = begin + random.below(std::min<std::uint64_t>(
                                                  kBytes - begin, random.one_in(3) ? 40 : 8) +
                                              1);
            bool fresh = true;
            for (std::uint64_t at = begin; at < end; ++at)
                fresh = fresh && !covered[at];
            ASSERT_EQ(coverage.add(0, begin, end), fresh)
                << begin << ".." << end << " " << test::replay(seed);
            for (std::uint64_t at = begin; fresh && at < end; ++at)
                covered[at] = true;
        }
        std::uint64_t prefix = 0;
        while (prefix < kBytes && covered[prefix])
            ++prefix;
        ASSERT_EQ(coverage.covered(0), prefix) << test::replay(seed);
        bool beyond = false;
        for (std::uint64_t at = prefix; at < kBytes; ++at)
            beyond = beyond || covered[at];
        ASSERT_EQ(coverage.complete(0, prefix), !beyond) << test::replay(seed);
    }
}

} // namespace
} // namespace gristmill::output
