// Where output goes, and what is left when it cannot go there.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

namespace fs = std::filesystem;

OutputTarget to(const std::string &path) { return {OutputTarget::Kind::path, path, -1}; }

class Output : public ::testing::Test {
  protected:
    Result<RunOutcome> run(const OutputTarget &target, const RunOptions &options = {},
                           const std::string &plugin = "identity") {
        const PluginSpec spec = plugin == "identity" ? bundled(plugin) : test_plugin(plugin);
        return engines_.get({2, "1"}).run(spec, {input_}, target, options);
    }

    void expect_error(const OutputTarget &target, int os_errno) {
        const Result<RunOutcome> ran = run(target);
        ASSERT_FALSE(ran.ok()) << target.path;
        EXPECT_EQ(ran.error().kind, ErrorKind::output);
        EXPECT_EQ(ran.error().os_errno, os_errno) << ran.error().message;
        EXPECT_EQ(ran.error().path, target.path);
        EXPECT_NE(ran.error().message.find(target.path), std::string::npos) << ran.error().message;
    }

    static std::string lines(std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i)
            text += "line " + std::to_string(i) + "\n";
        return text;
    }

    const Scratch scratch_;
    const Scratch outputs_;
    const std::string text_ = lines(20'000);
    const std::string input_ = scratch_.write("input", text_);
    EnginePool engines_;
};

TEST_F(Output, CannotBeWritten) {
    expect_error(to(outputs_.path("no/such/folder")), ENOENT);
    expect_error(to(outputs_.folder()), EISDIR);
    expect_error(to(outputs_.write("file", "x") + "/below"), ENOTDIR);
    expect_error(to(outputs_.path(std::string(300, 'n'))), ENAMETOOLONG);
    expect_error(to(""), ENOENT);
    EXPECT_EQ(outputs_.names(), std::vector<std::string>{"file"});
}

TEST_F(Output, CannotBeWrittenForLackOfPermission) {
    if (::geteuid() == 0)
        GTEST_SKIP() << "root may write everywhere";
    fs::permissions(outputs_.folder(), fs::perms::owner_read | fs::perms::owner_exec);
    expect_error(to(outputs_.path("out")), EACCES);
    fs::permissions(outputs_.folder(), fs::perms::owner_all);
}

TEST_F(Output, NowhereAndDevNull) {
    EXPECT_TRUE(run({}).ok());
    EXPECT_TRUE(run(to("/dev/null")).ok());
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Output, IntoADeviceThatIsFull) {
    expect_error(to("/dev/full"), ENOSPC);
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// A disk of one mebibyte, nearly full.
TEST_F(Output, IntoAFullDisk) {
    const std::string disk = outputs_.path("disk");
    fs::create_directory(disk);
    if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0)
        GTEST_SKIP() << "may not mount a small tmpfs: " << std::strerror(errno);
    const std::string old = disk + "/old";
    for (const std::size_t copies : {8, 800}) {
        std::string text;
        while (text.size() < copies * text_.size())
            text += text_;
        const std::string path = scratch_.write("much", text);
        for (const bool existing : {false, true}) {
            const std::string target = existing ? old : disk + "/new";
            if (existing) {
                ASSERT_TRUE(std::ofstream(old) << "as it was");
            }
            const Result<RunOutcome> ran =
                engines_.get({2, "1"}).run(bundled("identity"), {path}, to(target), {});
            ASSERT_FALSE(ran.ok());
            EXPECT_EQ(ran.error().kind, ErrorKind::output);
            EXPECT_EQ(ran.error().os_errno, ENOSPC) << ran.error().message;
            EXPECT_EQ(ran.error().path, target);
            EXPECT_EQ(names_in(disk),
                      existing ? std::vector<std::string>{"old"} : std::vector<std::string>{});
            if (existing) {
                EXPECT_EQ(read_file(old), "as it was");
                fs::remove(old);
            }
        }
    }
    EXPECT_EQ(::umount(disk.c_str()), 0) << "something still holds a file open there";
}

TEST_F(Output, FileAppearsOnlyWhenComplete) {
    const std::string target = outputs_.path("out");
    ASSERT_TRUE(run(to(target)).ok());
    EXPECT_EQ(read_file(target), text_);
    EXPECT_EQ(outputs_.names(), std::vector<std::string>{"out"});
    const std::string bad = scratch_.write("bad", text_ + "bad\n" + text_);
    for (const bool existing : {true, false}) {
        if (!existing)
            fs::remove(target);
        const Result<RunOutcome> ran =
            engines_.get({2, "1"}).run(test_plugin("picky"), {bad}, to(target), {});
        ASSERT_FALSE(ran.ok());
        EXPECT_EQ(ran.error().kind, ErrorKind::record);
        EXPECT_EQ(outputs_.names(),
                  existing ? std::vector<std::string>{"out"} : std::vector<std::string>{});
        if (existing) {
            EXPECT_EQ(read_file(target), text_);
        }
    }
}

TEST_F(Output, ReplacesAFileAndKeepsItsMode) {
    const std::string target = outputs_.write("out", std::string(1 << 20, 'o'));
    ASSERT_EQ(::chmod(target.c_str(), 0640), 0);
    ASSERT_TRUE(run(to(target)).ok());
    EXPECT_EQ(read_file(target), text_);
    struct stat facts {};
    ASSERT_EQ(::stat(target.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0640u);
}

// The umask holds for a new file.
TEST_F(Output, NewFileHasTheUsualMode) {
    const mode_t before = ::umask(027);
    const std::string target = outputs_.path("out");
    EXPECT_TRUE(run(to(target)).ok());
    ::umask(before);
    struct stat facts {};
    ASSERT_EQ(::stat(target.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0640u);
}

TEST_F(Output, FollowsLinks) {
    const std::string target = outputs_.write("target", "old");
    fs::create_symlink("target", outputs_.path("link"));
    fs::create_symlink("link", outputs_.path("link2"));
    ASSERT_TRUE(run(to(outputs_.path("link2"))).ok());
    EXPECT_TRUE(fs::is_symlink(outputs_.path("link")));
    EXPECT_TRUE(fs::is_symlink(outputs_.path("link2")));
    EXPECT_EQ(read_file(target), text_);
    fs::create_symlink("new", outputs_.path("dangling"));
    ASSERT_TRUE(run(to(outputs_.path("dangling"))).ok());
    EXPECT_EQ(read_file(outputs_.path("new")), text_);
    fs::create_symlink("loop", outputs_.path("loop"));
    expect_error(to(outputs_.path("loop")), ELOOP);
}

TEST_F(Output, MayBeTheInputItself) {
    const std::string both = outputs_.write("both", text_);
    const Result<RunOutcome> ran =
        engines_.get({2, "1"}).run(bundled("upper"), {both}, to(both), {});
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_EQ(read_file(both), upper(text_));
}

TEST_F(Output, IntoAFifo) {
    const std::string fifo = outputs_.path("fifo");
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::string got;
    std::thread reader([&] { got = read_file(fifo); });
    const Result<RunOutcome> ran = run(to(fifo));
    reader.join();
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_TRUE(got == text_);
    EXPECT_TRUE(fs::is_fifo(fifo));
}

// A descriptor is written from where it stands, and is still the caller's afterwards.
TEST_F(Output, IntoADescriptor) {
    const std::string path = outputs_.write("file", "0123456789");
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(::lseek(fd, 4, SEEK_SET), 4);
    ASSERT_TRUE(run({OutputTarget::Kind::descriptor, {}, fd}).ok());
    EXPECT_EQ(::lseek(fd, 0, SEEK_CUR), static_cast<off_t>(4 + text_.size()));
    EXPECT_EQ(::close(fd), 0);
    EXPECT_EQ(read_file(path), "0123" + text_);
}

TEST_F(Output, IntoADescriptorThatIsNotOpen) {
    const Result<RunOutcome> ran = run({OutputTarget::Kind::descriptor, {}, 12345});
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().kind, ErrorKind::output);
    EXPECT_EQ(ran.error().os_errno, EBADF);
    EXPECT_NE(ran.error().message.find("12345"), std::string::npos) << ran.error().message;
}

// Writes into a pipe whose reader has gone; whether that is an error as it should be.
bool pipe_error_is_reported(const std::string &input) {
    int ends[2];
    if (::pipe(ends) != 0)
        return false;
    ::close(ends[0]);
    Engine engine = make_engine({2, "1"});
    const Result<RunOutcome> ran = engine.run(
        bundled("identity"), {input}, {OutputTarget::Kind::descriptor, {}, ends[1]}, {});
    ::close(ends[1]);
    return !ran.ok() && ran.error().kind == ErrorKind::output && ran.error().os_errno == EPIPE;
}

TEST_F(Output, IntoAPipeThatNobodyReads) {
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    EXPECT_TRUE(pipe_error_is_reported(input_));
    EXPECT_EQ(std::signal(SIGPIPE, before), SIG_IGN) << "the disposition is the host's";
}

// Nor does the host die of it that has not thought of SIGPIPE.
TEST_F(Output, IntoAPipeThatNobodyReadsWithTheDefaultDisposition) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            std::signal(SIGPIPE, SIG_DFL);
            std::_Exit(pipe_error_is_reported(input_) ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(Output, ResultsCanBeWrittenLater) {
    const Result<Results> results =
        engines_.get({2, "1"}).map(bundled("identity"), {input_}, RunOptions{});
    ASSERT_TRUE(results.ok());
    EXPECT_TRUE(results->write(outputs_.path("out")).ok());
    EXPECT_EQ(read_file(outputs_.path("out")), text_);
    Result<void> failed = results->write(outputs_.path("no/such"));
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().kind, ErrorKind::output);
    Result<void> full = results->write("/dev/full");
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.error().os_errno, ENOSPC);
    EXPECT_EQ(outputs_.names(), std::vector<std::string>{"out"});
}

} // namespace
} // namespace gristmill::e2e
