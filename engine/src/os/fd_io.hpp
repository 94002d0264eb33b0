// Reading and writing descriptors: restarts after signals, goes on after partial transfers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <gristmill/error.hpp>

#include "os/unique_fd.hpp"

namespace gristmill::os {

struct FileFacts {
    std::uint64_t bytes = 0;
    bool regular = false;
    bool directory = false;
    bool pseudo = false; // procfs, sysfs: st_size says nothing
};

// Opens for reading, CLOEXEC, without following the terminal. Errors: ErrorKind::source.
Result<UniqueFd> open_for_reading(const std::string &path);
Result<FileFacts> file_facts(int fd, const std::string &path);

bool is_regular_file(const std::string &path) noexcept;

// Reads until the buffer is full or the file ends; the number of bytes read. -1: errno says why.
// `limit` > 0: no single read asks for more.
std::int64_t pread_full(int fd, std::span<std::byte> buffer, std::uint64_t offset,
                        std::uint64_t limit = 0) noexcept;

// Writes all of it at the descriptor's own position; 0, or errno. A reader that went away is EPIPE,
// never a signal, whatever the process does about SIGPIPE.
int write_full(int fd, std::span<const std::byte> data) noexcept;

// Writes all of it at `offset` of a file; 0, or errno.
int pwrite_full(int fd, std::span<const std::byte> data, std::uint64_t offset) noexcept;

// Tells the kernel that the file will be read from front to back.
void advise_sequential(int fd) noexcept;

// Largest file that this process may make (RLIMIT_FSIZE); files in memory are such files.
std::uint64_t file_bytes_limit() noexcept;

// Largest number of descriptors that this process may have open.
std::uint64_t descriptor_limit() noexcept;

} // namespace gristmill::os
