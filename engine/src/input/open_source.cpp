#include "input/open_source.hpp"

#include <algorithm>
#include <array>
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

// The first bytes tell.
bool compressed(int fd, std::uint64_t origin) {
    std::array<std::byte, kDetectBytes> first;
    const std::int64_t got = os::pread_full(fd, first, origin);
    const ByteView bytes(first.data(), static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
    return detect(bytes, true) != Compression::none;
}

OpenedSource streamed(os::InputDescriptor input, const Source &source) {
    OpenedSource opened;
    opened.stream.emplace(std::move(input), source.buffered, "'" + source.path + "'");
    return opened;
}

Result<OpenedSource> open_path(const Source &source) {
    const std::string &path = source.path;
    Result<os::UniqueFd> fd = os::open_for_reading(path);
    if (!fd)
        return fd.error();
    Result<os::FileFacts> facts = os::file_facts(fd->get(), path);
    if (!facts)
        return facts.error();
    if (facts->directory)
        return os::errno_error(ErrorKind::source, EISDIR, "cannot read '" + path + "'", path);
    OpenedSource opened;
    opened.compressed_file = facts->regular && compressed(fd->get(), 0);
    if (!facts->regular || opened.compressed_file) {
        opened.stream = streamed(os::InputDescriptor::own(std::move(*fd)), source).stream;
        return opened;
    }
    if (facts->pseudo || facts->bytes == 0) {
        Result<FileSource> whole = slurp(fd->get(), path);
        if (!whole)
            return whole.error();
        opened.file = std::move(*whole);
        return opened;
    }
    opened.file = {std::move(*fd), facts->bytes, 0};
    return opened;
}

Result<OpenedSource> open_descriptor(const Source &source) {
    Result<os::InputDescriptor> input =
        os::InputDescriptor::adopt(source.descriptor, source.offset, source.path);
    if (!input)
        return input.error();
    Result<os::FileFacts> facts = os::file_facts(input->fd(), source.path);
    if (!facts)
        return facts.error();
    if (facts->directory)
        return os::errno_error(ErrorKind::source, EISDIR, "cannot read '" + source.path + "'",
                               source.path);
    const std::uint64_t origin = input->offset();
    const bool divisible = facts->regular && !facts->pseudo && facts->bytes > origin &&
                           source.buffered.empty() && !compressed(input->fd(), origin);
    if (!divisible)
        return streamed(std::move(*input), source);
    OpenedSource opened;
    opened.file = {std::move(*input).take_fd(), facts->bytes - origin, origin};
    return opened;
}

} // namespace

bool may_be_opened_early(const Source &source) {
    return source.descriptor < 0 && os::is_regular_file(source.path);
}

Result<OpenedSource> open_source(const Source &source) {
    return source.descriptor >= 0 ? open_descriptor(source) : open_path(source);
}

} // namespace gristmill::input
