// Output of a batch whose records are fed one at a time: it survives the death of its worker.
#pragma once

#include <cstdint>

#include "os/memory.hpp"
#include "store/output_area.hpp"

namespace gristmill::store {

// Each such batch has a region of the isolation file, a sparse file in memory: its output first,
// notes on failed records from the middle on, lengths of output records in the last quarter.
inline constexpr std::uint64_t kIsolationRegionBytes = std::uint64_t{1} << 37;
inline constexpr std::uint64_t kIsolationNotesOffset = kIsolationRegionBytes / 2;

// Threads: the worker's.
class IsolationArea final : public OutputArea {
  public:
    // The descriptor outlives this; -1: never used.
    explicit IsolationArea(int fd) : fd_(fd) {}

    // Goes on in a region behind what lies there already. False: no memory.
    bool begin(std::uint32_t region, std::uint64_t output_bytes, std::uint64_t note_bytes);

    // Appends a note to those of the region. False: no memory.
    bool add_note(std::span<const std::byte> note);
    std::uint64_t note_bytes() const { return note_bytes_; }
    // Keeps the length of output record `index`.
    bool set_length(std::uint64_t index, std::uint32_t length);
    // Copies the lengths of so many records, then all notes, behind the output; what there is of both.
    OutputTail append_tail(std::uint64_t lengths);

    bool has_room() override { return true; }
    OutputLocation finish(const OutputTail &tail) override;

  protected:
    bool grow(std::uint64_t bytes) override;

  private:
    std::uint64_t region_start() const { return region_ * kIsolationRegionBytes; }
    bool map_output(std::uint64_t bytes);
    std::uint64_t append(std::uint64_t offset, std::uint64_t bytes);

    const int fd_;
    std::uint64_t region_ = 0;
    std::uint64_t note_bytes_ = 0;
    os::Mapping mapping_;
};

} // namespace gristmill::store
