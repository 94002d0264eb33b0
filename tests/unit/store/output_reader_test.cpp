// Egress believes no location that a worker wrote (protocol, section 6).
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/output_reader.hpp"
#include "support/random.hpp"

namespace gristmill::store {
namespace {

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

class OutputReaders : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
#if defined(__SANITIZE_THREAD__)
        if (GetParam())
            GTEST_SKIP() << "rings are not mirrored under ThreadSanitizer";
#endif
        memory_.push_back(std::move(OutputMemory::create(4096, GetParam()).value()));
        OutputPlaces places;
        places.rings = &memory_;
        reader_.emplace(places, std::vector<ReleaseCounters>{{&ring_, &overflow_}});
    }
    bool seen(std::uint32_t worker, OutputPlace place, std::uint64_t data, std::uint64_t bytes,
              std::uint64_t fault_bytes) {
        return reader_->view(worker, {place, data, data, bytes, 0, fault_bytes,
                                      data + bytes + fault_bytes})
            .has_value();
    }

    std::atomic<std::uint64_t> ring_{0};
    std::atomic<std::uint64_t> overflow_{0};
    std::vector<OutputMemory> memory_;
    std::optional<OutputReader> reader_;
};

TEST_P(OutputReaders, see_what_lies_in_the_ring) {
    EXPECT_TRUE(seen(0, OutputPlace::ring, 0, 4096, 0));
    EXPECT_TRUE(seen(0, OutputPlace::ring, 5 * 4096 + 96, 3000, 1000));
    EXPECT_EQ(seen(0, OutputPlace::ring, 4095, 2, 0), GetParam()) << "crosses the end";
    EXPECT_TRUE(seen(0, OutputPlace::none, 0, 0, 0));
}

TEST_P(OutputReaders, refuse_more_than_the_ring_holds) {
    EXPECT_FALSE(seen(0, OutputPlace::ring, 0, 4097, 0));
    EXPECT_FALSE(seen(0, OutputPlace::ring, 0, 4096, 1));
    EXPECT_FALSE(seen(0, OutputPlace::ring, 0, kHuge, 0));
    EXPECT_FALSE(seen(0, OutputPlace::ring, 0, kHuge, 2)) << "the sum wraps";
    EXPECT_FALSE(seen(0, OutputPlace::ring, 0, 2, kHuge)) << "the sum wraps";
}

TEST_P(OutputReaders, refuse_workers_that_do_not_exist) {
    EXPECT_FALSE(seen(1, OutputPlace::ring, 0, 1, 0));
    EXPECT_FALSE(seen(4095, OutputPlace::overflow, 0, 1, 0));
}

TEST_P(OutputReaders, refuse_what_no_overflow_range_holds) {
    ASSERT_TRUE(os::grow_memfd(memory_[0].overflow.get(), 2 * kPageBytes));
    EXPECT_TRUE(seen(0, OutputPlace::overflow, kPageBytes, 100, 0));
    EXPECT_FALSE(seen(0, OutputPlace::overflow, 100, 100, 0)) << "no page begins there";
    EXPECT_FALSE(seen(0, OutputPlace::overflow, 0, kHuge, 2)) << "the sum wraps";
    EXPECT_FALSE(seen(0, OutputPlace::overflow, 2 * kPageBytes, 100, 0)) << "behind the file's end";
    EXPECT_FALSE(seen(0, OutputPlace::overflow, kPageBytes, kPageBytes + 1, 0))
        << "reaches behind the file's end: reading it would be SIGBUS";
}

INSTANTIATE_TEST_SUITE_P(both, OutputReaders, testing::Bool(), [](const auto &tested) {
    return tested.param ? "mirrored" : "unmirrored";
});

} // namespace
} // namespace gristmill::store
