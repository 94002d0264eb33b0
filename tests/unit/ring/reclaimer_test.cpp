// Single steps around a death: what is given back to whom, and who counts what (invariant I19).
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "os/memory.hpp"
#include "ring/claimer.hpp"
#include "ring/publisher.hpp"
#include "ring/reclaimer.hpp"
#include "ring/retirer.hpp"

namespace gristmill::ring {
namespace {

using State = RunState<SystemAtomics>;

// Workers by hand: they claim, and die without a sound.
class Ring {
  public:
    explicit Ring(std::uint32_t workers, std::uint32_t look_ahead = 16)
        : block_(std::move(
              os::map_anonymous(State::block_bytes(workers, 1, 16), os::Pages::normal).value())),
          state(State::create(block_.data(), workers, 1, 16)), publisher(state, {look_ahead, 0}) {
        state.header().over.store(0);
    }

    void publish(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            BatchInput input;
            input.begin = publisher.published();
            publisher.publish(input, 1, kNoHome);
        }
        publisher.flush();
    }
    std::optional<Claim> claim(std::uint32_t worker, std::uint16_t incarnation,
                               Claimer<SystemAtomics>::Look look =
                                   Claimer<SystemAtomics>::Look::quick) {
        return Claimer<SystemAtomics>(state, worker, incarnation, 0).try_claim(true, look);
    }
    bool done(const Claim &claim, std::uint32_t worker, std::uint16_t incarnation) {
        return Claimer<SystemAtomics>(state, worker, incarnation, 0).done(claim);
    }
    // The sequences that are given back.
    std::vector<std::uint64_t> reclaim(std::uint32_t worker, std::uint16_t incarnation) {
        std::vector<std::uint64_t> given;
        const std::uint64_t count = Reclaimer<SystemAtomics>(state).reclaim(
            worker, incarnation, [&](std::uint64_t s, State::Entry &) { given.push_back(s); });
        EXPECT_EQ(count, given.size());
        return given;
    }
    StateWord word(std::uint64_t sequence) const {
        return StateWord::unpack(state.entry(sequence).state.load());
    }

  private:
    os::Mapping block_;

  public:
    State state;
    Publisher<SystemAtomics> publisher;
};

using Sequences = std::vector<std::uint64_t>;

TEST(Reclaimer, gives_back_what_the_dead_one_held_and_nothing_else) {
    Ring ring(3);
    ring.publish(6);
    const auto first = ring.claim(0, 1);
    const auto second = ring.claim(1, 1);
    const auto third = ring.claim(0, 1);
    const auto fourth = ring.claim(1, 2); // another life of the slot
    ASSERT_TRUE(first && second && third && fourth);
    ASSERT_TRUE(ring.done(*first, 0, 1));
    EXPECT_EQ(ring.reclaim(2, 1), Sequences{});
    EXPECT_EQ(ring.reclaim(0, 1), Sequences{2});
    EXPECT_EQ(ring.word(0).state, EntryState::done);
    EXPECT_EQ(ring.word(1).state, EntryState::claimed);
    EXPECT_EQ(ring.word(2).state, EntryState::ready);
    EXPECT_EQ(ring.word(2).attempt, 1u);
    EXPECT_EQ(ring.reclaim(1, 1), Sequences{1});
    EXPECT_EQ(ring.word(3).state, EntryState::claimed);
    EXPECT_EQ(ring.reclaim(1, 1), Sequences{}) << "twice";
}

TEST(Reclaimer, a_ghost_can_do_nothing_to_its_batch) {
    Ring ring(2);
    ring.publish(1);
    const auto ghost = ring.claim(0, 1);
    ASSERT_TRUE(ghost);
    ring.reclaim(0, 1);
    EXPECT_FALSE(ring.done(*ghost, 0, 1)) << "it is ready again";
    const auto next = ring.claim(0, 2);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->sequence, 0u);
    EXPECT_FALSE(ring.done(*ghost, 0, 1)) << "it belongs to the next life of the slot";
    EXPECT_TRUE(ring.done(*next, 0, 2));
}

TEST(Reclaimer, attempts_saturate) {
    Ring ring(1);
    ring.publish(1);
    for (int i = 0; i < 600; ++i) {
        const auto incarnation = static_cast<std::uint16_t>(i % 512);
        ASSERT_TRUE(ring.claim(0, incarnation));
        ASSERT_EQ(ring.reclaim(0, incarnation), Sequences{0});
        ASSERT_EQ(ring.word(0).attempt, std::min(i + 1, 255));
    }
}

TEST(Reclaimer, lowers_cursors_to_what_is_ready_again) {
    Ring ring(2);
    ring.publish(8);
    ASSERT_TRUE(ring.claim(0, 1)); // the head
    for (std::uint64_t s = 1; s < 6; ++s)
        ASSERT_EQ(ring.claim(s % 2 ? 1 : 0, 1)->sequence, s);
    EXPECT_EQ(ring.state.cursor(0).load(), 6u);
    EXPECT_EQ(ring.reclaim(1, 1), (Sequences{1, 3, 5}));
    EXPECT_EQ(ring.state.cursor(0).load(), 1u);
    for (const std::uint64_t s : {1, 3, 5, 6, 7})
        EXPECT_EQ(ring.claim(0, 1)->sequence, s);
    EXPECT_FALSE(ring.claim(0, 1));
}

// A cursor may have run past a batch that was given back behind its back.
TEST(Reclaimer, a_thorough_look_finds_what_a_cursor_hides) {
    Ring ring(2);
    ring.publish(4);
    ASSERT_TRUE(ring.claim(1, 1));
    ASSERT_EQ(ring.claim(0, 1)->sequence, 1u);
    ring.reclaim(0, 1);
    ring.state.cursor(0).store(4); // by a searcher that saw it claimed
    EXPECT_FALSE(ring.claim(1, 1));
    const auto found = ring.claim(1, 1, Claimer<SystemAtomics>::Look::thorough);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->sequence, 1u);
}

// Deaths between a claim and its count leave the counter too high; then the entries are counted.
TEST(Reclaimer, the_publisher_is_not_misled_by_a_counter_that_leaked) {
    Ring ring(1, 4);
    ring.publish(4);
    EXPECT_FALSE(ring.publisher.may_publish(1));
    ring.state.header().ready_count.fetch_add(10); // ten of them died so
    for (int i = 0; i < 4; ++i)
        ASSERT_TRUE(ring.claim(0, 1));
    EXPECT_FALSE(ring.publisher.may_publish(1)) << "nobody has died, as far as it knows";
    ring.state.header().reclaims.fetch_add(1);
    EXPECT_TRUE(ring.publisher.may_publish(1));
    EXPECT_TRUE(ring.publisher.wants_to_publish(1));
    ring.publish(3);
    EXPECT_TRUE(ring.publisher.may_publish(1));
    EXPECT_FALSE(ring.publisher.wants_to_publish(1)) << "above the low water mark";
    ring.publish(1);
    EXPECT_FALSE(ring.publisher.may_publish(1));
}

TEST(Reclaimer, counts_reclaims_and_forgets_the_wish_for_room) {
    Ring ring(2);
    ring.state.slot(1).wants_room.store(1);
    ring.reclaim(1, 1);
    ring.reclaim(0, 1);
    EXPECT_EQ(ring.state.header().reclaims.load(), 2u);
    EXPECT_EQ(ring.state.slot(1).wants_room.load(), 0u);
    ring.state.reset(16);
    EXPECT_EQ(ring.state.header().reclaims.load(), 0u);
}

TEST(Reclaimer, everybody_is_told) {
    Ring ring(3);
    auto &h = ring.state.header();
    std::vector<EventCount<SystemAtomics> *> events{&h.egress_event, &h.publisher_event};
    for (std::uint32_t i = 0; i < 3; ++i)
        events.push_back(&ring.state.slot(i).event);
    std::vector<std::uint32_t> tickets;
    for (auto *event : events)
        tickets.push_back(event->prepare_wait());
    ring.reclaim(1, 1); // its own event, too: its bit must not swallow a wake
    for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_FALSE(events[i]->has_waiter());
        EXPECT_EQ(events[i]->commit_wait(tickets[i], -1), Wake::notified);
    }
}

TEST(ExitReport, comes_back) {
    for (const ExitReport report :
         {ExitReport{}, ExitReport{true, 511, 0}, ExitReport{true, 0, 139}, ExitReport{true, 3, -1},
          ExitReport{true, 65535, 71 << 8}}) {
        const ExitReport back = ExitReport::unpack(report.pack());
        EXPECT_EQ(back.exited, report.exited);
        EXPECT_EQ(back.incarnation, report.incarnation);
        EXPECT_EQ(back.status, report.status);
    }
}

} // namespace
} // namespace gristmill::ring
