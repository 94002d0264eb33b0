// The input budget: what may be published, with every batch counted, whatever became of it.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "os/memory.hpp"
#include "ring/claimer.hpp"
#include "ring/publisher.hpp"
#include "ring/reclaimer.hpp"
#include "ring/retirer.hpp"
#include "support/random.hpp"

namespace gristmill::ring {
namespace {

using State = RunState<SystemAtomics>;

constexpr std::uint32_t kEntries = 16;
constexpr std::uint32_t kLookAhead = 12;
constexpr std::uint32_t kWorkers = 3;

// One thread plays everybody, and knows what is in flight.
class Budget {
  public:
    explicit Budget(std::uint64_t limit_bytes)
        : limit_(limit_bytes), publisher_(state_, {kLookAhead, limit_bytes}),
          retirer_(state_, RetireOrder::index, false) {
        state_.header().over.store(0);
    }

    bool may_publish(std::uint64_t bytes) { return publisher_.may_publish(bytes); }
    void publish(std::uint64_t bytes) {
        bytes_[publisher_.published()] = bytes;
        publisher_.publish({}, bytes, kNoHome);
        publisher_.flush();
    }
    void publish_done() { publisher_.publish_done({}, {}); }
    bool claim(std::uint32_t worker) {
        const auto claim = claimer(worker).try_claim(true);
        if (claim)
            claims_[worker] = *claim;
        return claim.has_value();
    }
    void done(std::uint32_t worker) {
        ASSERT_TRUE(claimer(worker).done(claims_.at(worker)));
        bytes_.erase(claims_.at(worker).sequence);
        claims_.erase(worker);
    }
    // A dead worker's batch may be claimed again, and is in flight as before.
    void give_back(std::uint32_t worker) {
        EXPECT_EQ(Reclaimer<SystemAtomics>(state_).reclaim(worker, incarnations_[worker]++,
                                                           [](std::uint64_t, State::Entry &) {}),
                  1u);
        claims_.erase(worker);
    }
    void retire() {
        retirer_.retire([](std::uint64_t, State::Entry &) { return true; });
    }

    bool works(std::uint32_t worker) const { return claims_.contains(worker); }
    std::uint64_t in_flight() const {
        std::uint64_t sum = 0;
        for (const auto &[sequence, bytes] : bytes_)
            sum += bytes;
        return sum;
    }
    // By what is known here.
    bool fits(std::uint64_t bytes) const {
        return publisher_.window_open() && bytes_.size() - claims_.size() < kLookAhead &&
               (bytes_.empty() || in_flight() == 0 || in_flight() + bytes <= limit_);
    }

  private:
    Claimer<SystemAtomics> claimer(std::uint32_t worker) {
        return {state_, worker, incarnations_[worker], 0};
    }

    const std::uint64_t limit_;
    os::Mapping block_ = std::move(
        os::map_anonymous(State::block_bytes(kWorkers, 1, kEntries), os::Pages::normal).value());
    State state_ = State::create(block_.data(), kWorkers, 1, kEntries);
    Publisher<SystemAtomics> publisher_;
    Retirer<SystemAtomics> retirer_;
    std::map<std::uint64_t, std::uint64_t> bytes_; // by sequence: published and not done
    std::map<std::uint32_t, Claim> claims_;        // by worker
    std::map<std::uint32_t, std::uint16_t> incarnations_;
};

TEST(Publisher, keeps_to_the_budget) {
    Budget budget(100);
    ASSERT_TRUE(budget.may_publish(60));
    budget.publish(60);
    EXPECT_FALSE(budget.may_publish(41));
    ASSERT_TRUE(budget.may_publish(40));
    budget.publish(40);
    EXPECT_FALSE(budget.may_publish(1));
}

TEST(Publisher, what_is_done_is_room_again_though_nothing_has_left) {
    Budget budget(100);
    budget.publish(60);
    budget.publish(40);
    ASSERT_TRUE(budget.claim(0));
    EXPECT_FALSE(budget.may_publish(1)) << "it is being read";
    budget.done(0);
    EXPECT_FALSE(budget.may_publish(61));
    EXPECT_TRUE(budget.may_publish(60));
    budget.publish(60);
    EXPECT_FALSE(budget.may_publish(1)) << "counted once, not twice";
}

TEST(Publisher, what_is_given_back_is_in_flight_still) {
    Budget budget(100);
    budget.publish(60);
    ASSERT_TRUE(budget.claim(0));
    budget.give_back(0);
    EXPECT_FALSE(budget.may_publish(41));
    ASSERT_TRUE(budget.claim(0));
    EXPECT_FALSE(budget.may_publish(41));
    budget.done(0);
    EXPECT_TRUE(budget.may_publish(100));
}

TEST(Publisher, a_batch_beyond_the_budget_goes_alone) {
    Budget budget(100);
    ASSERT_TRUE(budget.may_publish(1000));
    budget.publish(1000);
    EXPECT_FALSE(budget.may_publish(1));
    ASSERT_TRUE(budget.claim(1));
    EXPECT_FALSE(budget.may_publish(1));
    budget.done(1);
    budget.publish(1);
    EXPECT_FALSE(budget.may_publish(1000));
    EXPECT_TRUE(budget.may_publish(99));
}

TEST(Publisher, what_nobody_has_to_work_on_takes_nothing_of_it) {
    Budget budget(100);
    budget.publish(100);
    budget.publish_done();
    ASSERT_TRUE(budget.claim(0));
    budget.done(0);
    EXPECT_TRUE(budget.may_publish(100));
}

// Exactly what fits may be published: what is counted only now and then is never less than there is,
// and counted anew before anything is refused.
TEST(Publisher, the_budget_at_random) {
    const test::SeedRange seeds(200);
    for (std::uint64_t seed = seeds.first; seed < seeds.last && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(test::replay(seed));
        test::Random random(seed);
        const std::uint64_t limit = random.between(1, 300);
        Budget budget(limit);
        for (int step = 0; step < 2000 && !testing::Test::HasFailure(); ++step) {
            const auto worker = static_cast<std::uint32_t>(random.below(kWorkers));
            const std::uint64_t bytes = random.one_in(20) ? random.below(900) : random.below(100);
            if (random.one_in(3)) {
                const bool may = budget.may_publish(bytes);
                ASSERT_EQ(may, budget.fits(bytes)) << bytes << " beside " << budget.in_flight();
                const bool alone = budget.in_flight() == 0;
                if (may)
                    budget.publish(bytes);
                ASSERT_TRUE(budget.in_flight() <= limit || alone || !may);
            } else if (!budget.works(worker)) {
                budget.claim(worker);
            } else if (random.one_in(5)) {
                budget.give_back(worker);
            } else {
                budget.done(worker);
            }
            if (random.one_in(3))
                budget.retire();
        }
    }
}

} // namespace
} // namespace gristmill::ring
