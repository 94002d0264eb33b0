// Processes: started, watched, ended; and what another one has open.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "os/fd_io.hpp"
#include "os/memory.hpp"
#include "os/process.hpp"
#include "support/test_file.hpp"

namespace gristmill::os {
namespace {

constexpr std::uint64_t kLong = 10'000'000'000;

// A child that does this and leaves.
template <class Body>
pid_t child_that(Body &&body) {
    const pid_t pid = fork_process();
    if (pid == 0) {
        body();
        leave(0);
    }
    return pid;
}

int status_of(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    return status;
}

TEST(Spawn, hands_descriptors_over_whatever_their_numbers) {
    for (const int low : {3, 95, 99, 100, 101, 102, 103}) {
        // Two files and a pipe, whose numbers begin at `low`.
        const test::MemoryFile a("content of a"), b("content of b");
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        const UniqueFd read(ends[0]), write(ends[1]);
        std::vector<UniqueFd> moved;
        for (const int fd : {a.fd(), write.get(), b.fd()})
            moved.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, low));
        const int inherited[] = {moved[2].get(), moved[1].get(), moved[0].get()};
        // Shells know no descriptors of three digits.
        Result<ChildProcess> started =
            spawn({"/bin/sh", "-c",
                   "(cat /proc/self/fd/102 /proc/self/fd/100; cat) > /proc/self/fd/101"},
                  inherited);
        ASSERT_TRUE(started.ok()) << started.error().message;
        started->finish(kLong);
        char text[100];
        const ssize_t got = ::read(read.get(), text, sizeof text);
        EXPECT_EQ(std::string(text, std::size_t(std::max<ssize_t>(got, 0))),
                  "content of acontent of b")
            << "from " << low << " on; standard input is empty";
    }
}

TEST(Spawn, of_what_does_not_exist) {
    const Result<ChildProcess> started = spawn({"/nowhere/program"}, {});
    ASSERT_FALSE(started.ok());
    EXPECT_EQ(started.error().kind, ErrorKind::system);
    EXPECT_EQ(started.error().os_errno, ENOENT);
    EXPECT_EQ(started.error().path, "/nowhere/program");
}

TEST(Spawn, a_descriptor_that_is_none_is_an_error) {
    const int none[] = {-1};
    EXPECT_FALSE(spawn({"/bin/true"}, none).ok());
}

TEST(ChildProcess, ended_and_finish) {
    ChildProcess child(child_that([] { ::pause(); }));
    EXPECT_TRUE(child.valid());
    EXPECT_FALSE(child.ended());
    const pid_t pid = child.pid();
    ::kill(pid, SIGKILL);
    child.finish(kLong);
    EXPECT_FALSE(child.valid());
    EXPECT_TRUE(child.ended());
    EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1) << "it was reaped";
}

TEST(ChildProcess, is_ended_when_it_is_destroyed) {
    pid_t pid = 0;
    {
        ChildProcess child(child_that([] { ::pause(); }));
        pid = child.pid();
        ChildProcess other(std::move(child));
        EXPECT_EQ(other.pid(), pid);
        EXPECT_FALSE(child.valid()); // NOLINT: that is what is tested
        other.finish(1'000'000); // a little patience, in vain
    }
    EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(ChildProcess, one_that_somebody_else_has_reaped_has_ended) {
    ChildProcess child(child_that([] {}));
    status_of(child.pid());
    EXPECT_TRUE(child.ended());
    child.finish(kLong);
}

TEST(ReapChild, says_who_and_how_and_ends_the_rest_of_the_group) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    UniqueFd read(ends[0]), write(ends[1]);
    EXPECT_FALSE(reap_child().has_value());
    const pid_t pid = child_that([] {
        begin_group();
        child_that([] { ::pause(); }); // holds the pipe open as long as it lives
        leave(3);
    });
    write.reset();
    std::optional<Reaped> reaped;
    while (!(reaped = reap_child()))
        ::usleep(1000);
    EXPECT_EQ(reaped->pid, pid);
    EXPECT_EQ(describe_exit(reaped->status), "exit status 3");
    char none;
    EXPECT_EQ(::read(read.get(), &none, 1), 0) << "what it started was ended, too";
}

TEST(WatchProcess, can_be_read_when_it_has_ended) {
    const pid_t pid = child_that([] { ::pause(); });
    const UniqueFd fd = watch_process(pid);
    if (!fd.valid())
        GTEST_SKIP() << "a kernel without pidfd_open";
    std::vector<bool> ready;
    const int watched[] = {fd.get()};
    wait_readable(watched, ready, 0);
    EXPECT_FALSE(ready.at(0));
    kill_process(pid);
    wait_readable(watched, ready, std::int64_t(kLong));
    EXPECT_TRUE(ready.at(0));
    EXPECT_EQ(status_of(pid), SIGKILL);
    EXPECT_FALSE(watch_process(pid).valid()) << "gone";
}

TEST(AwaitEnd, kills_and_waits) {
    const pid_t pid = child_that([] { ::pause(); });
    await_end(pid, kLong);
    EXPECT_EQ(status_of(pid), SIGKILL);
    await_end(pid, kLong); // nobody there any more
}

TEST(DieWithParent, when_the_parent_dies) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    UniqueFd read(ends[0]), write(ends[1]);
    const pid_t parent = child_that([&] {
        const pid_t self = this_process();
        child_that([&] {
            const bool in_time = die_with_parent(self);
            const char told = in_time ? 'y' : 'n';
            if (::write(write.get(), &told, 1) == 1)
                ::pause();
        });
        ::pause();
    });
    write.reset();
    char told = '?';
    ASSERT_EQ(::read(read.get(), &told, 1), 1);
    EXPECT_EQ(told, 'y');
    kill_process(parent);
    status_of(parent);
    EXPECT_EQ(::read(read.get(), &told, 1), 0) << "the grandchild has died";
}

TEST(DieWithParent, says_when_the_parent_is_gone) {
    const pid_t child = child_that([] { leave(die_with_parent(1234567) ? 1 : 0); });
    EXPECT_EQ(status_of(child), 0);
}

TEST(ResetSignals, leaves_none_blocked_or_handled) {
    const pid_t child = child_that([] {
        ::signal(SIGTERM, SIG_IGN);
        ::signal(SIGSEGV, [](int) {});
        sigset_t all;
        sigfillset(&all);
        ::sigprocmask(SIG_SETMASK, &all, nullptr);
        reset_signals();
        struct sigaction seen {};
        bool right = ::sigaction(SIGTERM, nullptr, &seen) == 0 && seen.sa_handler == SIG_DFL;
        right = right && ::sigaction(SIGSEGV, nullptr, &seen) == 0 && seen.sa_handler == SIG_DFL;
        right = right && ::sigaction(SIGINT, nullptr, &seen) == 0 && seen.sa_handler == SIG_IGN;
        ::sigprocmask(SIG_SETMASK, nullptr, &all);
        for (int number = 1; number < NSIG; ++number)
            right = right && sigismember(&all, number) != 1;
        leave(right ? 0 : 1);
    });
    EXPECT_EQ(status_of(child), 0);
}

TEST(CloseOtherDescriptors, but_those) {
    const pid_t child = child_that([] {
        for (const int fd : {50, 100, 101, 103, 200})
            ::dup2(0, fd);
        close_other_descriptors(100, 102);
        const auto open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
        leave(open(0) && open(1) && open(2) && open(100) && open(101) && !open(50) &&
                      !open(103) && !open(200)
                  ? 0
                  : 1);
    });
    EXPECT_EQ(status_of(child), 0);
}

TEST(Messages, keep_their_borders) {
    SocketPair pair = std::move(socket_pair().value());
    const auto receive = [](int socket) {
        std::byte room[16];
        const std::int64_t got = receive_message(socket, room);
        return got < 0 ? "nothing" : std::string(text_of({room, std::size_t(got)}));
    };
    EXPECT_EQ(receive(pair.there.get()), "nothing");
    EXPECT_TRUE(send_message(pair.here.get(), bytes_of("one")));
    EXPECT_TRUE(send_message(pair.here.get(), bytes_of("two")));
    EXPECT_EQ(receive(pair.there.get()), "one");
    EXPECT_EQ(receive(pair.there.get()), "two");
    pair.here.reset();
    EXPECT_EQ(receive(pair.there.get()), "") << "closed";
    EXPECT_FALSE(send_message(pair.there.get(), bytes_of("nobody hears this"))) << "no SIGPIPE";
}

TEST(Reopen, what_another_process_has_open) {
    const test::MemoryFile file("hello");
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    UniqueFd read(ends[0]), write(ends[1]);
    const pid_t holder = child_that([&] {
        char byte;
        write.reset();
        if (::read(read.get(), &byte, 1) == 0)
            leave(0);
    });
    Result<UniqueFd> mine = reopen(holder, file.fd(), true);
    ASSERT_TRUE(mine.ok()) << mine.error().message;
    EXPECT_GE(mine->get(), kInheritedFdBase);
    EXPECT_EQ(::fcntl(mine->get(), F_GETFD), FD_CLOEXEC);
    ASSERT_EQ(pwrite_full(mine->get(), bytes_of("J"), 0), 0);
    char text[5];
    ASSERT_EQ(::pread(file.fd(), text, 5, 0), 5);
    EXPECT_EQ(std::string(text, 5), "Jello");
    Result<UniqueFd> reader = reopen(holder, file.fd(), false);
    ASSERT_TRUE(reader.ok());
    EXPECT_NE(pwrite_full(reader->get(), bytes_of("x"), 0), 0) << "for reading only";
    const Result<UniqueFd> none = reopen(holder, 987, false);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().os_errno, ENOENT);
    write.reset();
    status_of(holder);
    EXPECT_FALSE(reopen(holder, file.fd(), false).ok());
}

TEST(DescribeExit, of_all_kinds) {
    EXPECT_EQ(describe_exit(0), "exit status 0");
    EXPECT_EQ(describe_exit(7 << 8), "exit status 7");
    EXPECT_EQ(describe_exit(SIGSEGV), "SIGSEGV (Segmentation fault)");
    EXPECT_EQ(describe_exit(SIGABRT | 0x80), "SIGABRT (Aborted)") << "with a core";
    EXPECT_EQ(describe_exit(SIGKILL), "SIGKILL (Killed)");
    EXPECT_NE(describe_exit(SIGRTMIN + 3).find("signal"), std::string::npos)
        << describe_exit(SIGRTMIN + 3);
    EXPECT_FALSE(describe_exit(0x7f).empty());
    for (int status = -70'000; status < 70'000; status += 13)
        EXPECT_FALSE(describe_exit(status).empty()); // a nursery may report anything
}

TEST(KilledFromOutside, by_signals_that_others_send) {
    for (const int number : {SIGKILL, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2})
        EXPECT_TRUE(killed_from_outside(number)) << number;
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP})
        EXPECT_FALSE(killed_from_outside(number)) << number;
    EXPECT_FALSE(killed_from_outside(9 << 8)) << "an exit status";
    EXPECT_TRUE(killed_by_sigkill(SIGKILL));
    EXPECT_FALSE(killed_by_sigkill(SIGTERM));
}

TEST(DirectoryOfCode, is_that_of_this_program) {
    char path[4096];
    const ssize_t got = ::readlink("/proc/self/exe", path, sizeof path);
    const std::string program(path, std::size_t(got));
    static const char here = 0;
    EXPECT_EQ(directory_of_code(&here), program.substr(0, program.rfind('/')));
    EXPECT_EQ(directory_of_code(nullptr), "");
    EXPECT_TRUE(is_executable(program));
    EXPECT_FALSE(is_executable("/nowhere"));
}

} // namespace
} // namespace gristmill::os
