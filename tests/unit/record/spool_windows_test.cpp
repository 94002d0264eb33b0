// Windows of the spool: the bytes of the file, wherever they lie, with padding behind them.
#include "record/spool_windows.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gristmill/plugin.h>

#include "base/bytes.hpp"
#include "os/fd_io.hpp"
#include "os/memory.hpp"

namespace gristmill::record {
namespace {

class SpoolWindowsTest : public testing::Test {
  protected:
    void put(std::uint64_t offset, std::string_view bytes) {
        ASSERT_TRUE(os::grow_memfd(fd_.get(), offset + bytes.size() + kPageBytes).ok());
        ASSERT_EQ(os::pwrite_full(fd_.get(), bytes_of(bytes), offset), 0);
    }
    std::string found(std::uint64_t offset, std::uint64_t bytes) {
        const std::byte *data = windows_.find(fd_.get(), offset, bytes);
        if (!data)
            return "not there";
        volatile std::byte padding{}; // readable, whatever it is
        for (std::uint64_t i = 0; i < GM_BATCH_PADDING; ++i)
            padding = data[bytes + i];
        static_cast<void>(padding);
        return {reinterpret_cast<const char *>(data), bytes};
    }

    os::UniqueFd fd_ = std::move(os::create_memfd("spool-windows-test", 0).value());
    SpoolWindows windows_;
};

TEST_F(SpoolWindowsTest, show_the_bytes_of_the_file) {
    put(0, "first");
    put(12'345, "second");
    EXPECT_EQ(found(0, 5), "first");
    EXPECT_EQ(found(12'345, 6), "second");
}

TEST_F(SpoolWindowsTest, show_what_is_written_later_to_the_same_place_and_to_a_longer_file) {
    put(0, "first");
    EXPECT_EQ(found(0, 5), "first");
    put(0, "later");
    EXPECT_EQ(found(0, 5), "later");
    put(20 * kMiB, "behind");
    EXPECT_EQ(found(20 * kMiB, 6), "behind");
}

TEST_F(SpoolWindowsTest, show_what_crosses_from_one_window_to_the_next) {
    for (const std::uint64_t border : {32 * kMiB, 64 * kMiB, 320 * kMiB})
        for (const std::uint64_t before : {std::uint64_t{1}, std::uint64_t{3}, 4 * kMiB}) {
            const std::string bytes = std::to_string(before) + std::string(8 * kMiB - 100, 'x') + "y";
            put(border - before, bytes);
            EXPECT_EQ(found(border - before, bytes.size()) == bytes, true) << border << " " << before;
        }
}

TEST_F(SpoolWindowsTest, refuse_what_is_longer_than_a_window) {
    ASSERT_TRUE(os::grow_memfd(fd_.get(), 200 * kMiB).ok());
    EXPECT_EQ(found(0, 41 * kMiB), "not there");
    EXPECT_EQ(found(31 * kMiB, 9 * kMiB), "not there");
    EXPECT_NE(found(31 * kMiB, 8 * kMiB), "not there");
}

TEST_F(SpoolWindowsTest, cannot_be_written_to) {
    put(0, "first");
    const std::byte *data = windows_.find(fd_.get(), 0, 5);
    ASSERT_NE(data, nullptr);
    EXPECT_DEATH(const_cast<std::byte *>(data)[0] = std::byte{'F'}, "");
}

TEST_F(SpoolWindowsTest, leave_a_limited_address_space_to_others) {
    put(0, "first");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        struct rlimit limit {};
        ::getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? rlim_t{1} << 46 : limit.rlim_max;
        if (::setrlimit(RLIMIT_AS, &limit) != 0)
            ::_exit(2);
        SpoolWindows limited;
        ::_exit(limited.find(fd_.get(), 0, 5) ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

} // namespace
} // namespace gristmill::record
