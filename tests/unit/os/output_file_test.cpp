// A file appears under its name only when it is whole.
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "os/output_file.hpp"
#include "support/test_file.hpp"

namespace gristmill::os {
namespace {

using test::TestFolder;

void expect_written(const std::string &path, const std::string &content) {
    Result<OutputFile> file = OutputFile::create(path);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->write(bytes_of(content)));
    ASSERT_TRUE(file->commit());
    EXPECT_EQ(TestFolder::read(path), content);
}

unsigned mode_of(const std::string &path) {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777 : 0;
}

TEST(OutputFile, appears_at_commit) {
    const TestFolder folder;
    const std::string path = folder.file("out");
    Result<OutputFile> file = OutputFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(bytes_of("some ")));
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(file->write(bytes_of("text")));
    ASSERT_TRUE(file->commit());
    EXPECT_EQ(TestFolder::read(path), "some text");
    EXPECT_EQ(folder.files(), 1);
}

TEST(OutputFile, leaves_nothing_without_commit) {
    const TestFolder folder;
    const std::string path = folder.write("out", "old");
    {
        Result<OutputFile> file = OutputFile::create(path);
        ASSERT_TRUE(file);
        ASSERT_TRUE(file->write(bytes_of("new and incomplete")));
        const OutputFile moved = std::move(*file);
    }
    EXPECT_EQ(TestFolder::read(path), "old");
    EXPECT_EQ(folder.files(), 1);
}

TEST(OutputFile, replaces_and_keeps_the_mode) {
    const TestFolder folder;
    const std::string path = folder.write("out", "old");
    ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
    expect_written(path, "new");
    EXPECT_EQ(mode_of(path), 0640u);
    EXPECT_EQ(folder.files(), 1);
}

TEST(OutputFile, a_new_file_has_the_usual_mode) {
    const TestFolder folder;
    const mode_t before = ::umask(027);
    expect_written(folder.file("out"), "text");
    ::umask(before);
    EXPECT_EQ(mode_of(folder.file("out")), 0640u);
}

TEST(OutputFile, follows_links_and_leaves_them) {
    const TestFolder folder;
    std::filesystem::create_directory(folder.file("there"));
    ASSERT_EQ(::symlink("there/target", folder.file("link").c_str()), 0);
    ASSERT_EQ(::symlink("link", folder.file("link2").c_str()), 0);
    expect_written(folder.file("link2"), "first"); // the target does not exist yet
    expect_written(folder.file("link"), "second");
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
    EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link2")));
    EXPECT_EQ(TestFolder::read(folder.file("there/target")), "second");
}

TEST(OutputFile, devices_and_fifos_are_written_in_place) {
    expect_written("/dev/null", "");
    struct stat facts {};
    ASSERT_EQ(::stat("/dev/null", &facts), 0);
    EXPECT_TRUE(S_ISCHR(facts.st_mode)) << "and not replaced";
    const TestFolder folder;
    const std::string path = folder.file("fifo");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::string seen;
    std::thread reader([&] { seen = TestFolder::read(path); });
    {
        Result<OutputFile> file = OutputFile::create(path);
        ASSERT_TRUE(file);
        EXPECT_TRUE(file->write(bytes_of("through the pipe")));
        EXPECT_TRUE(file->commit());
    }
    reader.join();
    EXPECT_EQ(seen, "through the pipe");
    EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST(OutputFile, an_adopted_descriptor_stays_open_and_goes_on_at_its_position) {
    const TestFolder folder;
    const std::string path = folder.write("out", "0123456789");
    const UniqueFd fd(::open(path.c_str(), O_WRONLY));
    ASSERT_EQ(::lseek(fd.get(), 3, SEEK_SET), 3);
    {
        Result<OutputFile> file = OutputFile::adopt(fd.get());
        ASSERT_TRUE(file);
        EXPECT_TRUE(file->write(bytes_of("abc")));
        EXPECT_TRUE(file->commit());
    }
    EXPECT_EQ(::lseek(fd.get(), 0, SEEK_CUR), 6);
    EXPECT_EQ(TestFolder::read(path), "012abc6789");
    EXPECT_FALSE(OutputFile::adopt(-1));
}

TEST(OutputFile, what_cannot_be_written_is_an_error_at_once) {
    const TestFolder folder;
    const auto kind = [](const std::string &path) {
        const Result<OutputFile> file = OutputFile::create(path);
        return file ? std::pair(ErrorKind::system, 0)
                    : std::pair(file.error().kind, file.error().os_errno);
    };
    EXPECT_EQ(kind(folder.path()), std::pair(ErrorKind::output, EISDIR));
    EXPECT_EQ(kind(folder.file("no/such/folder")), std::pair(ErrorKind::output, ENOENT));
    EXPECT_EQ(kind(""), std::pair(ErrorKind::output, ENOENT));
    EXPECT_EQ(kind(folder.write("file", "") + "/below"), std::pair(ErrorKind::output, ENOTDIR));
}

TEST(OutputFile, a_full_disk_is_an_error_when_it_is_met) {
    Result<OutputFile> full = OutputFile::create("/dev/full");
    if (!full)
        GTEST_SKIP() << "no /dev/full here";
    const Result<void> written = full->write(bytes_of("text"));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().os_errno, ENOSPC);
}

TEST(OutputFile, many_in_one_folder_do_not_meet) {
    const TestFolder folder;
    std::vector<OutputFile> files;
    for (int i = 0; i < 20; ++i) {
        files.push_back(std::move(OutputFile::create(folder.file("same")).value()));
        ASSERT_TRUE(files.back().write(bytes_of(std::to_string(i))));
    }
    for (OutputFile &file : files)
        ASSERT_TRUE(file.commit());
    EXPECT_EQ(TestFolder::read(folder.file("same")), "19");
    EXPECT_EQ(folder.files(), 1);
}

} // namespace
} // namespace gristmill::os
