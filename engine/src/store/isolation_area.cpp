#include "store/isolation_area.hpp"

#include <new>
#include <span>
#include <utility>

#include "base/bytes.hpp"
#include "os/fd_io.hpp"

namespace gristmill::store {

namespace {
constexpr std::uint64_t kNotesOffset = kIsolationNotesOffset;
constexpr std::uint64_t kLengthsOffset = kIsolationRegionBytes / 4 * 3;
constexpr std::uint64_t kFirstBytes = 64 * kKiB;
} // namespace

bool IsolationArea::begin(std::uint32_t region, std::uint64_t output_bytes,
                          std::uint64_t note_bytes) {
    region_ = region;
    note_bytes_ = note_bytes;
    reserved_ = 0;
    if (!map_output(output_bytes + kFirstBytes))
        return false;
    used_ = output_bytes;
    return true;
}

bool IsolationArea::map_output(std::uint64_t bytes) {
    bytes = round_up(bytes, kPageBytes);
    if (bytes > kNotesOffset || !os::grow_memfd(fd_, region_start() + bytes))
        return false;
    Result<os::Mapping> mapping = os::map_shared(fd_, region_start(), bytes);
    if (!mapping)
        return false;
    mapping_ = std::move(*mapping);
    base_ = mapping_.data();
    capacity_ = bytes;
    return true;
}

bool IsolationArea::grow(std::uint64_t bytes) { return map_output(2 * (used_ + bytes)); }

bool IsolationArea::add_note(std::span<const std::byte> note) {
    if (os::pwrite_full(fd_, note, region_start() + kNotesOffset + note_bytes_) != 0)
        return false;
    note_bytes_ += note.size();
    return true;
}

bool IsolationArea::set_length(std::uint64_t index, std::uint32_t length) {
    return os::pwrite_full(fd_, std::as_bytes(std::span(&length, 1)),
                           region_start() + kLengthsOffset + index * sizeof length) == 0;
}

// Copies what lies at `offset` of the region behind the output. It stays there as well: until the
// batch is done, another worker may have to do this again.
std::uint64_t IsolationArea::append(std::uint64_t offset, std::uint64_t bytes) {
    if (bytes == 0)
        return 0;
    std::byte *room = reserve(bytes);
    if (!room || os::pread_full(fd_, {room, bytes}, region_start() + offset) != std::int64_t(bytes))
        throw std::bad_alloc();
    commit(bytes);
    return bytes;
}

OutputTail IsolationArea::append_tail(std::uint64_t lengths) {
    OutputTail tail;
    tail.length_bytes = append(kLengthsOffset, lengths * sizeof(std::uint32_t));
    tail.fault_bytes = append(kNotesOffset, note_bytes_);
    return tail;
}

OutputLocation IsolationArea::finish(const OutputTail &tail) {
    OutputLocation location;
    if (used_ > 0) {
        location.place = OutputPlace::isolation;
        location.data = region_start();
        location.bytes = used_ - tail.bytes();
        location.length_bytes = tail.length_bytes;
        location.fault_bytes = tail.fault_bytes;
    }
    mapping_ = {};
    base_ = nullptr;
    used_ = capacity_ = reserved_ = 0;
    return location;
}

} // namespace gristmill::store
