// Slots of several nodes: whose the next one is, and what all nodes share.
#include <fcntl.h>

#include <gtest/gtest.h>

#include "spool_slots.hpp"

namespace gristmill::store {
namespace {

std::vector<std::uint32_t> homes_of(Spool &spool, int slots) {
    std::vector<std::uint32_t> homes;
    for (int i = 0; i < slots; ++i)
        homes.push_back(spool.node(take(spool)));
    return homes;
}

using Homes = std::vector<std::uint32_t>;

TEST(SpoolNodes, equal_ones_take_turns) {
    Spool spool = make_for({1, 1, 1}, 100);
    EXPECT_EQ(spool.nodes(), 3u);
    EXPECT_EQ(homes_of(spool, 7), (Homes{0, 1, 2, 0, 1, 2, 0}));
    Spool idle = make_for({2, 2}, 100);
    Homes homes;
    for (int i = 0; i < 4; ++i) {
        const std::uint32_t slot = take(idle);
        homes.push_back(idle.node(slot));
        idle.release(slot);
    }
    EXPECT_EQ(homes, (Homes{0, 1, 0, 1})) << "though none has a backlog";
}

TEST(SpoolNodes, the_shortest_backlog_for_each_worker_is_next) {
    Spool spool = make_for({3, 1}, 100);
    std::vector<std::vector<std::uint32_t>> held(2);
    for (int i = 0; i < 8; ++i) {
        const std::uint32_t slot = take(spool);
        held[spool.node(slot)].push_back(slot);
    }
    EXPECT_EQ(held[0].size(), 6u);
    EXPECT_EQ(held[1].size(), 2u);
    for (const std::uint32_t slot : held[1])
        spool.release(slot);
    EXPECT_EQ(homes_of(spool, 2), (Homes{1, 1})) << "it has caught up";
}

TEST(SpoolNodes, backlogs_are_measured_in_bytes) {
    Spool spool = make_for({1, 1}, 100);
    EXPECT_EQ(spool.node(take(spool, 5 * kSlot)), 0u);
    EXPECT_EQ(homes_of(spool, 6), (Homes{1, 1, 1, 1, 1, 0}));
}

TEST(SpoolNodes, those_without_workers_get_none_unless_none_has_any) {
    Spool some = make_for({0, 2, 0, 1}, 100);
    for (const std::uint32_t home : homes_of(some, 30))
        EXPECT_EQ(home % 2, 1u);
    Spool none = make_for({0, 0, 0}, 100);
    EXPECT_EQ(homes_of(none, 4), (Homes{0, 1, 2, 0}));
}

TEST(SpoolNodes, the_limit_is_that_of_all_together) {
    Spool spool = make_for({1, 1, 1}, 4);
    std::vector<std::uint32_t> held;
    for (int i = 0; i < 4; ++i)
        held.push_back(take(spool));
    EXPECT_TRUE(refused(spool));
    EXPECT_EQ(spool.bytes_in_use(), 4 * kSlot);
    spool.release(held[1]);
    EXPECT_EQ(spool.node(take(spool)), 1u);
    EXPECT_TRUE(refused(spool));
}

TEST(SpoolNodes, each_keeps_what_it_needs_warm) {
    Spool spool = make_for({1, 1}, 100);
    std::vector<std::uint32_t> held;
    for (int i = 0; i < 20; ++i)
        fill(spool, held.emplace_back(take(spool)));
    for (const std::uint32_t slot : held)
        if (spool.node(slot) == 0 || slot > 1) // one of node 1 stays in use
            spool.release(slot);
    EXPECT_EQ(resident(spool), 20 * kSlot);
    for (int i = 0; i < 1000; ++i) {
        const std::uint32_t slot = take(spool);
        ASSERT_EQ(spool.node(slot), 0u) << "the other has a backlog";
        fill(spool, slot);
        spool.release(slot);
    }
    EXPECT_EQ(resident(spool), 11 * kSlot) << "node 0 needs one; node 1 has not been asked since";
}

// Where the file cannot grow: a slot of another node is better than none.
TEST(SpoolNodes, without_memory_slots_of_others_serve) {
    Spool spool = make_for({1, 1, 1}, 100);
    const std::uint32_t first = take(spool);
    const std::uint32_t second = take(spool);
    EXPECT_EQ(spool.node(second), 1u);
    ASSERT_EQ(::fcntl(spool.fd(), F_ADD_SEALS, F_SEAL_GROW), 0);
    EXPECT_TRUE(refused(spool)) << "both are in use";
    spool.release(first);
    EXPECT_EQ(take(spool), first) << "it would be node 2's turn, which has none";
    spool.release(first);
    spool.release(second);
    for (int i = 0; i < 9; ++i)
        spool.release(take(spool, kSlot, i % 2));
    EXPECT_EQ(spool.bytes_in_use(), 0u);
    EXPECT_EQ(spool.counters().slots, 2u);
}

TEST(SpoolNodes, nothing_is_audited_that_is_not_placed) {
    Spool spool = make_for({1, 1}, 100);
    fill(spool, take(spool));
    const std::vector<os::PageAudit> audits = spool.audit();
    ASSERT_EQ(audits.size(), 2u);
    EXPECT_EQ(audits[0].bytes + audits[1].bytes, 0u);
}

TEST(SpoolNodes, what_is_placed_is_audited_as_far_as_it_was_touched) {
    Spool spool = std::move(Spool::create(kSlot, 100 * kSlot, {{1, 0}, {1, std::nullopt}}).value());
    const std::uint32_t slot = take(spool);
    EXPECT_EQ(spool.audit()[0].bytes, 0u) << "nothing lies there yet";
    ASSERT_TRUE(spool.make_present(slot));
    EXPECT_EQ(spool.audit()[0].bytes, kSlot);
    EXPECT_EQ(spool.audit()[1].bytes, 0u);
    EXPECT_LE(spool.audit()[0].local_bytes, kSlot);
}

} // namespace
} // namespace gristmill::store
