// Other programs over some bytes: neither side waits for the other for ever.
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "os/command.hpp"
#include "os/process.hpp"
#include "support/test_file.hpp"

namespace gristmill::os {
namespace {

struct Ran {
    CommandEnd end;
    std::string output;
};

Ran run(const std::string &script, const std::string &input = {},
        std::uint64_t output_max = ~std::uint64_t{0}, std::function<bool()> stop = {}) {
    Ran ran;
    std::vector<std::byte> room;
    CommandStreams streams;
    streams.input = bytes_of(input);
    streams.room = [&](std::uint64_t bytes) {
        room.resize(bytes);
        return ran.output.size() < output_max ? room.data() : nullptr;
    };
    streams.keep = [&](std::uint64_t bytes) { ran.output += text_of({room.data(), bytes}); };
    streams.stop = std::move(stop);
    Result<CommandEnd> end = run_command("/bin/sh", {"sh", "-c", script}, streams);
    EXPECT_TRUE(end.ok()) << end.error().message;
    if (end)
        ran.end = std::move(*end);
    return ran;
}

TEST(Command, gives_its_output) {
    const Ran ran = run("tr a-z A-Z", "hello\n");
    EXPECT_EQ(ran.output, "HELLO\n");
    EXPECT_EQ(ran.end.status, 0);
    EXPECT_EQ(ran.end.standard_error, "");
}

TEST(Command, reads_and_writes_at_once) {
    const std::string input(5'000'000, 'x'); // far beyond what pipes hold
    EXPECT_EQ(run("cat", input).output, input);
    EXPECT_EQ(run("cat; cat >&2", input).output, input);
}

TEST(Command, need_not_read_its_input) {
    const std::string input(5'000'000, 'x');
    const Ran ran = run("echo done", input);
    EXPECT_EQ(ran.output, "done\n");
    EXPECT_EQ(ran.end.status, 0);
    EXPECT_EQ(run("head -c 10", input).output, std::string(10, 'x'));
    EXPECT_EQ(run("exec <&-; echo closed", input).output, "closed\n");
}

TEST(Command, without_input_sees_the_end) { EXPECT_EQ(run("wc -c").output, "0\n"); }

TEST(Command, ends_as_it_ends) {
    EXPECT_EQ(describe_exit(run("exit 7").end.status), "exit status 7");
    EXPECT_EQ(describe_exit(run("kill -9 $$").end.status), "SIGKILL (Killed)");
    EXPECT_EQ(describe_exit(run("kill -SEGV $$").end.status), "SIGSEGV (Segmentation fault)");
}

TEST(Command, says_the_last_of_its_errors) {
    EXPECT_EQ(run("echo sorry >&2; exit 1").end.standard_error, "sorry\n");
    const Ran talkative = run("yes error | head -c 300000 >&2; echo the last >&2");
    EXPECT_LE(talkative.end.standard_error.size(), 800u);
    EXPECT_TRUE(talkative.end.standard_error.ends_with("error\nthe last\n"));
}

TEST(Command, that_does_not_stop_is_stopped_for_want_of_memory) {
    const Ran ran = run("yes", {}, 1'000'000);
    EXPECT_TRUE(ran.end.no_memory);
    EXPECT_TRUE(WIFSIGNALED(ran.end.status) || ran.end.status != 0);
}

TEST(Command, is_stopped_when_somebody_says_so) {
    for (const char *script : {"sleep 1000", "exec sleep 1000", "yes >/dev/null", "yes"}) {
        int asked = 0;
        const Ran ran = run(script, {}, ~std::uint64_t{0}, [&] { return ++asked > 2; });
        EXPECT_TRUE(ran.end.stopped) << script;
        EXPECT_NE(ran.end.status, 0) << script; // SIGKILL, or before it the closed pipe
    }
}

TEST(Command, begins_with_signals_as_the_system_has_them) {
    sigset_t all, before;
    sigfillset(&all);
    ASSERT_EQ(::sigprocmask(SIG_SETMASK, &all, &before), 0);
    const auto old = ::signal(SIGPIPE, SIG_IGN);
    const Ran ran = run("yes | head -1; grep -E '^Sig(Blk|Ign)' /proc/self/status");
    ::signal(SIGPIPE, old);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(ran.output.substr(0, 2), "y\n");
    EXPECT_NE(ran.output.find("SigBlk:\t0000000000000000"), std::string::npos) << ran.output;
    EXPECT_EQ(ran.end.standard_error, "") << "yes ended by SIGPIPE";
}

// Whoever ignores SIGCHLD never learns how a child ended; that must not look like success.
TEST(Command, whose_end_nobody_is_told_is_an_error) {
    const auto old = ::signal(SIGCHLD, SIG_IGN);
    CommandStreams streams;
    std::vector<std::byte> room;
    streams.room = [&](std::uint64_t bytes) {
        room.resize(bytes);
        return room.data();
    };
    streams.keep = [](std::uint64_t) {};
    const Result<CommandEnd> end = run_command("/bin/sh", {"sh", "-c", "exit 1"}, streams);
    ::signal(SIGCHLD, old);
    EXPECT_FALSE(end.ok() && end->status == 0);
}

TEST(Command, that_cannot_be_started) {
    const test::TestFolder folder;
    const std::string text = folder.write("text", "no program\n");
    for (const std::string &path : {folder.file("missing"), text}) {
        const Result<CommandEnd> end = run_command(path, {path}, {});
        ASSERT_FALSE(end.ok());
        EXPECT_NE(end.error().message.find(path), std::string::npos);
    }
}

TEST(FindProgram, as_a_shell_does) {
    const Result<std::string> found = find_program("sh");
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(is_executable(*found));
    EXPECT_EQ(find_program("/bin/sh").value(), "/bin/sh");
    for (const char *name : {"no-such-program", "", "/nowhere/at/all", "./no-such-program"}) {
        const Result<std::string> none = find_program(name);
        ASSERT_FALSE(none.ok()) << name;
        EXPECT_EQ(none.error().kind, ErrorKind::plugin);
        EXPECT_EQ(none.error().os_errno, ENOENT) << name;
    }
    EXPECT_EQ(find_program("/etc/passwd").error().os_errno, EACCES);
}

} // namespace
} // namespace gristmill::os
