// Opening what a source names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <gristmill/error.hpp>
#include <gristmill/source.hpp>

#include "input/byte_source.hpp"
#include "os/unique_fd.hpp"

namespace gristmill::input {

// A regular file, as it was when it was opened: bytes [0, bytes), which lie in the file from `origin`
// on.
struct FileSource {
    os::UniqueFd fd{};
    std::uint64_t bytes = 0;
    std::uint64_t origin = 0;
};

// Either a file that can be divided, or bytes that come in order, once.
struct OpenedSource {
    FileSource file{};
    std::optional<ByteSource> stream{};
    bool compressed_file = false; // the stream is one
};

// Does opening it before its turn matter to nobody? Pipes and devices may be waited for at their other
// end.
bool may_be_opened_early(const Source &source);

// A regular file that is not compressed can be divided. One whose size says nothing (procfs, sysfs,
// size 0) is read to its end at once, into memory. Never waits for a writer. Errors:
// ErrorKind::source, ErrorKind::memory.
Result<OpenedSource> open_source(const Source &source);

} // namespace gristmill::input
