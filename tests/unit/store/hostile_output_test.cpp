// Locations from a worker that writes nonsense: nullopt, never a crash of the caller.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/output_reader.hpp"
#include "support/random.hpp"

namespace gristmill::store {
namespace {

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

class HostileOutput : public testing::Test {
  protected:
    HostileOutput() {
        for (int worker = 0; worker < 2; ++worker) {
            rings_.push_back(std::move(OutputMemory::create(4096, kMirrored).value()));
            EXPECT_TRUE(os::grow_memfd(rings_.back().overflow.get(), 4 * kPageBytes));
            EXPECT_TRUE(collected_.files.make(1));
            EXPECT_TRUE(os::grow_memfd(collected_.files[collected_.files.size() - 1].fd(), 3 * kPageBytes));
        }
        EXPECT_TRUE(os::grow_memfd(isolation_.get(), 5 * kPageBytes));
        OutputPlaces places;
        places.rings = &rings_;
        places.collected = &collected_;
        places.isolation_fd = isolation_.get();
        places.threads = false;
        reader_.emplace(places, std::vector<ReleaseCounters>{{&released_[0], &released_[1]},
                                                             {&released_[2], &released_[3]}});
    }

    static std::uint64_t sum_of(ByteView bytes) {
        std::uint64_t sum = 0;
        for (const std::byte byte : bytes)
            sum += std::uint64_t(byte);
        return sum;
    }

    // Whatever can be viewed can be read to its last byte, and released.
    bool survives(std::uint32_t worker, const OutputLocation &location) {
        const auto view = reader_->view(worker, location);
        if (!view)
            return false;
        EXPECT_EQ(sum_of(view->output) + sum_of(view->lengths) + sum_of(view->faults), 0u);
        reader_->release(worker, location);
        return true;
    }

#if defined(__SANITIZE_THREAD__)
    static constexpr bool kMirrored = false;
#else
    static constexpr bool kMirrored = true;
#endif
    std::array<std::atomic<std::uint64_t>, 4> released_{};
    std::vector<OutputMemory> rings_;
    Collected collected_;
    const os::UniqueFd isolation_ = std::move(os::create_memfd("gristmill-test", 0).value());
    std::optional<OutputReader> reader_;
};

OutputLocation ring_at(std::uint64_t begin, std::uint64_t data, std::uint64_t bytes,
                       std::uint64_t end) {
    OutputLocation location;
    location.place = OutputPlace::ring;
    location.begin = begin;
    location.data = data;
    location.bytes = bytes;
    location.end = end;
    return location;
}

TEST_F(HostileOutput, positions_of_a_ring_must_make_sense) {
    EXPECT_FALSE(survives(0, ring_at(0, 10, 10, 15))) << "data behind its end";
    EXPECT_FALSE(survives(0, ring_at(10, 0, 10, 20))) << "data before its begin";
    EXPECT_FALSE(survives(0, ring_at(20, 10, 10, 0))) << "backwards";
    EXPECT_FALSE(survives(0, ring_at(0, 0, 10, 5000))) << "more than the ring";
    EXPECT_FALSE(survives(0, ring_at(0, kHuge, 10, 9))) << "wraps";
    EXPECT_FALSE(survives(0, ring_at(kHuge, kHuge, 10, 9))) << "wraps";
    EXPECT_TRUE(survives(0, ring_at(0, 0, 10, 10)));
    EXPECT_FALSE(survives(0, ring_at(0, 0, 10, 10))) << "the same once more";
    EXPECT_FALSE(survives(0, ring_at(5, 5, 10, 15))) << "overlaps";
    EXPECT_TRUE(survives(0, ring_at(100, 100, 10, 110)));
    EXPECT_FALSE(survives(0, ring_at(50, 50, 100, 150))) << "around what was retired";
    EXPECT_TRUE(survives(0, ring_at(10, 10, 90, 100)));
    EXPECT_EQ(released_[0].load(), 110u);
}

TEST_F(HostileOutput, addresses_of_another_process_are_never_followed) {
    OutputLocation location;
    location.place = OutputPlace::collection;
    location.data = 0x1000;
    location.bytes = 10;
    EXPECT_FALSE(survives(0, location));
}

TEST_F(HostileOutput, lost_and_unknown_places) {
    OutputLocation location;
    location.place = OutputPlace::lost;
    EXPECT_FALSE(survives(0, location));
    for (int place = 7; place < 256; ++place) {
        location.place = static_cast<OutputPlace>(place);
        EXPECT_FALSE(survives(0, location));
    }
    location.place = OutputPlace::none;
    location.bytes = 1000; // of nothing
    EXPECT_TRUE(survives(0, location));
}

TEST_F(HostileOutput, any_numbers_at_all) {
    const std::uint64_t odd[] = {0,       1,        7,        4095,     4096,      4097,
                                 8192,    12288,    16384,    20480,    kHuge / 2, kHuge - 4096,
                                 kHuge - 4095, kHuge - 1, kHuge, std::uint64_t{1} << 37,
                                 std::uint64_t{1} << 32};
    const test::SeedRange seeds(40'000);
    std::uint64_t seen = 0;
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        const auto number = [&] {
            return random.one_in(2)   ? odd[random.below(std::size(odd))]
                   : random.one_in(2) ? random.below(30'000)
                                      : random.next();
        };
        OutputLocation location;
        location.place = static_cast<OutputPlace>(random.below(9));
        location.begin = number();
        location.data = random.one_in(3) ? location.begin : number();
        location.bytes = number();
        location.length_bytes = random.one_in(2) ? 0 : number();
        location.fault_bytes = random.one_in(2) ? 0 : number();
        location.end = random.one_in(3) ? location.data + location.whole_bytes() : number();
        const auto worker = static_cast<std::uint32_t>(random.below(3));
        seen += survives(worker, location);
        if (HasFailure())
            FAIL() << test::replay(seed);
    }
    if (seeds.last - seeds.first > 1000) {
        EXPECT_GT(seen, 0u);
    }
}

} // namespace
} // namespace gristmill::store
