// Memory from the kernel: anonymous mappings, shared memory (memfd), mirrored rings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <gristmill/error.hpp>

#include "os/unique_fd.hpp"

namespace gristmill::os {

// Owner of one mapping; unmaps it.
class Mapping {
  public:
    Mapping() = default;
    Mapping(std::byte *data, std::uint64_t bytes) : data_(data), bytes_(bytes) {}
    Mapping(Mapping &&other) noexcept;
    Mapping &operator=(Mapping &&other) noexcept;
    ~Mapping();

    std::byte *data() const noexcept { return data_; }
    std::uint64_t bytes() const noexcept { return bytes_; }

  private:
    std::byte *data_ = nullptr;
    std::uint64_t bytes_ = 0;
};

enum class Pages : std::uint8_t { normal, huge };

// Zeroed private memory. With Pages::huge it is aligned to 2 MiB and advised for huge pages.
// Page faults happen at first touch, on the node of the thread that touches.
Result<Mapping> map_anonymous(std::uint64_t bytes, Pages pages);

// Gives the physical memory of whole pages within the range back; it reads as zero afterwards.
void discard_pages(std::span<std::byte> range) noexcept;

// An unnamed file in memory, CLOEXEC, sealed against shrinking. `bytes` may grow later.
Result<UniqueFd> create_memfd(const char *name, std::uint64_t bytes);
// How long it is; 0 when it cannot be asked.
std::uint64_t memfd_bytes(int fd) noexcept;
// Makes it at least `bytes` long.
Result<void> grow_memfd(int fd, std::uint64_t bytes);
// Gives the memory of the range back, rounded inwards to pages; false if the kernel refused.
bool punch_hole(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;

// Maps [offset, offset + bytes) of a memfd, read and write; the offset is a multiple of a page.
Result<Mapping> map_shared(int fd, std::uint64_t offset, std::uint64_t bytes);

// The same, to be read only. What lies behind the file's end must not be touched.
Result<Mapping> map_shared_readable(int fd, std::uint64_t offset, std::uint64_t bytes);

// May this process map without a limit (RLIMIT_AS)?
bool address_space_unlimited() noexcept;

// Makes the pages of the range, which begins at one, present and writable; false if the kernel
// cannot (before Linux 5.14, or without memory).
bool populate(std::span<std::byte> range) noexcept;

// Maps the first `bytes` of a memfd twice in a row, so that data[i] and data[i + bytes] are the
// same byte: a range that crosses the end of a ring is contiguous. The mapping is 2 * bytes long.
Result<Mapping> map_mirrored(int fd, std::uint64_t bytes);

// Bytes that this process could still take: the smaller of MemAvailable and the control group's
// headroom. Reads /proc: some 50 us.
std::uint64_t available_memory_bytes();

} // namespace gristmill::os
