// The state word says everything about a batch's holder, and nothing else (R1).
#include <gtest/gtest.h>

#include "ring/state_word.hpp"
#include "support/random.hpp"

namespace gristmill::ring {
namespace {

TEST(StateWord, zero_is_empty_in_lap_zero) {
    EXPECT_EQ(StateWord::unpack(0), StateWord{});
    EXPECT_EQ(StateWord{}.pack(), 0u);
}

TEST(StateWord, fields_lie_where_the_protocol_says) {
    EXPECT_EQ((StateWord{EntryState::done, 0, 0, 0, 0}.pack()), std::uint64_t{3} << 61);
    EXPECT_EQ((StateWord{EntryState::empty, 255, 0, 0, 0}.pack()), std::uint64_t{255} << 53);
    EXPECT_EQ((StateWord{EntryState::empty, 0, 4095, 0, 0}.pack()), std::uint64_t{4095} << 41);
    EXPECT_EQ((StateWord{EntryState::empty, 0, 0, 511, 0}.pack()), std::uint64_t{511} << 32);
    EXPECT_EQ((StateWord{EntryState::empty, 0, 0, 0, ~0u}.pack()), std::uint64_t{0xffffffff});
}

TEST(StateWord, comes_back_whole) {
    const test::SeedRange seeds(20'000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        const StateWord word{static_cast<EntryState>(random.below(4)),
                             static_cast<std::uint8_t>(random.next()),
                             static_cast<std::uint16_t>(random.below(kWorkerSlotsMax)),
                             static_cast<std::uint16_t>(random.below(512)),
                             static_cast<std::uint32_t>(random.next())};
        ASSERT_EQ(StateWord::unpack(word.pack()), word) << test::replay(seed);
    }
}

TEST(StateWord, too_large_a_field_does_not_spill) {
    const StateWord word{EntryState::ready, 1, 0xffff, 0xffff, 7};
    const StateWord back = StateWord::unpack(word.pack());
    EXPECT_EQ(back.state, EntryState::ready);
    EXPECT_EQ(back.attempt, 1);
    EXPECT_EQ(back.worker, 0xfff);
    EXPECT_EQ(back.incarnation, 0x1ff);
    EXPECT_EQ(back.lap, 7u);
}

} // namespace
} // namespace gristmill::ring
