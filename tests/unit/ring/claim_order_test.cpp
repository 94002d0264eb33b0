// Whose batches a worker takes: the oldest, then those of its own node, then as its node's order says.
#include <vector>

#include <gtest/gtest.h>

#include "os/memory.hpp"
#include "ring/claimer.hpp"
#include "ring/publisher.hpp"

namespace gristmill::ring {
namespace {

using State = RunState<SystemAtomics>;
using Order = std::vector<std::uint16_t>;

// Four nodes with a worker each, and batches with a home.
class Nodes {
  public:
    static constexpr std::uint32_t kNodes = 4;

    Nodes() : publisher(state, {64, 0}) { state.header().over.store(0); }

    void set_order(std::uint32_t node, const Order &order) {
        std::copy(order.begin(), order.end(), state.steal_order(node).begin());
    }
    void publish(const std::vector<std::uint16_t> &homes) {
        for (const std::uint16_t home : homes)
            publisher.publish({}, 1, home);
        publisher.flush();
    }
    std::optional<Claim> claim(std::uint32_t node, bool has_room = true) {
        return Claimer<SystemAtomics>(state, node, 1, node).try_claim(has_room);
    }
    // The sequences a worker of the node takes, to the last.
    std::vector<std::uint64_t> claim_all(std::uint32_t node) {
        std::vector<std::uint64_t> sequences;
        while (const auto claimed = claim(node))
            sequences.push_back(claimed->sequence);
        return sequences;
    }

  private:
    os::Mapping block_ = std::move(
        os::map_anonymous(State::block_bytes(kNodes, kNodes, 64), os::Pages::normal).value());

  public:
    State state = State::create(block_.data(), kNodes, kNodes, 64);
    Publisher<SystemAtomics> publisher;
};

using Sequences = std::vector<std::uint64_t>;

TEST(ClaimOrder, without_a_plan_nodes_follow_each_other) {
    const Nodes nodes;
    for (std::uint32_t node = 0; node < 4; ++node)
        for (std::uint32_t step = 0; step < 4; ++step)
            EXPECT_EQ(nodes.state.steal_order(node)[step], (node + step) % 4);
}

TEST(ClaimOrder, orders_are_apart_from_each_other_and_from_all_else) {
    Nodes nodes;
    for (std::uint32_t node = 0; node < 4; ++node)
        nodes.set_order(node, Order(4, static_cast<std::uint16_t>(100 + node)));
    for (std::uint32_t node = 0; node < 4; ++node) {
        EXPECT_EQ(nodes.state.steal_order(node).size(), 4u);
        for (const std::uint16_t other : nodes.state.steal_order(node))
            EXPECT_EQ(other, 100 + node);
        EXPECT_EQ(nodes.state.cursor(node).load(), 0u);
    }
    EXPECT_EQ(nodes.state.entry(0).state.load(), 0u);
    nodes.state.reset(64);
    EXPECT_EQ(nodes.state.steal_order(3)[0], 103) << "a new run has the same plan";
}

TEST(ClaimOrder, the_oldest_first_then_home_then_the_nearest) {
    Nodes nodes;
    nodes.set_order(0, {0, 2, 1, 3});
    nodes.publish({3, 2, 1, 0, 3, 2, 1, 0});
    EXPECT_EQ(nodes.claim_all(0), (Sequences{0, 3, 7, 1, 5, 2, 6, 4}));
    Nodes others;
    others.set_order(3, {3, 1, 0, 2});
    others.publish({3, 2, 1, 0, 3, 2, 1, 0});
    EXPECT_EQ(others.claim_all(3), (Sequences{0, 4, 2, 6, 3, 7, 1, 5}));
}

TEST(ClaimOrder, a_claim_says_why_and_whose_it_was) {
    Nodes nodes;
    nodes.publish({1, 0, 2});
    const auto oldest = nodes.claim(0);
    ASSERT_TRUE(oldest);
    EXPECT_TRUE(oldest->as_head);
    EXPECT_EQ(oldest->home, 1u);
    const auto own = nodes.claim(0);
    ASSERT_TRUE(own);
    EXPECT_FALSE(own->as_head);
    EXPECT_EQ(own->home, 0u);
    const auto stolen = nodes.claim(0);
    ASSERT_TRUE(stolen);
    EXPECT_FALSE(stolen->as_head);
    EXPECT_EQ(stolen->home, 2u);
    EXPECT_FALSE(nodes.claim(0));
}

TEST(ClaimOrder, without_room_only_the_oldest) {
    Nodes nodes;
    nodes.publish({3, 0, 0});
    const auto oldest = nodes.claim(0, false);
    ASSERT_TRUE(oldest);
    EXPECT_EQ(oldest->sequence, 0u);
    EXPECT_FALSE(nodes.claim(0, false));
    EXPECT_TRUE(nodes.claim(0, true));
}

TEST(ClaimOrder, what_has_no_home_is_taken_by_everybody_in_its_turn) {
    Nodes nodes;
    nodes.publish({1, kNoHome, 2, kNoHome, 2});
    EXPECT_EQ(nodes.claim(0)->sequence, 0u);
    EXPECT_EQ(nodes.claim(2)->sequence, 1u) << "before its own, which is younger";
    EXPECT_EQ(nodes.claim(2)->sequence, 2u);
    EXPECT_EQ(nodes.claim(3)->sequence, 3u);
    EXPECT_EQ(nodes.claim(3)->sequence, 4u);
}

} // namespace
} // namespace gristmill::ring
