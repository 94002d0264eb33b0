#include <cerrno>
#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "input/open_source.hpp"
#include "os/fd_io.hpp"
#include "support/test_file.hpp"

namespace gristmill::input {
namespace {

std::string content(const FileSource &source) {
    std::string bytes(source.bytes, '\0');
    os::pread_full(source.fd.get(),
                   {reinterpret_cast<std::byte *>(bytes.data()), bytes.size()}, 0);
    return bytes;
}

TEST(OpenSource, a_regular_file_as_it_is) {
    const test::TestFolder folder;
    const auto opened = open_source(folder.write("file", "one\ntwo"));
    ASSERT_TRUE(opened && !opened->stream);
    EXPECT_EQ(opened->file.bytes, 7u);
    EXPECT_EQ(content(opened->file), "one\ntwo");
}

TEST(OpenSource, an_empty_file_has_no_bytes) {
    const test::TestFolder folder;
    const auto opened = open_source(folder.write("file", ""));
    ASSERT_TRUE(opened && !opened->stream);
    EXPECT_EQ(opened->file.bytes, 0u);
}

TEST(OpenSource, procfs_is_read_to_its_end_whatever_its_size_says) {
    const auto opened = open_source("/proc/self/status");
    ASSERT_TRUE(opened && !opened->stream);
    EXPECT_GT(opened->file.bytes, 100u);
    EXPECT_TRUE(content(opened->file).starts_with("Name:"));
}

TEST(OpenSource, what_is_no_file_is_refused) {
    const test::TestFolder folder;
    const auto missing = open_source(folder.file("missing"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::source);
    EXPECT_EQ(missing.error().os_errno, ENOENT);
    EXPECT_EQ(missing.error().path, folder.file("missing"));
    const auto directory = open_source(folder.path());
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().os_errno, EISDIR);
}

TEST(OpenSource, what_cannot_be_divided_is_streamed_and_never_waited_for) {
    const test::TestFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
    auto fifo = open_source(folder.file("fifo"));
    ASSERT_TRUE(fifo && fifo->stream);
    std::byte room[64];
    EXPECT_EQ(fifo->stream->read(room).got, ByteSource::Got::nothing_yet) << "nobody wrote yet";
    auto null = open_source("/dev/null");
    ASSERT_TRUE(null && null->stream);
    EXPECT_EQ(null->stream->read(room).got, ByteSource::Got::end);
}

} // namespace
} // namespace gristmill::input
