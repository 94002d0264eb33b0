// What the kernel is asked about pages, and what it refuses. On any machine: where only one node is,
// all memory is its own.
#include <cerrno>
#include <cstring>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "os/memory.hpp"
#include "os/placement.hpp"

namespace gristmill::os {
namespace {

constexpr std::uint64_t kPages = 16;
constexpr std::uint64_t kBytes = kPages * kPageBytes;

int policy_of_this_thread() {
    int mode = -1;
    return ::syscall(SYS_get_mempolicy, &mode, nullptr, 0ul, nullptr, 0ul) == 0 ? mode : -1;
}

class Placement : public ::testing::Test {
  protected:
    void SetUp() override {
        std::memset(memory_.data(), 'x', kBytes);
        const auto node = node_of_page(memory_.data());
        if (!node)
            GTEST_SKIP() << "the kernel does not tell where pages lie";
        node_ = *node;
    }
    std::span<const std::byte> range() const { return {memory_.data(), kBytes}; }

    Mapping memory_ = std::move(map_anonymous(kBytes, Pages::normal).value());
    std::uint32_t node_ = 0;
};

TEST_F(Placement, an_audit_counts_the_pages_that_are_there) {
    const PageAudit own = audit_pages(range(), node_);
    EXPECT_EQ(own.bytes, kBytes);
    EXPECT_GE(own.local_bytes, kPageBytes);
    EXPECT_EQ(audit_pages(range(), 1023).bytes, kBytes);
    EXPECT_EQ(audit_pages(range(), 1023).local_bytes, 0u);
    EXPECT_EQ(audit_pages(range().subspan(5, 1), node_).bytes, kPageBytes) << "a part is its page";
    EXPECT_EQ(audit_pages(range().subspan(kPageBytes - 1, 2), node_).bytes, 2 * kPageBytes);
    EXPECT_EQ(audit_pages({}, node_).bytes, 0u);
    const Mapping untouched = std::move(map_anonymous(kBytes, Pages::normal).value());
    EXPECT_EQ(audit_pages({untouched.data(), kBytes}, node_).bytes, 0u);
    EXPECT_EQ(node_of_page(untouched.data()), std::nullopt);
    EXPECT_EQ(node_of_page(nullptr), std::nullopt);
}

TEST_F(Placement, of_a_long_range_so_many_pages_are_looked_at) {
    for (const std::uint64_t most : {1u, 2u, 3u, 5u, 16u, 100u}) {
        const std::uint64_t pages = audit_pages(range(), node_, most).bytes / kPageBytes;
        EXPECT_LE(pages, std::min(most, kPages));
        EXPECT_GE(2 * pages, std::min(most, kPages)) << most;
    }
    EXPECT_LE(audit_pages(range(), node_, 0).bytes, kPageBytes);
    EXPECT_LE(audit_pages(range().first(1), node_, 0).bytes, kPageBytes);
}

TEST_F(Placement, a_policy_is_that_of_the_thread_that_asked) {
    const int before = policy_of_this_thread();
    int refused = -1;
    int inside = -1;
    std::thread([&] {
        refused = prefer_memory_of(node_);
        inside = policy_of_this_thread();
    }).join();
    if (refused == EPERM || refused == ENOSYS)
        GTEST_SKIP() << "refused here: " << std::strerror(refused);
    EXPECT_EQ(refused, 0);
    EXPECT_EQ(inside, MPOL_PREFERRED);
    EXPECT_EQ(policy_of_this_thread(), before);
    EXPECT_EQ(placement_refused(node_), 0);
    EXPECT_EQ(policy_of_this_thread(), before) << "asking changes nothing";
}

TEST_F(Placement, shared_memory_is_taken_from_the_node) {
    const UniqueFd file = std::move(create_memfd("placed", kBytes).value());
    Mapping shared = std::move(map_shared(file.get(), 0, kBytes).value());
    const int refused = prefer_memory_of(node_, {shared.data(), kBytes});
    if (refused == EPERM || refused == ENOSYS)
        GTEST_SKIP() << "refused here: " << std::strerror(refused);
    ASSERT_EQ(refused, 0);
    std::memset(shared.data(), 'x', kBytes);
    EXPECT_EQ(audit_pages({shared.data(), kBytes}, node_).bytes, kBytes);
    EXPECT_GT(audit_pages({shared.data(), kBytes}, node_).local_bytes, 0u);
    EXPECT_NE(prefer_memory_of(node_, {shared.data() + 1, kPageBytes}), 0) << "not a page's beginning";
}

// 1023: the last that Linux could have. Beyond that there are none at all.
TEST_F(Placement, a_node_that_is_not_there_is_refused) {
    for (const std::uint32_t node : {1023u, 1024u, 5000u, ~0u}) {
        int refused = 0;
        std::thread([&] { refused = prefer_memory_of(node); }).join();
        EXPECT_NE(refused, 0) << node;
        EXPECT_NE(prefer_memory_of(node, {memory_.data(), kBytes}), 0) << node;
        EXPECT_NE(placement_refused(node), 0) << node;
    }
    EXPECT_EQ(*memory_.data(), std::byte{'x'});
}

} // namespace
} // namespace gristmill::os
