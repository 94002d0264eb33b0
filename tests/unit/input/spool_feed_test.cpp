// When slots are free again: as far as workers may have come, or everywhere.
#include <vector>

#include <gtest/gtest.h>

#include "input/spool_feed.hpp"
#include "os/memory.hpp"
#include "ring/claimer.hpp"

namespace gristmill::input {
namespace {

using State = ring::RunState<ring::SystemAtomics>;
using Claimer = ring::Claimer<ring::SystemAtomics>;
using Nodes = std::vector<store::SpoolNode>;

const std::string kFrames(100, 'x');

// Items that become batches at once; one worker that claims all and finishes what it is told.
class FeedRun {
  public:
    explicit FeedRun(const Nodes &nodes = {{}}, std::uint64_t slots = 100)
        : feed_(std::move(SpoolFeed::create(64 << 10, slots * (64 << 10), nodes).value())) {
        state_.header().over.store(0);
    }

    bool publish() {
        const auto placed = feed_.place(kFrames, position_);
        EXPECT_TRUE(placed);
        if (!placed || !*placed)
            return false;
        cuts_.push_back(**placed);
        position_ = cuts_.back().end;
        feed_.published(publisher_.published(), cuts_.back());
        publisher_.publish({}, kFrames.size(), ring::kNoHome);
        publisher_.flush();
        claims_.push_back(*Claimer(state_, 0, 0, 0).try_claim(true));
        return true;
    }
    void publish(int batches) {
        for (int i = 0; i < batches; ++i)
            ASSERT_TRUE(publish());
    }
    void done(std::size_t batch, ring::Fault fault = ring::Fault::none) {
        state_.entry(batch).result = {};
        state_.entry(batch).result.fault = fault;
        ASSERT_TRUE(Claimer(state_, 0, 0, 0).done(claims_[batch]));
    }
    std::size_t reclaim(SpoolFeed::Look look) { return feed_.reclaim(publisher_, look); }

    const SpoolFeed &feed() const { return feed_; }
    const std::vector<SpooledCut> &cuts() const { return cuts_; }

  private:
    os::Mapping block_ =
        std::move(os::map_anonymous(State::block_bytes(1, 1, 64), os::Pages::normal).value());
    State state_ = State::create(block_.data(), 1, 1, 64);
    SpoolFeed::Publisher publisher_{state_, {64, 0}};
    SpoolFeed feed_;
    std::uint64_t position_ = 0;
    std::vector<SpooledCut> cuts_;
    std::vector<ring::Claim> claims_;
};

constexpr auto kQuick = SpoolFeed::Look::quick;
constexpr auto kThorough = SpoolFeed::Look::thorough;

TEST(SpoolFeed, a_quick_look_ends_behind_what_workers_may_have_in_hand) {
    FeedRun run; // of one worker
    run.publish(6);
    EXPECT_EQ(run.reclaim(kQuick), 0u);
    run.done(1);
    run.done(3);
    EXPECT_EQ(run.reclaim(kQuick), 1u) << "0 and 2 are open";
    EXPECT_EQ(run.reclaim(kQuick), 0u) << "each is found once";
    EXPECT_EQ(run.reclaim(kThorough), 1u) << "the other lies behind them";
    run.done(0);
    run.done(2);
    run.done(4);
    run.done(5);
    EXPECT_EQ(run.reclaim(kQuick), 4u);
    EXPECT_EQ(run.reclaim(kThorough), 0u);
}

TEST(SpoolFeed, what_failed_stays_until_it_has_left) {
    FeedRun run;
    run.publish(2);
    run.done(0, ring::Fault::record);
    run.done(1);
    EXPECT_EQ(run.reclaim(kThorough), 1u);
    EXPECT_EQ(run.reclaim(kThorough), 0u) << "its bytes may be shown";
}

TEST(SpoolFeed, items_of_one_node_share_a_slot_and_of_several_take_turns) {
    FeedRun one;
    one.publish(4);
    EXPECT_EQ(one.feed().counters().slots, 1u);
    FeedRun two(Nodes{{1, std::nullopt}, {1, std::nullopt}});
    two.publish(4);
    EXPECT_EQ(two.feed().counters().slots, 4u);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(two.feed().node(two.cuts()[i]), i % 2);
}

TEST(SpoolFeed, slots_that_are_free_again_serve_the_next_items) {
    FeedRun run(Nodes{{1, std::nullopt}, {1, std::nullopt}, {1, std::nullopt}}, 2);
    run.publish(2);
    EXPECT_FALSE(run.publish()) << "the limit is that of all nodes together";
    run.done(1);
    EXPECT_FALSE(run.publish()) << "nobody has looked";
    EXPECT_EQ(run.reclaim(kQuick), 1u);
    EXPECT_TRUE(run.publish());
    EXPECT_FALSE(run.publish());
}

} // namespace
} // namespace gristmill::input
