// A file that appears under its name only when it is whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <gristmill/error.hpp>

#include "os/unique_fd.hpp"

namespace gristmill::os {

// Writes to an unnamed file in the folder of `path` (or, where the file system has no such
// files, to a temporary name there) and gives it its name at commit(). What exists and is no
// regular file (FIFO, device, terminal) is written in place. Symbolic links are resolved first.
// Without commit() nothing is left behind.
//
// Threads: one. Errors: ErrorKind::output.
class OutputFile {
  public:
    static Result<OutputFile> create(const std::string &path);
    // Writes in place to a duplicate of an open descriptor, from its own position on.
    static Result<OutputFile> adopt(int fd);
    OutputFile(OutputFile &&other) noexcept;
    OutputFile &operator=(OutputFile &&) = delete;
    ~OutputFile();

    Result<void> write(std::span<const std::byte> data);
    Result<void> commit();

  private:
    OutputFile() = default;
    Error failed(int os_errno, const char *what) const;
    bool open_unnamed(const std::string &folder, unsigned mode);
    bool open_temporary(const std::string &folder, unsigned mode);

    UniqueFd fd_;
    std::string path_;      // as the user wrote it
    std::string target_;    // links resolved
    std::string temporary_; // name to remove; empty: the file is unnamed, or written in place
    bool in_place_ = false;
};

// Opens a new file for appending, mode 0600, never through a symbolic link.
Result<UniqueFd> create_private_file(const std::string &path);

} // namespace gristmill::os
