#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "os/fd_io.hpp"
#include "support/test_file.hpp"

namespace gristmill::os {
namespace {

std::string read(int fd, std::size_t bytes, std::uint64_t offset, std::uint64_t limit) {
    std::string buffer(bytes, '?');
    const std::int64_t got =
        pread_full(fd, {reinterpret_cast<std::byte *>(buffer.data()), bytes}, offset, limit);
    return got < 0 ? "error" : buffer.substr(0, std::size_t(got));
}

TEST(FdIo, reads_to_the_end_in_any_steps) {
    const test::MemoryFile file("0123456789");
    for (const std::uint64_t limit : {0, 1, 3, 100}) {
        EXPECT_EQ(read(file.fd(), 5, 2, limit), "23456");
        EXPECT_EQ(read(file.fd(), 50, 7, limit), "789");
        EXPECT_EQ(read(file.fd(), 5, 100, limit), "");
        EXPECT_EQ(read(file.fd(), 0, 0, limit), "");
    }
    EXPECT_EQ(read(-1, 5, 0, 0), "error");
    EXPECT_EQ(errno, EBADF);
}

// A non-blocking socket takes a part at a time: the rest waits for room, without spinning.
TEST(FdIo, writes_all_of_it_even_where_it_does_not_fit_at_once) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    const UniqueFd near(pair[0]);
    UniqueFd far(pair[1]);
    ASSERT_EQ(::fcntl(far.get(), F_SETFL, 0), 0);
    const std::string text(3'000'000, 'x');
    std::size_t seen = 0;
    std::thread reader([&] {
        std::vector<char> buffer(65536);
        for (ssize_t got = 1; got > 0 && seen < text.size(); seen += std::size_t(got))
            got = ::read(far.get(), buffer.data(), buffer.size());
    });
    EXPECT_EQ(write_full(near.get(), bytes_of(text)), 0);
    reader.join();
    EXPECT_EQ(seen, text.size());
    EXPECT_EQ(write_full(-1, bytes_of("x")), EBADF);
    EXPECT_EQ(write_full(-1, {}), 0);
}

TEST(FdIo, knows_what_it_opened) {
    const test::TestFolder folder;
    const auto facts = [](const std::string &path) {
        const UniqueFd fd = open_for_reading(path).value();
        return file_facts(fd.get(), path).value();
    };
    EXPECT_TRUE(facts(folder.write("file", "12345")).regular);
    EXPECT_EQ(facts(folder.file("file")).bytes, 5u);
    EXPECT_FALSE(facts(folder.file("file")).pseudo);
    EXPECT_TRUE(facts(folder.path()).directory);
    EXPECT_TRUE(facts("/proc/self/stat").pseudo);
    EXPECT_FALSE(facts("/dev/null").regular);
    EXPECT_FALSE(file_facts(-1, "nothing"));
}

TEST(FdIo, descriptors_are_not_inherited) {
    const UniqueFd fd = open_for_reading("/dev/null").value();
    EXPECT_TRUE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC);
}

TEST(UniqueFd, closes_once) {
    UniqueFd first(::open("/dev/null", O_RDONLY));
    const int number = first.get();
    UniqueFd second(std::move(first));
    EXPECT_FALSE(first.valid());
    EXPECT_EQ(second.get(), number);
    UniqueFd &alias = second;
    second = std::move(alias);
    EXPECT_GE(::fcntl(number, F_GETFD), 0) << "moving onto itself keeps it";
    const int released = second.release();
    EXPECT_EQ(released, number);
    second.reset(released);
    errno = 77;
    second.reset();
    EXPECT_EQ(errno, 77) << "errno is left as it was";
    EXPECT_LT(::fcntl(number, F_GETFD), 0);
}

} // namespace
} // namespace gristmill::os
