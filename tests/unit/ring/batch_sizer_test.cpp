// The batch sizer against simulated payloads and a simulated clock: bounds, settling, and no
// swinging to and fro.
#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "ring/batch_sizer.hpp"
#include "support/random.hpp"

namespace gristmill::ring {
namespace {

using test::Random;

constexpr std::uint64_t kEndless = std::uint64_t{1} << 50;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;

// What a batch of so many bytes costs, in nanoseconds.
using Cost = std::function<double(std::uint64_t bytes, std::uint64_t batch, Random &random)>;

struct Simulation {
    SizerLimits limits{};
    double output_per_byte = 1;
    std::uint64_t record_bytes = 1;
    std::vector<std::uint64_t> sizes{}; // of the batches, as published

    // Publishes `batches` batches; two per worker are in flight before the first comes back.
    void run(const Cost &cost, std::uint64_t batches, std::uint64_t seed = 1) {
        BatchSizer sizer(limits);
        Random random(seed);
        std::deque<std::uint64_t> in_flight;
        for (std::uint64_t batch = 0; batch < batches; ++batch) {
            const std::uint64_t size = sizer.next_bytes(kEndless);
            sizes.push_back(size);
            in_flight.push_back(std::max(size / record_bytes, std::uint64_t{1}) * record_bytes);
            if (in_flight.size() < 2 * limits.workers)
                continue;
            const std::uint64_t bytes = in_flight.front();
            in_flight.pop_front();
            const double wall = double(limits.empty_batch_ns) + cost(bytes, batch, random);
            sizer.observe({bytes / record_bytes, bytes,
                           std::uint64_t(double(bytes) * output_per_byte), std::uint64_t(wall)});
        }
    }

    std::uint64_t last() const { return sizes.back(); }
    std::uint64_t smallest_of_last(std::size_t count) const {
        return *std::min_element(sizes.end() - std::ptrdiff_t(count), sizes.end());
    }
    std::uint64_t largest_of_last(std::size_t count) const {
        return *std::max_element(sizes.end() - std::ptrdiff_t(count), sizes.end());
    }
    std::size_t changes_in_last(std::size_t count) const {
        std::size_t changes = 0;
        for (std::size_t i = sizes.size() - count; i < sizes.size(); ++i)
            changes += sizes[i] != sizes[i - 1];
        return changes;
    }
};

Simulation simulate(std::uint32_t workers = 4) {
    Simulation simulation;
    simulation.limits.workers = workers;
    simulation.limits.batch_bytes_max = kMaxBytes;
    return simulation;
}

Cost per_byte(double ns) {
    return [ns](std::uint64_t bytes, std::uint64_t, Random &) { return ns * double(bytes); };
}

TEST(BatchSizer, a_fast_payload_gets_the_largest_batches) {
    auto simulation = simulate();
    simulation.run(per_byte(0.5), 400);
    EXPECT_EQ(simulation.sizes.front(), 64u * 1024);
    EXPECT_EQ(simulation.last(), kMaxBytes);
    EXPECT_EQ(simulation.changes_in_last(300), 0u);
}

TEST(BatchSizer, a_slow_payload_settles_at_its_wall_time) {
    for (const double ns : {3.0, 20.0, 100.0, 5000.0}) {
        auto simulation = simulate();
        simulation.run(per_byte(ns), 400);
        const double wall = double(simulation.last()) * ns;
        EXPECT_GT(wall, 2e6 / 1.6) << ns;
        EXPECT_LT(wall, 2e6 * 1.3) << ns;
        EXPECT_EQ(simulation.changes_in_last(200), 0u) << ns;
    }
}

TEST(BatchSizer, grows_by_doubling_at_most) {
    auto simulation = simulate();
    simulation.run(per_byte(0.1), 400);
    for (std::size_t i = 1; i < simulation.sizes.size(); ++i)
        EXPECT_LE(simulation.sizes[i], 2 * simulation.sizes[i - 1]);
}

TEST(BatchSizer, batches_are_worth_their_overhead) {
    auto simulation = simulate();
    simulation.limits.empty_batch_ns = 500'000; // 20 of them are more than the usual wall time
    simulation.run(per_byte(20), 400);
    EXPECT_GE(double(simulation.last()) * 20, 20 * 500e3 / 1.6);
}

TEST(BatchSizer, output_of_a_batch_stays_below_its_limit) {
    auto simulation = simulate();
    simulation.limits.output_bytes_max = 100'000;
    simulation.output_per_byte = 8;
    simulation.run(per_byte(0.5), 400);
    EXPECT_LE(simulation.last() * 8, 130'000u);
    EXPECT_GE(simulation.last() * 8, 60'000u);
    EXPECT_EQ(simulation.changes_in_last(200), 0u);
}

TEST(BatchSizer, noise_moves_nothing_far) {
    auto simulation = simulate();
    const Cost noisy = [](std::uint64_t bytes, std::uint64_t, Random &random) {
        return 20 * double(bytes) * (0.7 + 0.6 * double(random.below(1000)) / 1000);
    };
    simulation.run(noisy, 2000);
    EXPECT_LT(simulation.largest_of_last(1500), 2 * simulation.smallest_of_last(1500));
    EXPECT_LT(simulation.changes_in_last(1500), 75u) << "5 % of the batches";
}

TEST(BatchSizer, one_outlier_halves_at_most) {
    auto simulation = simulate();
    const Cost once = [](std::uint64_t bytes, std::uint64_t batch, Random &) {
        return 20 * double(bytes) * (batch == 500 ? 1000 : 1);
    };
    simulation.run(once, 1000);
    const std::uint64_t settled = simulation.sizes[499];
    EXPECT_GE(2 * simulation.smallest_of_last(500), settled)
        << "smallest behind the outlier, settled at " << settled;
    EXPECT_GE(simulation.last() * 10, settled * 8) << "and it recovers";
}

TEST(BatchSizer, rare_heavy_batches_do_not_swing_it) {
    auto simulation = simulate();
    const Cost skewed = [](std::uint64_t bytes, std::uint64_t, Random &random) {
        return 10 * double(bytes) * (random.one_in(50) ? 50 : 1);
    };
    simulation.run(skewed, 3000);
    EXPECT_GE(simulation.smallest_of_last(2500) * 4, simulation.largest_of_last(2500));
}

TEST(BatchSizer, follows_bursts_within_some_batches) {
    auto simulation = simulate();
    const Cost bursty = [](std::uint64_t bytes, std::uint64_t batch, Random &) {
        return double(bytes) * (batch / 300 % 2 == 0 ? 5 : 100);
    };
    simulation.run(bursty, 1800);
    for (const std::size_t end : {299u, 899u, 1499u}) // cheap and settled
        EXPECT_GT(double(simulation.sizes[end]) * 5, 2e6 / 1.6);
    for (const std::size_t end : {599u, 1199u, 1799u})
        EXPECT_LT(double(simulation.sizes[end]) * 100, 2e6 * 1.6);
}

// A payload that sleeps for each record costs wall time, not CPU time: wall time is what counts.
TEST(BatchSizer, sleeping_records_come_in_small_batches) {
    auto simulation = simulate();
    simulation.record_bytes = 100;
    const Cost sleeping = [](std::uint64_t bytes, std::uint64_t, Random &) {
        return 1e6 * double(bytes / 100);
    };
    simulation.run(sleeping, 300);
    EXPECT_LE(simulation.last(), 300u);
    EXPECT_GE(simulation.last(), 1u);
}

// Cores shared with others: wall times are sometimes several times what they should be.
TEST(BatchSizer, oversubscribed_cores_leave_useful_batches) {
    auto simulation = simulate(16);
    const Cost shared = [](std::uint64_t bytes, std::uint64_t, Random &random) {
        return 5 * double(bytes) * double(random.between(1, 4));
    };
    simulation.run(shared, 3000);
    EXPECT_GE(simulation.smallest_of_last(2000), 64u * 1024);
}

TEST(BatchSizer, stays_within_bounds_whatever_it_sees) {
    const test::SeedRange seeds(2000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        Random random(seed);
        SizerLimits limits;
        limits.workers = std::uint32_t(random.between(1, 100));
        limits.batch_bytes_max = random.between(1, kMaxBytes);
        limits.output_bytes_max = random.one_in(2) ? 0 : random.between(1, kMaxBytes);
        BatchSizer sizer(limits);
        if (random.one_in(2))
            sizer.begin_source(random.next() >> random.below(64));
        for (int i = 0; i < 50; ++i) {
            const std::uint64_t remaining = random.next() >> random.below(64);
            const std::uint64_t bytes = sizer.next_bytes(remaining);
            ASSERT_GE(bytes, 1u) << test::replay(seed);
            ASSERT_LE(bytes, limits.batch_bytes_max) << test::replay(seed);
            const auto any = [&] { return random.next() >> random.below(64); };
            sizer.observe({random.below(3), any(), any(), any()});
        }
    }
}

TEST(BatchSizer, every_worker_gets_several_batches_of_a_small_source) {
    SizerLimits limits;
    limits.workers = 4;
    limits.batch_bytes_max = kMaxBytes;
    BatchSizer sizer(limits);
    sizer.begin_source(320'000);
    EXPECT_LE(sizer.next_bytes(320'000), 10'000u);
    sizer.begin_source(0);
    EXPECT_EQ(sizer.next_bytes(0), 1u);
}

TEST(BatchSizer, batches_shrink_towards_the_end) {
    SizerLimits limits;
    limits.workers = 4;
    limits.batch_bytes_max = kMaxBytes;
    BatchSizer sizer(limits);
    std::uint64_t left = 1'000'000;
    std::uint64_t batches = 0;
    for (std::uint64_t before = kMaxBytes; left > 0; ++batches) {
        const std::uint64_t bytes = std::min(sizer.next_bytes(left), left);
        EXPECT_LE(bytes, before);
        EXPECT_LE(bytes, std::max<std::uint64_t>(left / 8, 1));
        before = bytes;
        left -= bytes;
    }
    EXPECT_LT(batches, 200u);
}

TEST(BatchSizer, batches_without_records_tell_nothing) {
    BatchSizer sizer({.batch_bytes_max = kMaxBytes});
    const std::uint64_t before = sizer.target_bytes();
    sizer.observe({0, 1'000'000, 0, 1'000'000'000});
    sizer.observe({5, 0, 0, 1'000'000'000});
    EXPECT_EQ(sizer.target_bytes(), before);
}

} // namespace
} // namespace gristmill::ring
