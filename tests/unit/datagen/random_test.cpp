// ReferenceRandom draws what CPython's random module draws from the same seed.
#include <gtest/gtest.h>

#include "reference_random.hpp"

namespace gristmill::datagen {
namespace {

TEST(ReferenceRandom, DrawsAsCpythonDoes) {
    ReferenceRandom random(42); // random.seed(42)
    EXPECT_EQ(random.real(), 0x1.4762f307200c5p-1);
    EXPECT_EQ(random.real(), 0x1.99c6b5eeb2060p-6);
    EXPECT_EQ(random.real(), 0x1.19a1491f589dcp-2);
    EXPECT_EQ(random.bits(48), 39274139637470u);
    EXPECT_EQ(random.bits(7), 94u);
    EXPECT_EQ(random.below(50000), 6717u);
    for (const std::uint64_t expected : {4u, 0u, 4u, 3u, 0u, 0u, 0u, 1u}) {
        EXPECT_EQ(random.below(5), expected);
    }
    EXPECT_EQ(random.below(1), 0u);
}

TEST(ReferenceRandom, SeedsAsCpythonDoes) {
    ReferenceRandom zero(0);
    EXPECT_EQ(zero.real(), 0x1.b0580f98a7dbep-1);
    EXPECT_EQ(zero.bits(32), 3255389356u);
    ReferenceRandom two_words((std::uint64_t{1} << 40) + 5);
    EXPECT_EQ(two_words.real(), 0x1.023e2261153dcp-1);
    EXPECT_EQ(two_words.bits(32), 1153647273u);
}

} // namespace
} // namespace gristmill::datagen
