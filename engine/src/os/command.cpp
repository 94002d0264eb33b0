#include "os/command.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "os/os_error.hpp"
#include "os/process.hpp"
#include "os/unique_fd.hpp"

extern char **environ;

namespace gristmill::os {

namespace {

constexpr std::size_t kReadBytes = 65536;
constexpr std::size_t kErrorBytesKept = 800;
constexpr int kAskMs = 100;

struct Pipe {
    UniqueFd read;
    UniqueFd write;
};

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0)
        return errno_error(ErrorKind::system, errno, "cannot make a pipe");
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Input goes through a socket: its writes need not raise SIGPIPE, nor wait.
Result<SocketPair> make_input() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return errno_error(ErrorKind::system, errno, "cannot make a pair of sockets");
    ::shutdown(ends[1], SHUT_WR);
    return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<pid_t> start(const std::string &path, const std::vector<std::string> &arguments, int in,
                    int out, int err) {
    std::vector<char *> argv;
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out, 1);
    ::posix_spawn_file_actions_adddup2(&actions, err, 2);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t none, ignored;
    sigemptyset(&none);
    sigemptyset(&ignored);
    for (const int number : {SIGINT, SIGPIPE, SIGXFSZ}) // as a shell would start it
        sigaddset(&ignored, number);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &ignored);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                POSIX_SPAWN_SETPGROUP);
    pid_t pid = -1;
    const int refused =
        ::posix_spawn(&pid, path.c_str(), &actions, &attributes, argv.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (refused != 0)
        return errno_error(ErrorKind::system, refused, "cannot start '" + path + "'", path);
    return pid;
}

class Pump {
  public:
    Pump(const CommandStreams &streams, UniqueFd in, UniqueFd out, UniqueFd err)
        : streams_(streams), left_(streams.input), in_(std::move(in)), out_(std::move(out)),
          err_(std::move(err)) {
        if (left_.empty())
            in_.reset();
    }

    // Until output and error are closed. False: stopped, or no memory.
    bool run(CommandEnd &end) {
        while (out_.valid() || err_.valid()) {
            std::array<pollfd, 3> items{pollfd{in_.get(), POLLOUT, 0},
                                        pollfd{out_.get(), POLLIN, 0},
                                        pollfd{err_.get(), POLLIN, 0}};
            ::poll(items.data(), items.size(), kAskMs);
            if (streams_.stop && streams_.stop()) {
                end.stopped = true;
                return false;
            }
            if (items[0].revents)
                feed();
            if (items[1].revents && !take_output(end))
                return false;
            if (items[2].revents)
                take_error(end);
        }
        return true;
    }

  private:
    void feed() {
        const ssize_t sent =
            ::send(in_.get(), left_.data(), left_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0)
            left_ = left_.subspan(static_cast<std::size_t>(sent));
        const bool gone = sent < 0 && errno != EINTR && errno != EAGAIN;
        if (left_.empty() || gone)
            in_.reset();
    }

    bool take_output(CommandEnd &end) {
        std::byte *room = streams_.room(kReadBytes);
        if (!room) {
            end.no_memory = true;
            return false;
        }
        const ssize_t got = ::read(out_.get(), room, kReadBytes);
        if (got > 0)
            streams_.keep(static_cast<std::uint64_t>(got));
        else if (got == 0 || errno != EINTR)
            out_.reset();
        return true;
    }

    void take_error(CommandEnd &end) {
        char text[4096];
        const ssize_t got = ::read(err_.get(), text, sizeof text);
        if (got > 0)
            end.standard_error.append(text, static_cast<std::size_t>(got));
        else if (got == 0 || errno != EINTR)
            err_.reset();
        if (end.standard_error.size() > kErrorBytesKept)
            end.standard_error.erase(0, end.standard_error.size() - kErrorBytesKept);
    }

    const CommandStreams &streams_;
    std::span<const std::byte> left_;
    UniqueFd in_, out_, err_;
};

} // namespace

Result<std::string> find_program(const std::string &name) {
    if (name.find('/') != std::string::npos) {
        if (is_executable(name))
            return name;
        return errno_error(ErrorKind::plugin, errno, "cannot run '" + name + "'", name);
    }
    const char *variable = std::getenv("PATH");
    const std::string folders = variable ? variable : "/usr/bin:/bin";
    for (std::size_t at = 0; at <= folders.size();) {
        const std::size_t colon = std::min(folders.find(':', at), folders.size());
        const std::string folder = folders.substr(at, colon - at);
        const std::string path = (folder.empty() ? "." : folder) + "/" + name;
        if (!name.empty() && is_executable(path))
            return path;
        at = colon + 1;
    }
    return errno_error(ErrorKind::plugin, ENOENT, "there is no program '" + name + "' in PATH",
                       name);
}

Result<CommandEnd> run_command(const std::string &path, const std::vector<std::string> &arguments,
                               const CommandStreams &streams) {
    Result<SocketPair> in = make_input();
    Result<Pipe> out = make_pipe();
    Result<Pipe> err = make_pipe();
    for (const Error *failed : {in ? nullptr : &in.error(), out ? nullptr : &out.error(),
                                err ? nullptr : &err.error()})
        if (failed)
            return *failed;
    Result<pid_t> pid =
        start(path, arguments, in->there.get(), out->write.get(), err->write.get());
    in->there.reset();
    out->write.reset();
    err->write.reset();
    if (!pid)
        return pid.error();
    if (streams.running)
        streams.running(*pid);
    CommandEnd end;
    if (!Pump(streams, std::move(in->here), std::move(out->read), std::move(err->read)).run(end))
        kill_group(*pid);
    pid_t got = 0;
    siginfo_t ended{};
    do // first only look: as long as it is not reaped, its group's number is nobody else's
        got = ::waitid(P_PID, static_cast<id_t>(*pid), &ended, WEXITED | WNOWAIT);
    while (got < 0 && errno == EINTR);
    kill_group(*pid); // what it has left behind
    do
        got = ::waitpid(*pid, &end.status, 0);
    while (got < 0 && errno == EINTR);
    if (streams.running)
        streams.running(0);
    if (got < 0) // SIGCHLD is ignored, or somebody else reaps: it may have failed
        return errno_error(ErrorKind::system, errno, "nobody says how '" + path + "' ended", path);
    return end;
}

} // namespace gristmill::os
