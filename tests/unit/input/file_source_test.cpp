#include <cerrno>
#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "input/file_source.hpp"
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

TEST(FileSource, a_regular_file_as_it_is) {
    const test::TestFolder folder;
    const auto source = open_file_source(folder.write("file", "one\ntwo"));
    ASSERT_TRUE(source);
    EXPECT_EQ(source->bytes, 7u);
    EXPECT_EQ(content(*source), "one\ntwo");
}

TEST(FileSource, an_empty_file_has_no_bytes) {
    const test::TestFolder folder;
    const auto source = open_file_source(folder.write("file", ""));
    ASSERT_TRUE(source);
    EXPECT_EQ(source->bytes, 0u);
}

TEST(FileSource, procfs_is_read_to_its_end_whatever_its_size_says) {
    const auto source = open_file_source("/proc/self/status");
    ASSERT_TRUE(source);
    EXPECT_GT(source->bytes, 100u);
    EXPECT_TRUE(content(*source).starts_with("Name:"));
}

TEST(FileSource, what_is_no_file_is_refused) {
    const test::TestFolder folder;
    const auto missing = open_file_source(folder.file("missing"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::source);
    EXPECT_EQ(missing.error().os_errno, ENOENT);
    EXPECT_EQ(missing.error().path, folder.file("missing"));
    const auto directory = open_file_source(folder.path());
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().os_errno, EISDIR);
    ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
    const auto fifo = open_file_source(folder.file("fifo"));
    ASSERT_FALSE(fifo) << "and it does not wait for a writer";
    EXPECT_EQ(fifo.error().kind, ErrorKind::unsupported);
    EXPECT_FALSE(open_file_source("/dev/null"));
}

} // namespace
} // namespace gristmill::input
