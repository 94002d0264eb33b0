// Paths that are no ordinary files, or no files at all.
#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

namespace fs = std::filesystem;

class OddPath : public ::testing::Test {
  protected:
    // Alone, and as the second of three.
    void expect_error(const std::string &path, int os_errno) {
        for (const Crew &crew : {Crew{0, "1"}, Crew{2, "1"}})
            for (const Way way : {Way::map, Way::run})
                for (const std::vector<std::string> &paths :
                     {std::vector<std::string>{path}, {good_, path, good_}}) {
                    const Error error =
                        failing(engines_.get(crew), way, bundled("identity"), paths, {});
                    EXPECT_EQ(error.kind, ErrorKind::source) << error.message;
                    EXPECT_EQ(error.os_errno, os_errno) << error.message;
                    EXPECT_EQ(error.path, path);
                    EXPECT_NE(error.message.find(path), std::string::npos) << error.message;
                }
    }

    void expect_contents(const std::string &path, const std::string &bytes) {
        for (const Crew &crew : {Crew{0, "1"}, Crew{2, "@2"}})
            for (RunOptions options : {RunOptions{}, with_batch_bytes(64), with_batch_records(3)}) {
                const Outcome outcome =
                    complete(engines_.get(crew), Way::map, bundled("identity"), {path}, options);
                EXPECT_EQ(outcome.bytes, bytes) << path;
                EXPECT_EQ(outcome.records, split(bytes)) << path;
            }
    }

    const Scratch scratch_;
    const std::string good_ = scratch_.write("good", "fine\n");
    EnginePool engines_;
};

TEST_F(OddPath, Missing) { expect_error(scratch_.path("missing"), ENOENT); }
TEST_F(OddPath, Nameless) { expect_error("", ENOENT); }
TEST_F(OddPath, Directory) { expect_error(scratch_.folder(), EISDIR); }
TEST_F(OddPath, BelowAFile) { expect_error(good_ + "/below", ENOTDIR); }
TEST_F(OddPath, NameTooLong) { expect_error(scratch_.path(std::string(256, 'n')), ENAMETOOLONG); }

TEST_F(OddPath, DanglingLink) {
    fs::create_symlink("nowhere", scratch_.path("link"));
    expect_error(scratch_.path("link"), ENOENT);
}

TEST_F(OddPath, LoopOfLinks) {
    fs::create_symlink("two", scratch_.path("one"));
    fs::create_symlink("one", scratch_.path("two"));
    expect_error(scratch_.path("one"), ELOOP);
}

TEST_F(OddPath, LinkToAFile) {
    fs::create_symlink("good", scratch_.path("link"));
    expect_contents(scratch_.path("link"), "fine\n");
    expect_contents(scratch_.path("./link"), "fine\n");
}

// Root reads everything, so a child gives up being root.
TEST_F(OddPath, Unreadable) {
    const std::string secret = scratch_.write("secret", "secret\n");
    fs::permissions(scratch_.folder(), fs::perms::all);
    ASSERT_EQ(::chmod(secret.c_str(), 0), 0);
    const PluginSpec plugin{scratch_.path("identity.so")}; // where everybody may read it
    fs::copy_file(bundled("identity").path, plugin.path);
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (::geteuid() != 0) {
        expect_error(secret, EACCES);
        return;
    }
    EXPECT_EXIT(
        {
            const bool changed = ::setgid(65534) == 0 && ::setuid(65534) == 0;
            Engine engine = make_engine({2, "1"});
            // Nobody may look into a process that has changed its user: its workers cannot either.
            RunOptions options;
            const Result<Results> refused = engine.map(plugin, {good_, secret}, options);
            const bool says_why =
                !refused.ok() &&
                (refused.error().path == secret ||
                 refused.error().message.find("isolation='thread'") != std::string::npos);
            options.isolation = Isolation::thread;
            const Result<Results> results = engine.map(plugin, {good_, secret}, options);
            const bool named = !results.ok() && results.error().os_errno == EACCES &&
                               results.error().path == secret;
            std::_Exit(changed && says_why && named ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

// What is no regular file is refused by name in this version; opening a FIFO must not hang.
TEST_F(OddPath, ADeviceWithoutBytes) { expect_contents("/dev/null", ""); }

// Files whose size is said to be 0, or a page, and is neither.
TEST_F(OddPath, FilesOfTheKernel) {
    int checked = 0;
    for (const char *path :
         {"/proc/version", "/proc/filesystems", "/proc/self/limits",
          "/sys/kernel/mm/transparent_hugepage/enabled", "/proc/sys/kernel/ostype"}) {
        std::error_code missing;
        if (!fs::exists(path, missing))
            continue;
        expect_contents(path, read_file(path));
        ++checked;
    }
    EXPECT_GT(checked, 0);
}

// These change as they are read; their structure does not.
TEST_F(OddPath, FilesOfTheKernelThatChange) {
    Engine &engine = engines_.get({2, "1"});
    const auto keys = [](const std::string &bytes) {
        std::string all;
        for (const std::string &line : split(bytes))
            all += line.substr(0, line.find_first_of(":\t")) + "\n";
        return all;
    };
    for (const char *path : {"/proc/self/status", "/proc/cpuinfo", "/proc/meminfo"}) {
        const Outcome outcome = complete(engine, Way::map, bundled("identity"), {path}, {});
        EXPECT_EQ(keys(outcome.bytes), keys(read_file(path)));
        EXPECT_FALSE(outcome.bytes.empty());
    }
}

} // namespace
} // namespace gristmill::e2e
