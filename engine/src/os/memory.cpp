#include "os/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <linux/memfd.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "base/bytes.hpp"
#include "os/control_group.hpp"
#include "os/fd_io.hpp"
#include "os/os_error.hpp"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace gristmill::os {

Mapping::Mapping(Mapping &&other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping &Mapping::operator=(Mapping &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Mapping::~Mapping() {
    if (data_)
        ::munmap(data_, bytes_);
}

namespace {

Error memory_error(const char *what, std::uint64_t bytes) {
    return errno_error(ErrorKind::memory, errno, std::string(what) + " of " +
                                                     std::to_string(bytes) + " bytes");
}

std::byte *map(void *at, std::uint64_t bytes, int flags, int fd, std::uint64_t offset,
               int protection = PROT_READ | PROT_WRITE) {
    void *data = ::mmap(at, bytes, protection, flags, fd, static_cast<off_t>(offset));
    if (data == MAP_FAILED)
        return nullptr;
    ::madvise(data, bytes, MADV_DONTDUMP);
    return static_cast<std::byte *>(data);
}

} // namespace

Result<Mapping> map_anonymous(std::uint64_t bytes, Pages pages) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (pages == Pages::normal) {
        bytes = round_up(bytes, kPageBytes);
        std::byte *data = map(nullptr, bytes, flags, -1, 0);
        if (!data)
            return memory_error("cannot map memory", bytes);
        return Mapping(data, bytes);
    }
    bytes = round_up(bytes, kHugePageBytes);
    std::byte *data = map(nullptr, bytes + kHugePageBytes, flags, -1, 0);
    if (!data)
        return memory_error("cannot map memory", bytes);
    // Cut the mapping to a 2 MiB boundary: huge pages only fit there.
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    const std::uint64_t before = round_up(address, kHugePageBytes) - address;
    if (before > 0)
        ::munmap(data, before);
    if (before < kHugePageBytes)
        ::munmap(data + before + bytes, kHugePageBytes - before);
    data += before;
    ::madvise(data, bytes, MADV_HUGEPAGE);
    return Mapping(data, bytes);
}

void discard_pages(std::span<std::byte> range) noexcept {
    const auto begin = round_up(reinterpret_cast<std::uintptr_t>(range.data()), kPageBytes);
    const auto end =
        round_down(reinterpret_cast<std::uintptr_t>(range.data() + range.size()), kPageBytes);
    if (begin < end)
        ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

bool populate(std::span<std::byte> range) noexcept {
#ifdef MADV_POPULATE_WRITE
    return ::madvise(range.data(), range.size(), MADV_POPULATE_WRITE) == 0;
#else
    static_cast<void>(range);
    return false;
#endif
}

Result<UniqueFd> create_memfd(const char *name, std::uint64_t bytes) {
    constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    UniqueFd fd(::memfd_create(name, flags | MFD_NOEXEC_SEAL));
    if (!fd.valid()) // kernels before 6.3 do not know the flag
        fd.reset(::memfd_create(name, flags));
    if (!fd.valid())
        return errno_error(ErrorKind::system, errno, "cannot create shared memory");
    if (fd.get() <= STDERR_FILENO) // somebody has closed one of those, and may write to it yet
        fd.reset(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (Result<void> grown = grow_memfd(fd.get(), bytes); !grown)
        return grown.error();
    ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK);
    return fd;
}

std::uint64_t memfd_bytes(int fd) noexcept {
    struct stat facts {};
    return ::fstat(fd, &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

Result<void> grow_memfd(int fd, std::uint64_t bytes) {
    if (bytes > 0 && memfd_bytes(fd) >= bytes)
        return {}; // it is sealed against shrinking
    if (bytes > file_bytes_limit()) // asking would be answered by SIGXFSZ
        return memory_error("cannot size shared memory (see RLIMIT_FSIZE, ulimit -f)", bytes);
    int result = 0;
    do
        result = ::ftruncate(fd, static_cast<off_t>(bytes));
    while (result < 0 && errno == EINTR);
    // Another process may have made it larger meanwhile: then this would have shrunk it.
    if (result < 0 && memfd_bytes(fd) < std::max<std::uint64_t>(bytes, 1))
        return memory_error("cannot size shared memory (see RLIMIT_FSIZE, ulimit -f)", bytes);
    return {};
}

bool punch_hole(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
    const std::uint64_t begin = round_up(offset, kPageBytes);
    const std::uint64_t end = round_down(offset + bytes, kPageBytes);
    if (begin >= end)
        return true;
    int result = 0;
    do
        result = ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                             static_cast<off_t>(begin), static_cast<off_t>(end - begin));
    while (result < 0 && errno == EINTR);
    return result == 0;
}

Result<Mapping> map_shared(int fd, std::uint64_t offset, std::uint64_t bytes) {
    bytes = round_up(bytes, kPageBytes);
    std::byte *data = map(nullptr, bytes, MAP_SHARED, fd, offset);
    if (!data)
        return memory_error("cannot map shared memory", bytes);
    return Mapping(data, bytes);
}

Result<Mapping> map_shared_readable(int fd, std::uint64_t offset, std::uint64_t bytes) {
    bytes = round_up(bytes, kPageBytes);
    std::byte *data = map(nullptr, bytes, MAP_SHARED, fd, offset, PROT_READ);
    if (!data)
        return memory_error("cannot map shared memory", bytes);
    return Mapping(data, bytes);
}

bool address_space_unlimited() noexcept {
    struct rlimit limit {};
    return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

Result<Mapping> map_mirrored(int fd, std::uint64_t bytes) {
    void *hold = ::mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (hold == MAP_FAILED)
        return memory_error("cannot map an output ring", bytes);
    Mapping mapping(static_cast<std::byte *>(hold), 2 * bytes);
    for (const std::uint64_t half : {std::uint64_t{0}, bytes})
        if (!map(mapping.data() + half, bytes, MAP_SHARED | MAP_FIXED, fd, 0))
            return memory_error("cannot map an output ring", bytes);
    return mapping;
}

std::uint64_t available_memory_bytes() {
    std::uint64_t available = std::numeric_limits<std::uint64_t>::max();
    std::ifstream meminfo("/proc/meminfo");
    for (std::string line; std::getline(meminfo, line);)
        if (line.starts_with("MemAvailable:"))
            available = std::strtoull(line.c_str() + 13, nullptr, 10) * kKiB;
    return std::min(available, memory_headroom_bytes());
}

} // namespace gristmill::os
