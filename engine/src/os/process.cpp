#include "os/process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <iterator>
#include <numeric>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "os/os_error.hpp"

extern char **environ;

namespace gristmill::os {

namespace {

constexpr long kSendPatienceSeconds = 5;

// Waits for a child by its pid alone; another part of the program may have reaped it.
bool reaped(pid_t pid, int flags, std::optional<int> &status) noexcept {
    int seen = 0;
    pid_t got = 0;
    do
        got = ::waitpid(pid, &seen, flags);
    while (got < 0 && errno == EINTR);
    if (got == pid)
        status = seen;
    return got == pid || (got < 0 && errno == ECHILD);
}

bool readable(int fd, std::int64_t timeout_ns) noexcept {
    pollfd item{fd, POLLIN, 0};
    timespec limit{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    return ::ppoll(&item, 1, timeout_ns < 0 ? nullptr : &limit, nullptr) > 0;
}

} // namespace

UniqueFd watch_process(pid_t pid) noexcept {
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

ChildProcess::ChildProcess(pid_t pid) : pid_(pid), pidfd_(watch_process(pid)) {}
ChildProcess::ChildProcess(ChildProcess &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}
ChildProcess &ChildProcess::operator=(ChildProcess &&other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(pidfd_, other.pidfd_);
    return *this;
}
ChildProcess::~ChildProcess() { finish(0); }

bool ChildProcess::ended() const noexcept {
    if (!valid())
        return true;
    if (pidfd_.valid())
        return readable(pidfd_.get(), 0);
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) < 0)
        return errno == ECHILD;
    return info.si_pid == pid_;
}

std::optional<int> ChildProcess::finish(std::uint64_t patience_ns) noexcept {
    std::optional<int> status;
    if (!valid())
        return status;
    const pid_t pid = std::exchange(pid_, -1);
    const bool ended = pidfd_.valid() && patience_ns > 0 &&
                       readable(pidfd_.get(), static_cast<std::int64_t>(patience_ns));
    if (ended || !reaped(pid, WNOHANG, status)) {
        if (!ended)
            ::kill(pid, SIGKILL);
        reaped(pid, 0, status);
    }
    pidfd_.reset();
    return status;
}

Result<ChildProcess> spawn(const std::vector<std::string> &arguments,
                           std::span<const int> inherited) {
    std::vector<char *> argv;
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    // By way of descriptors behind all of those to be: each may itself have the number of another.
    std::vector<UniqueFd> sources;
    for (const int fd : inherited) {
        const int behind = kInheritedFdBase + static_cast<int>(inherited.size());
        if (!sources.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, behind)).valid())
            return errno_error(ErrorKind::system, errno,
                               "cannot hand descriptors to '" + arguments[0] + "'", arguments[0]);
    }
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (std::size_t i = 0; i < sources.size(); ++i)
        ::posix_spawn_file_actions_adddup2(&actions, sources[i].get(),
                                           kInheritedFdBase + static_cast<int>(i));
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t all;
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0); // Ctrl-C is for the caller alone
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    pid_t pid = -1;
    const int refused =
        ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (refused != 0)
        return errno_error(ErrorKind::system, refused, "cannot start '" + arguments[0] + "'",
                           arguments[0]);
    return ChildProcess(pid);
}

Result<SocketPair> socket_pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return errno_error(ErrorKind::system, errno, "cannot make a pair of sockets");
    const timeval patience{kSendPatienceSeconds, 0};
    ::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool send_message(int socket, std::span<const std::byte> message) noexcept {
    ssize_t sent = 0;
    do
        sent = ::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(message.size());
}

std::int64_t receive_message(int socket, std::span<std::byte> message) noexcept {
    ssize_t got = 0;
    do
        got = ::recv(socket, message.data(), message.size(), MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        return 0; // reset: the other end is gone
    return got;
}

Result<UniqueFd> reopen(pid_t holder, int fd, bool writable) {
    const std::string path =
        "/proc/" + std::to_string(holder) + "/fd/" + std::to_string(fd);
    int opened = -1;
    do
        opened = ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY);
    while (opened < 0 && errno == EINTR);
    if (opened < 0)
        return errno_error(ErrorKind::system, errno, "cannot open '" + path + "'", path);
    if (opened >= kInheritedFdBase)
        return UniqueFd(opened);
    const UniqueFd low(opened); // payloads close low descriptors
    UniqueFd high(::fcntl(opened, F_DUPFD_CLOEXEC, kInheritedFdBase));
    if (!high.valid())
        return errno_error(ErrorKind::system, errno, "cannot open '" + path + "'", path);
    return high;
}

bool die_with_parent(pid_t parent) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return ::getppid() == parent;
}

void reset_signals() noexcept {
    struct sigaction action {};
    for (int number = 1; number < NSIG; ++number) {
        const bool ignored = number == SIGINT || number == SIGPIPE || number == SIGXFSZ;
        action.sa_handler = ignored ? SIG_IGN : SIG_DFL;
        ::sigaction(number, &action, nullptr);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void close_other_descriptors(int first_kept, int last_kept) noexcept {
    const auto close_range_of = [](unsigned first, unsigned last) {
        if (first > last)
            return;
        if (::syscall(SYS_close_range, first, last, 0) == 0)
            return;
        const long limit = std::min<long>(::sysconf(_SC_OPEN_MAX), 65536);
        for (long fd = first; fd <= static_cast<long>(last) && fd < limit; ++fd)
            ::close(static_cast<int>(fd));
    };
    close_range_of(3, static_cast<unsigned>(first_kept) - 1);
    close_range_of(static_cast<unsigned>(last_kept) + 1, ~0u);
}

namespace {
// This process's; by trying all of them only where /proc cannot tell: there may be thousands.
std::vector<int> open_descriptors() {
    std::vector<int> found;
    if (DIR *listing = ::opendir("/proc/self/fd")) {
        while (const dirent *entry = ::readdir(listing))
            if (entry->d_name[0] != '.')
                found.push_back(std::atoi(entry->d_name));
        ::closedir(listing);
        return found;
    }
    found.resize(static_cast<std::size_t>(std::min<long>(::sysconf(_SC_OPEN_MAX), 65536)));
    std::iota(found.begin(), found.end(), 0);
    return found;
}
} // namespace

void place_descriptors(std::span<const int> inherited) noexcept {
    // First out of the way of each other.
    const int last = kInheritedFdBase + static_cast<int>(inherited.size()) - 1;
    int moved[16];
    const std::size_t count = std::min(inherited.size(), std::size(moved));
    for (std::size_t i = 0; i < count; ++i)
        moved[i] = ::fcntl(inherited[i], F_DUPFD_CLOEXEC, last + 1);
    for (std::size_t i = 0; i < count; ++i) {
        ::dup3(moved[i], kInheritedFdBase + static_cast<int>(i), O_CLOEXEC);
        ::close(moved[i]);
    }
    for (const int fd : open_descriptors()) {
        struct stat facts {};
        if (fd < 3 || (fd >= kInheritedFdBase && fd <= last) || ::fstat(fd, &facts) < 0)
            continue;
        if (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode) && !S_ISCHR(facts.st_mode) &&
            !S_ISBLK(facts.st_mode))
            ::close(fd);
    }
}

void keep_from_programs(int first, int last) noexcept {
    for (int fd = first; fd <= last; ++fd)
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void move_stdin_to_null() noexcept {
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null > 0) {
        ::dup2(null, 0);
        ::close(null);
    }
}

void volunteer_for_oom() noexcept {
    const int fd = ::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    char text[16] = {};
    const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
    const long now = got > 0 ? std::strtol(text, nullptr, 10) : 0;
    const std::string raised = std::to_string(std::min<long>(now + 300, 1000));
    [[maybe_unused]] const ssize_t written = ::pwrite(fd, raised.data(), raised.size(), 0);
    ::close(fd);
}

void run_on_cpus(std::span<const std::uint64_t> mask) noexcept {
    if (std::all_of(mask.begin(), mask.end(), [](std::uint64_t word) { return word == 0; }))
        return;
    ::syscall(SYS_sched_setaffinity, 0, mask.size_bytes(), mask.data());
}

void leave(int status) noexcept { ::_exit(status); }

pid_t fork_process() noexcept { return ::fork(); }

namespace {
volatile std::uint32_t forks = 0; // a copy of it in each process
} // namespace

void count_forks() noexcept {
    static const bool counting = ::pthread_atfork(nullptr, nullptr, [] { forks = forks + 1; }) == 0;
    static_cast<void>(counting);
}
std::uint32_t fork_count() noexcept { return forks; }

bool hides_its_descriptors() noexcept { return ::prctl(PR_GET_DUMPABLE) != 1; }

void adopt_orphans() noexcept { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void kill_children_but(const std::function<bool(pid_t)> &keep) noexcept {
    const std::string path = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
    const UniqueFd list(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    char part[4096];
    for (ssize_t got = 0; (got = ::read(list.get(), part, sizeof part)) > 0;)
        text.append(part, static_cast<std::size_t>(got));
    for (const char *at = text.c_str(); *at;) {
        char *end = nullptr;
        const long pid = std::strtol(at, &end, 10);
        if (end == at)
            break;
        if (pid > 1 && !keep(static_cast<pid_t>(pid)))
            ::kill(static_cast<pid_t>(pid), SIGKILL);
        at = end + (*end == ' ');
    }
}

void end_all_children(std::uint64_t patience_ns) noexcept {
    const std::uint64_t began_ns = wall_clock_ns();
    while (wall_clock_ns() - began_ns < patience_ns) {
        kill_children_but([](pid_t) { return false; });
        int status = 0;
        if (::waitpid(-1, &status, 0) < 0 && errno == ECHILD)
            return;
    }
}

void kill_process(pid_t pid) noexcept {
    if (pid > 0)
        ::kill(pid, SIGKILL);
}

std::optional<Reaped> reap_child() noexcept {
    siginfo_t info{};
    int got = 0;
    do
        got = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 || info.si_pid <= 0)
        return std::nullopt;
    kill_group(info.si_pid); // while its number cannot be anybody else's
    Reaped reaped{info.si_pid, 0};
    do
        got = ::waitpid(reaped.pid, &reaped.status, 0);
    while (got < 0 && errno == EINTR);
    return reaped;
}

void await_end(pid_t pid, std::uint64_t patience_ns) noexcept {
    const UniqueFd fd = watch_process(pid);
    if (!fd.valid())
        return; // it is gone
    kill_process(pid);
    readable(fd.get(), static_cast<std::int64_t>(patience_ns));
}

void begin_group() noexcept { ::setpgid(0, 0); }

void kill_group(pid_t head) noexcept {
    if (head > 1)
        ::kill(-head, SIGKILL);
}

void wait_readable(std::span<const int> descriptors, std::vector<bool> &ready,
                   std::int64_t timeout_ns) {
    std::vector<pollfd> items;
    for (const int fd : descriptors)
        items.push_back({fd, POLLIN, 0});
    timespec limit{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    ::ppoll(items.data(), items.size(), timeout_ns < 0 ? nullptr : &limit, nullptr);
    ready.clear();
    for (const pollfd &item : items)
        ready.push_back(item.revents != 0);
}

Result<UniqueFd> watch_children() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, nullptr);
    UniqueFd fd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd.valid())
        return errno_error(ErrorKind::system, errno, "cannot watch for the end of processes");
    return fd;
}

void drain(int signal_fd) noexcept {
    signalfd_siginfo info;
    while (::read(signal_fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    }
}

pid_t parent_of_this() noexcept { return ::getppid(); }
pid_t this_process() noexcept { return ::getpid(); }

std::string describe_exit(int status) {
    if (WIFEXITED(status))
        return "exit status " + std::to_string(WEXITSTATUS(status));
    const int number = WTERMSIG(status);
    const char *name = ::sigabbrev_np(number);
    const char *description = ::sigdescr_np(number);
    return (name ? "SIG" + std::string(name) : "signal " + std::to_string(number)) +
           (description ? " (" + std::string(description) + ")" : "");
}

bool killed_from_outside(int status) noexcept {
    if (!WIFSIGNALED(status))
        return false;
    switch (WTERMSIG(status)) {
    case SIGKILL:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
    case SIGUSR1:
    case SIGUSR2:
        return true;
    default:
        return false;
    }
}

bool killed_by_sigkill(int status) noexcept {
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

std::string directory_of_code(const void *address) {
    Dl_info info{};
    if (::dladdr(const_cast<void *>(address), &info) == 0 || !info.dli_fname)
        return {};
    // A program is named as it was called; the kernel knows where it lies.
    std::string path = info.dli_fname;
    if (path.find('/') == std::string::npos || path[0] != '/') {
        char target[4096];
        const ssize_t got = ::readlink("/proc/self/exe", target, sizeof target);
        if (got > 0)
            path.assign(target, static_cast<std::size_t>(got));
    }
    return path.substr(0, path.rfind('/'));
}

bool is_executable(const std::string &path) noexcept {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) < 0)
        return false;
    if (!S_ISREG(facts.st_mode)) {
        errno = EACCES;
        return false;
    }
    return ::access(path.c_str(), X_OK) == 0;
}

} // namespace gristmill::os
