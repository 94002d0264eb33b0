#include <cstring>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "os/memory.hpp"

namespace gristmill::os {
namespace {

std::uint64_t length(int fd) {
    struct stat facts {};
    return ::fstat(fd, &facts) == 0 ? std::uint64_t(facts.st_size) : 0;
}

TEST(Memory, anonymous_memory_is_zero_and_ours) {
    for (const Pages pages : {Pages::normal, Pages::huge}) {
        Result<Mapping> mapping = map_anonymous(10'000, pages);
        ASSERT_TRUE(mapping);
        EXPECT_GE(mapping->bytes(), 10'000u);
        for (std::uint64_t i = 0; i < mapping->bytes(); i += 1000)
            EXPECT_EQ(mapping->data()[i], std::byte{0});
        std::memset(mapping->data(), 'x', 10'000);
    }
    Result<Mapping> huge = map_anonymous(1, Pages::huge);
    ASSERT_TRUE(huge);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(huge->data()) % kHugePageBytes, 0u);
    EXPECT_FALSE(map_anonymous(std::uint64_t{1} << 60, Pages::normal));
}

TEST(Memory, mappings_move) {
    Mapping first = map_anonymous(100, Pages::normal).value();
    std::byte *data = first.data();
    Mapping second = std::move(first);
    EXPECT_EQ(second.data(), data);
    EXPECT_EQ(first.data(), nullptr);
    second = map_anonymous(200, Pages::normal).value();
    EXPECT_NE(second.data(), nullptr);
}

TEST(Memory, discarded_pages_read_as_zero) {
    Mapping mapping = map_anonymous(4 * kPageBytes, Pages::normal).value();
    std::memset(mapping.data(), 'x', mapping.bytes());
    discard_pages({mapping.data() + 1, 3 * kPageBytes}); // whole pages within: the second, third
    EXPECT_EQ(mapping.data()[kPageBytes - 1], std::byte{'x'});
    EXPECT_EQ(mapping.data()[kPageBytes], std::byte{0});
    EXPECT_EQ(mapping.data()[3 * kPageBytes - 1], std::byte{0});
    EXPECT_EQ(mapping.data()[3 * kPageBytes], std::byte{'x'});
}

TEST(Memory, a_memfd_grows_and_never_shrinks) {
    Result<UniqueFd> fd = create_memfd("test", 100);
    ASSERT_TRUE(fd);
    EXPECT_EQ(length(fd->get()), 100u);
    ASSERT_TRUE(grow_memfd(fd->get(), 10'000));
    EXPECT_EQ(length(fd->get()), 10'000u);
    ASSERT_TRUE(grow_memfd(fd->get(), 50)) << "it is at least so long";
    EXPECT_EQ(length(fd->get()), 10'000u);
    EXPECT_LT(::ftruncate(fd->get(), 50), 0) << "sealed";
}

TEST(Memory, shared_mappings_see_each_other) {
    Result<UniqueFd> fd = create_memfd("test", 3 * kPageBytes);
    ASSERT_TRUE(fd);
    Mapping whole = map_shared(fd->get(), 0, 3 * kPageBytes).value();
    Mapping second = map_shared(fd->get(), kPageBytes, 100).value();
    whole.data()[kPageBytes + 5] = std::byte{7};
    EXPECT_EQ(second.data()[5], std::byte{7});
    EXPECT_TRUE(punch_hole(fd->get(), kPageBytes, kPageBytes));
    EXPECT_EQ(second.data()[5], std::byte{0});
    whole.data()[10] = std::byte{8};
    EXPECT_TRUE(punch_hole(fd->get(), 5, 100)) << "no whole page: nothing to do";
    EXPECT_EQ(whole.data()[10], std::byte{8});
}

TEST(Memory, a_mirror_shows_every_byte_twice) {
    Result<UniqueFd> fd = create_memfd("test", 2 * kPageBytes);
    ASSERT_TRUE(fd);
    Mapping ring = map_mirrored(fd->get(), 2 * kPageBytes).value();
    EXPECT_EQ(ring.bytes(), 4 * kPageBytes);
    const std::string text = "across the end";
    std::memcpy(ring.data() + 2 * kPageBytes - 5, text.data(), text.size());
    EXPECT_EQ(std::memcmp(ring.data(), text.data() + 5, text.size() - 5), 0);
    EXPECT_EQ(std::memcmp(ring.data() + 2 * kPageBytes, text.data() + 5, text.size() - 5), 0);
}

TEST(Memory, there_is_some) { EXPECT_GT(available_memory_bytes(), 0u); }

} // namespace
} // namespace gristmill::os
