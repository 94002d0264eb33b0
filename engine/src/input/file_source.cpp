#include "input/file_source.hpp"

#include <cerrno>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "os/fd_io.hpp"
#include "os/memory.hpp"
#include "os/os_error.hpp"

namespace gristmill::input {

namespace {

constexpr std::uint64_t kSlurpStepBytes = 64 * kKiB;

Error read_error(const std::string &path) {
    return os::errno_error(ErrorKind::source, errno, "cannot read '" + path + "'", path);
}

// Reads to the end of the file, however long it turns out to be, into an unnamed file in memory.
Result<FileSource> slurp(int fd, const std::string &path) {
    std::vector<std::byte> block(kSlurpStepBytes);
    std::int64_t got = os::pread_full(fd, block, 0);
    if (got < 0)
        return read_error(path);
    FileSource source;
    if (got == 0)
        return source;
    Result<os::UniqueFd> copy = os::create_memfd("gristmill-slurp", 0);
    if (!copy)
        return copy.error();
    while (got > 0) {
        if (const int os_errno = os::write_full(copy->get(), std::span(block).first(std::size_t(got))))
            return os::errno_error(ErrorKind::memory, os_errno, "cannot keep '" + path + "'", path);
        source.bytes += static_cast<std::uint64_t>(got);
        got = os::pread_full(fd, block, source.bytes);
        if (got < 0)
            return read_error(path);
    }
    source.fd = std::move(*copy);
    return source;
}

} // namespace

Result<FileSource> open_file_source(const std::string &path) {
    Result<os::UniqueFd> fd = os::open_for_reading(path);
    if (!fd)
        return fd.error();
    Result<os::FileFacts> facts = os::file_facts(fd->get(), path);
    if (!facts)
        return facts.error();
    if (facts->directory)
        return os::errno_error(ErrorKind::source, EISDIR, "cannot read '" + path + "'", path);
    if (!facts->regular) {
        Error error;
        error.kind = ErrorKind::unsupported;
        error.path = path;
        error.message = "'" + path + "' is no regular file; pipes, sockets and devices cannot be "
                        "a source in this version, save their data to a file first";
        return error;
    }
    if (facts->pseudo || facts->bytes == 0)
        return slurp(fd->get(), path);
    FileSource source;
    source.fd = std::move(*fd);
    source.bytes = facts->bytes;
    return source;
}

} // namespace gristmill::input
