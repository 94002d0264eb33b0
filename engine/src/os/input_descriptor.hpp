// Descriptors that are read in order, once: pipes, FIFOs, sockets, terminals, devices, files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <gristmill/error.hpp>

#include "os/unique_fd.hpp"

namespace gristmill::os {

// Reads without ever blocking, and without changing the file description of whoever gave the
// descriptor: pipes are opened anew through /proc, sockets are asked not to wait, others polled first.
//
// Threads: one at a time.
// Owns:    a descriptor of its own.
class InputDescriptor {
  public:
    enum class Got : std::uint8_t {
        bytes,
        nothing_yet, // wait for fd()
        end,
        failed // errno says why
    };
    struct Read {
        Got got = Got::end;
        std::uint64_t bytes = 0;
    };

    // One that was opened by path, with O_NONBLOCK; a file is read from `offset`.
    static InputDescriptor own(UniqueFd fd, std::uint64_t offset = 0);
    // Somebody else's, which stays open and is not moved: a file is read from `offset`, or from where
    // it stands. Errors: ErrorKind::source.
    static Result<InputDescriptor> adopt(int fd, std::optional<std::uint64_t> offset,
                                         const std::string &name);

    Read read(std::span<std::byte> room) noexcept;
    int fd() const { return fd_.get(); }
    std::uint64_t offset() const { return offset_; } // of a file: where it is read next
    UniqueFd take_fd() && { return std::move(fd_); }

  private:
    enum class Kind : std::uint8_t {
        file,     // pread at offset_
        unwaited, // read does not block
        socket,   // recv is told not to block
        blocking  // read only after poll says so
    };
    InputDescriptor(UniqueFd fd, Kind kind) : fd_(std::move(fd)), kind_(kind) {}
    Read read_once(std::span<std::byte> room) noexcept;
    bool readable_now() const noexcept;
    bool hung_up() const noexcept;

    UniqueFd fd_;
    Kind kind_;
    std::uint64_t offset_ = 0;
    bool had_writer_ = false; // of a FIFO: before the first, there is no end
};

// What ends a wait for input that may never come, or stands for input that is no descriptor.
//
// Threads: any may signal().
class WakeDescriptor {
  public:
    static Result<WakeDescriptor> create();
    void signal() noexcept; // until clear()
    void clear() noexcept;
    int fd() const { return fd_.get(); }

  private:
    UniqueFd fd_;
};

enum class Waited : std::uint8_t { input, woken, timed_out };
// Until `input` can be read, `wake` was signalled, or `timeout_ns` (< 0: never) are over.
Waited wait_for_input(int input, const WakeDescriptor &wake, std::int64_t timeout_ns) noexcept;

} // namespace gristmill::os
