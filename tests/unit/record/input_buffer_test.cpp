#include <cstring>

#include <gtest/gtest.h>

#include "record/input_buffer.hpp"

namespace gristmill::record {
namespace {

TEST(InputBuffer, grows_by_doubling_and_keeps_what_is_used) {
    InputBuffer buffer;
    EXPECT_EQ(buffer.capacity(), 0u);
    ASSERT_TRUE(buffer.grow(10, 0));
    EXPECT_GE(buffer.capacity(), 10u);
    std::memcpy(buffer.data(), "0123456789", 10);
    const std::uint64_t before = buffer.capacity();
    ASSERT_TRUE(buffer.grow(before + 1, 10));
    EXPECT_GE(buffer.capacity(), 2 * before);
    EXPECT_EQ(std::memcmp(buffer.data(), "0123456789", 10), 0);
    const std::byte *data = buffer.data();
    ASSERT_TRUE(buffer.grow(10, 10));
    EXPECT_EQ(buffer.data(), data) << "never shrinks";
}

TEST(InputBuffer, is_padded) {
    InputBuffer buffer;
    for (const std::uint64_t bytes : {1u, 4032u, 4033u, 4096u, 1'000'000u}) {
        ASSERT_TRUE(buffer.grow(bytes, 0));
        for (unsigned i = 0; i < GM_BATCH_PADDING; ++i)
            buffer.data()[buffer.capacity() + i] = std::byte{1};
    }
}

TEST(InputBuffer, keep_gives_memory_back_behind_the_kept_bytes) {
    InputBuffer buffer;
    ASSERT_TRUE(buffer.grow(1'000'000, 0));
    std::memset(buffer.data(), 'x', 1'000'000);
    buffer.keep(100'000);
    EXPECT_EQ(buffer.data()[99'999], std::byte{'x'});
    EXPECT_EQ(buffer.data()[200'000], std::byte{0}) << "reads as zero when it was given back";
    ASSERT_TRUE(buffer.grow(1'000'000, 100'000));
    EXPECT_EQ(buffer.data()[50'000], std::byte{'x'});
}

TEST(InputBuffer, too_much_is_an_error_and_leaves_the_buffer) {
    InputBuffer buffer;
    ASSERT_TRUE(buffer.grow(10, 0));
    buffer.data()[3] = std::byte{'x'};
    EXPECT_FALSE(buffer.grow(std::uint64_t{1} << 60, 10));
    EXPECT_EQ(buffer.data()[3], std::byte{'x'});
}

} // namespace
} // namespace gristmill::record
