#include "os/fd_io.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/os_error.hpp"

#ifndef PROC_SUPER_MAGIC
#define PROC_SUPER_MAGIC 0x9fa0
#endif

namespace gristmill::os {

Result<UniqueFd> open_for_reading(const std::string &path) {
    int fd = -1;
    // O_NONBLOCK: opening a FIFO without a writer must not hang. It means nothing for files.
    do
        fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno_error(ErrorKind::source, errno, "cannot open '" + path + "'", path);
    return UniqueFd(fd);
}

Result<FileFacts> file_facts(int fd, const std::string &path) {
    struct stat facts {};
    if (::fstat(fd, &facts) < 0)
        return errno_error(ErrorKind::source, errno, "cannot examine '" + path + "'", path);
    FileFacts result;
    result.bytes = static_cast<std::uint64_t>(facts.st_size);
    result.regular = S_ISREG(facts.st_mode);
    result.directory = S_ISDIR(facts.st_mode);
    struct statfs system {};
    if (result.regular && ::fstatfs(fd, &system) == 0)
        result.pseudo = system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC ||
                        system.f_type == CGROUP2_SUPER_MAGIC || system.f_type == DEBUGFS_MAGIC ||
                        system.f_type == TRACEFS_MAGIC || system.f_type == SECURITYFS_MAGIC;
    return result;
}

bool is_regular_file(const std::string &path) noexcept {
    struct stat facts {};
    return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

std::int64_t pread_full(int fd, std::span<std::byte> buffer, std::uint64_t offset,
                        std::uint64_t limit) noexcept {
    std::uint64_t filled = 0;
    while (filled < buffer.size()) {
        std::uint64_t wanted = buffer.size() - filled;
        if (limit > 0)
            wanted = std::min(wanted, limit);
        const ssize_t got = ::pread(fd, buffer.data() + filled, wanted,
                                    static_cast<off_t>(offset + filled));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        filled += static_cast<std::uint64_t>(got);
    }
    return static_cast<std::int64_t>(filled);
}

namespace {

// Keeps SIGPIPE from the calling thread, and takes away the one that a write has raised.
class NoPipeSignal {
  public:
    NoPipeSignal() noexcept {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    ~NoPipeSignal() {
        const int saved = errno;
        const timespec at_once{};
        if (raised_ && !was_pending_)
            while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
            }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        errno = saved;
    }
    NoPipeSignal(const NoPipeSignal &) = delete;
    NoPipeSignal &operator=(const NoPipeSignal &) = delete;
    void raised() noexcept { raised_ = true; }

  private:
    sigset_t pipe_;
    sigset_t before_;
    bool was_pending_ = false;
    bool raised_ = false;
};

} // namespace

int write_full(int fd, std::span<const std::byte> data) noexcept {
    NoPipeSignal guard;
    while (!data.empty()) {
        const ssize_t written = ::write(fd, data.data(), data.size());
        if (written >= 0) {
            data = data.subspan(static_cast<std::size_t>(written));
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno == EPIPE)
            guard.raised();
        if (errno != EAGAIN && errno != EWOULDBLOCK)
            return errno;
        pollfd wait{fd, POLLOUT, 0};
        ::poll(&wait, 1, -1);
    }
    return 0;
}

int pwrite_full(int fd, std::span<const std::byte> data, std::uint64_t offset) noexcept {
    while (!data.empty()) {
        const ssize_t put = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : EIO;
        data = data.subspan(static_cast<std::size_t>(put));
        offset += static_cast<std::uint64_t>(put);
    }
    return 0;
}

void advise_sequential(int fd) noexcept { ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); }

std::uint64_t file_bytes_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return ~std::uint64_t{0};
    return limit.rlim_cur;
}

std::uint64_t descriptor_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 256;
    return limit.rlim_cur;
}

} // namespace gristmill::os
