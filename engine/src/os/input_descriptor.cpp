#include "os/input_descriptor.hpp"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "os/os_error.hpp"

namespace gristmill::os {

namespace {

constexpr int kPipeBytes = 1 << 20; // of a pipe, where the kernel lets us have so many

UniqueFd open_again(int fd) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

} // namespace

InputDescriptor InputDescriptor::own(UniqueFd fd, std::uint64_t offset) {
    struct stat facts {};
    const bool file = ::fstat(fd.get(), &facts) == 0 && S_ISREG(facts.st_mode);
    ::fcntl(fd.get(), F_SETPIPE_SZ, kPipeBytes);
    InputDescriptor input(std::move(fd), file ? Kind::file : Kind::unwaited);
    input.offset_ = offset;
    return input;
}

Result<InputDescriptor> InputDescriptor::adopt(int fd, std::optional<std::uint64_t> offset,
                                               const std::string &name) {
    struct stat facts {};
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fstat(fd, &facts) < 0)
        return errno_error(ErrorKind::source, errno, "cannot read '" + name + "'", name);
    if ((flags & O_ACCMODE) == O_WRONLY)
        return errno_error(ErrorKind::source, EBADF, "cannot read '" + name + "', which is open for writing only",
                           name);
    Kind kind = Kind::blocking;
    UniqueFd mine;
    if (S_ISREG(facts.st_mode)) {
        kind = Kind::file;
    } else if (S_ISSOCK(facts.st_mode)) {
        kind = Kind::socket;
        int type = 0;
        socklen_t bytes = sizeof type;
        if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) < 0 || type != SOCK_STREAM)
            return errno_error(ErrorKind::source, ESOCKTNOSUPPORT,
                               "cannot read '" + name + "', which is no stream socket", name);
    } else if (S_ISFIFO(facts.st_mode)) { // some devices would be others when opened anew
        mine = open_again(fd);
        kind = mine.valid() ? Kind::unwaited : Kind::blocking;
    }
    if (!mine.valid())
        mine = UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    if (!mine.valid())
        return errno_error(ErrorKind::source, errno, "cannot read '" + name + "'", name);
    InputDescriptor input(std::move(mine), kind);
    input.had_writer_ = true;
    if (kind == Kind::file) {
        const off_t stands = ::lseek(fd, 0, SEEK_CUR);
        input.offset_ = offset ? *offset : static_cast<std::uint64_t>(stands < 0 ? 0 : stands);
    } else if (S_ISFIFO(facts.st_mode)) {
        ::fcntl(input.fd(), F_SETPIPE_SZ, kPipeBytes);
    }
    return input;
}

InputDescriptor::Read InputDescriptor::read(std::span<std::byte> room) noexcept {
    for (;;) {
        const Read read = read_once(room);
        if (read.got == Got::failed && errno == EINTR)
            continue;
        if (read.got == Got::failed && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            had_writer_ = true;
            return {Got::nothing_yet, 0};
        }
        if (read.got != Got::end || had_writer_)
            return read;
        if (!hung_up())
            return {Got::nothing_yet, 0};
        had_writer_ = true; // it may have come, and left again, since we looked
    }
}

InputDescriptor::Read InputDescriptor::read_once(std::span<std::byte> room) noexcept {
    ssize_t got = 0;
    switch (kind_) {
    case Kind::file:
        got = ::pread(fd_.get(), room.data(), room.size(), static_cast<off_t>(offset_));
        break;
    case Kind::socket:
        got = ::recv(fd_.get(), room.data(), room.size(), MSG_DONTWAIT);
        break;
    case Kind::blocking:
        if (!readable_now())
            return {Got::nothing_yet, 0};
        [[fallthrough]];
    case Kind::unwaited:
        got = ::read(fd_.get(), room.data(), room.size());
        break;
    }
    if (got < 0)
        return {Got::failed, 0};
    if (got == 0)
        return {Got::end, 0};
    had_writer_ = true;
    offset_ += static_cast<std::uint64_t>(got);
    return {Got::bytes, static_cast<std::uint64_t>(got)};
}

bool InputDescriptor::readable_now() const noexcept {
    pollfd item{fd_.get(), POLLIN, 0};
    return ::poll(&item, 1, 0) > 0;
}

// Of a FIFO that was opened before anybody wrote: has a writer come, and left again? Whatever is no
// FIFO has no beginning of that kind.
bool InputDescriptor::hung_up() const noexcept {
    struct stat facts {};
    if (::fstat(fd_.get(), &facts) != 0 || !S_ISFIFO(facts.st_mode))
        return true;
    pollfd item{fd_.get(), POLLIN, 0};
    return ::poll(&item, 1, 0) > 0 && (item.revents & POLLHUP);
}

Result<WakeDescriptor> WakeDescriptor::create() {
    WakeDescriptor wake;
    wake.fd_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake.fd_.valid())
        return errno_error(ErrorKind::system, errno, "cannot make a descriptor to wait with");
    return wake;
}

void WakeDescriptor::signal() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
}

void WakeDescriptor::clear() noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &count, sizeof count);
}

Waited wait_for_input(int input, const WakeDescriptor &wake, std::int64_t timeout_ns) noexcept {
    pollfd items[] = {{input, POLLIN, 0}, {wake.fd(), POLLIN, 0}};
    timespec limit{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    const int ready = ::ppoll(items, 2, timeout_ns < 0 ? nullptr : &limit, nullptr);
    if (items[1].revents != 0)
        return Waited::woken;
    return ready == 0 ? Waited::timed_out : Waited::input; // also after a signal: look again
}

} // namespace gristmill::os
