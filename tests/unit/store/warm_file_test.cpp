// Where a worker may write in place: in what is warm, within one window, and nowhere else.
#include <cstring>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "os/fd_io.hpp"
#include "store/collection_file.hpp"
#include "store/warm_file.hpp"
#include "support/random.hpp"

namespace gristmill::store {
namespace {

constexpr std::uint64_t kWindow = kCollectionWindowBytes;

// A file of that size, of which the memory comes when somebody needs it.
struct Warm {
    explicit Warm(std::uint64_t bytes) {
        EXPECT_EQ(::ftruncate(file.fd(), off_t(bytes)), 0);
        mine.set_warm_bytes(bytes);
    }
    std::uint64_t resident() const {
        struct stat facts {};
        EXPECT_EQ(::fstat(file.fd(), &facts), 0);
        return static_cast<std::uint64_t>(facts.st_blocks) * 512;
    }
    bool has_room(std::uint64_t offset, std::uint64_t wanted) {
        return mine.room(offset, wanted).data != nullptr;
    }

    CollectionFile file = std::move(CollectionFile::create().value());
    WarmFile mine{file.id(), os::UniqueFd(::dup(file.fd()))};
};

TEST(WarmFile, nothing_is_warm_at_first) {
    CollectionFile file = std::move(CollectionFile::create().value());
    WarmFile mine(file.id(), os::UniqueFd(::dup(file.fd())));
    EXPECT_EQ(mine.room(0, 1).data, nullptr);
    EXPECT_EQ(mine.id(), file.id());
}

TEST(WarmFile, room_is_what_is_warm_and_not_more) {
    Warm warm(10 * kMiB);
    constexpr std::uint64_t huge = ~std::uint64_t{0};
    EXPECT_TRUE(warm.has_room(0, 1));
    EXPECT_TRUE(warm.has_room(0, 10 * kMiB));
    EXPECT_TRUE(warm.has_room(10 * kMiB - 1, 1));
    EXPECT_FALSE(warm.has_room(0, 10 * kMiB + 1));
    EXPECT_FALSE(warm.has_room(10 * kMiB - 1, 2));
    EXPECT_FALSE(warm.has_room(10 * kMiB, 1));
    EXPECT_FALSE(warm.has_room(10 * kMiB + 1, 1));
    EXPECT_FALSE(warm.has_room(1, huge));
    EXPECT_FALSE(warm.has_room(huge, 1));
    EXPECT_FALSE(warm.has_room(huge - 1, huge - 1));
}

// The last page is not all warm: it is left alone.
TEST(WarmFile, only_whole_pages_are_written_in_place) {
    Warm warm(3 * kPageBytes + 100);
    EXPECT_FALSE(warm.has_room(0, 3 * kPageBytes + 1));
    const WarmFile::Room room = warm.mine.room(0, 1);
    ASSERT_NE(room.data, nullptr);
    EXPECT_EQ(room.bytes, 3 * kPageBytes);
}

TEST(WarmFile, what_is_stored_lies_in_the_file) {
    Warm warm(2 * kWindow);
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{4711}, kWindow - 10, kWindow,
                                       2 * kWindow - 10}) {
        const WarmFile::Room room = warm.mine.room(offset, 10);
        ASSERT_NE(room.data, nullptr) << offset;
        ASSERT_GE(room.bytes, 10u);
        std::memcpy(room.data, "0123456789", 10);
        std::string found(10, '\0');
        os::pread_full(warm.file.fd(), {reinterpret_cast<std::byte *>(found.data()), 10}, offset);
        EXPECT_EQ(found, "0123456789") << offset;
    }
}

TEST(WarmFile, no_room_crosses_a_border_of_windows) {
    Warm warm(2 * kWindow);
    EXPECT_TRUE(warm.has_room(0, kWindow));
    EXPECT_FALSE(warm.has_room(0, kWindow + 1));
    EXPECT_FALSE(warm.has_room(kWindow - 5, 6));
    const WarmFile::Room last = warm.mine.room(kWindow - 5, 5);
    ASSERT_NE(last.data, nullptr);
    EXPECT_EQ(last.bytes, 5u);
    EXPECT_TRUE(warm.has_room(kWindow, kWindow));
}

TEST(WarmFile, room_has_memory_before_it_is_stored_to_and_little_more_than_is_wanted) {
    Warm warm(kWindow);
    const WarmFile::Room room = warm.mine.room(5 * kMiB + 10, 100'000);
    ASSERT_NE(room.data, nullptr);
    EXPECT_GE(warm.resident(), 100'000u);
    EXPECT_LE(warm.resident(), 2 * kMiB);
    EXPECT_LE(room.bytes, warm.resident());
    const std::uint64_t before = warm.resident();
    std::memset(room.data, 'x', room.bytes);
    EXPECT_EQ(warm.resident(), before);
}

TEST(WarmFile, room_goes_on_where_the_room_before_ended) {
    Warm warm(kWindow);
    std::byte *const first = warm.mine.room(0, 1).data;
    ASSERT_NE(first, nullptr);
    constexpr std::uint64_t step = 300'000;
    std::uint64_t offset = 0;
    for (; offset + step <= kWindow; offset += step)
        ASSERT_EQ(warm.mine.room(offset, step).data, first + offset) << "one mapping";
    EXPECT_GE(warm.resident(), offset);
    EXPECT_EQ(warm.mine.room(0, kWindow).bytes, kWindow) << "from the beginning again";
}

TEST(WarmFile, a_run_that_begins_anew_or_further_on_has_what_it_needs) {
    const test::SeedRange seeds(20);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        Warm warm(2 * kWindow);
        for (int run = 0; run < 6; ++run) {
            const std::uint64_t bytes = random.between(1, 2 * kWindow);
            warm.mine.set_warm_bytes(bytes);
            std::uint64_t offset = random.below(bytes);
            for (int batch = 0; batch < 30 && offset < bytes; ++batch) {
                const std::uint64_t wanted = random.between(1, 3'000'000);
                const WarmFile::Room room = warm.mine.room(offset, wanted);
                if (room.data) {
                    ASSERT_GE(room.bytes, wanted) << test::replay(seed);
                    ASSERT_LE(offset + room.bytes, bytes) << test::replay(seed);
                    ASSERT_LE(offset % kWindow + room.bytes, kWindow) << test::replay(seed);
                    const std::uint64_t before = warm.resident();
                    room.data[0] = room.data[room.bytes - 1] = std::byte{1};
                    ASSERT_EQ(warm.resident(), before) << test::replay(seed);
                }
                offset += wanted;
            }
        }
    }
}

TEST(WarmFile, a_file_that_is_none_has_no_room) {
    WarmFile none(1, os::UniqueFd());
    none.set_warm_bytes(kWindow);
    EXPECT_EQ(none.room(0, 1).data, nullptr);
    EXPECT_EQ(none.room(0, 1).data, nullptr);
}

// Said to be warm, and not there: the kernel cannot make the pages present.
TEST(WarmFile, a_file_that_is_shorter_than_it_was_said_to_be_has_no_room_there) {
    Warm warm(kMiB);
    warm.mine.set_warm_bytes(8 * kMiB);
    EXPECT_EQ(warm.mine.room(4 * kMiB, 1).data, nullptr);
    EXPECT_EQ(warm.mine.room(4 * kMiB, 1).data, nullptr) << "nor the second time";
    ASSERT_EQ(::ftruncate(warm.file.fd(), off_t(8 * kMiB)), 0);
    EXPECT_NE(warm.mine.room(4 * kMiB, 1).data, nullptr);
}

} // namespace
} // namespace gristmill::store
