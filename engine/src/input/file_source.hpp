// Opening what a path names.
#pragma once

#include <cstdint>
#include <string>

#include <gristmill/error.hpp>

#include "os/unique_fd.hpp"

namespace gristmill::input {

// A regular file, as it was when it was opened: [0, bytes).
struct FileSource {
    os::UniqueFd fd;
    std::uint64_t bytes = 0;
};

// Opens a regular file. One whose size says nothing (procfs, sysfs, size 0) is read to its end
// at once, into memory. Errors: ErrorKind::source, or ErrorKind::unsupported for pipes and other
// things that are no files.
Result<FileSource> open_file_source(const std::string &path);

} // namespace gristmill::input
