// Failed records, whole, as JSON lines: what errors_to= writes.
#pragma once

#include <string>

#include <gristmill/error.hpp>

#include "base/bytes.hpp"
#include "os/unique_fd.hpp"

namespace gristmill::output {

// One line per record: {"source","offset","index","error","type","record_b64"}; index is null
// while it is not known. Bytes that are no UTF-8 are replaced in `source` and `error`.
//
// Threads: egress.
class DeadLetters {
  public:
    // Creates the file, mode 0600, never through a symbolic link. ErrorKind::output.
    static Result<DeadLetters> create(const std::string &path);

    Result<void> add(const RecordFailure &failure, ByteView record);

  private:
    DeadLetters(os::UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
    os::UniqueFd fd_;
    std::string path_;
    std::string line_;
};

} // namespace gristmill::output
