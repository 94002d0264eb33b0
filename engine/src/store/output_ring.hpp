// Output of a stream or a file: one ring per worker, recycled as egress retires, and an overflow
// range for what does not fit.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <gristmill/error.hpp>

#include "os/memory.hpp"
#include "store/output_area.hpp"

namespace gristmill::store {

// The memory of one worker's output, made by the caller and mapped by both sides.
struct OutputMemory {
    os::UniqueFd ring;
    os::Mapping ring_mapping; // mirrored: twice ring_bytes
    std::uint64_t ring_bytes = 0;
    bool mirrored = true;
    os::UniqueFd overflow; // sparse, grows

    // The ring, as it is mapped here.
    std::span<const std::byte> memory() const {
        return {ring_mapping.data(), ring_mapping.bytes()};
    }

    // `ring_bytes` is rounded up to pages. ThreadSanitizer cannot see that two addresses are one
    // byte, so there the ring is mapped once.
    static Result<OutputMemory> create(std::uint64_t ring_bytes, bool mirrored);
    // The same memory in another process, by descriptors of its own.
    static Result<OutputMemory> attach(os::UniqueFd ring, os::UniqueFd overflow,
                                       std::uint64_t ring_bytes, bool mirrored);
};

// One for each of so many workers, in place of what was there; mirrored, unless ThreadSanitizer
// looks on.
Result<void> make_rings(std::vector<OutputMemory> &rings, std::size_t workers,
                        std::uint64_t ring_bytes);

// Where a worker's output goes on: at the start of a run, or behind what a dead predecessor left.
struct OutputStart {
    std::uint64_t ring = 0;          // positions
    std::uint64_t overflow = 0;
    std::uint64_t overflow_base = 0; // position that lies at offset 0 of the file
};

// The worker's side.
//
// Threads: the worker's; `released` counters are egress's to write.
// Keeps:   I11. Taken positions are at most ring_bytes ahead of the released ones: nothing is
//              overwritten before its batch is retired (rule R4).
class RingArea final : public OutputArea {
  public:
    RingArea(OutputMemory &memory, const std::atomic<std::uint64_t> &ring_released,
             const std::atomic<std::uint64_t> &overflow_released, const OutputStart &start = {});

    // Room for the recent largest output, and no overflow beyond the ring's size waits.
    bool has_room() override;
    OutputLocation finish(const OutputTail &tail) override;
    std::uint64_t overflow_batches() const { return overflow_batches_; }

  protected:
    bool grow(std::uint64_t bytes) override;

  private:
    void begin_in_ring();
    bool grow_overflow(std::uint64_t bytes);
    std::uint64_t free_bytes() const;

    OutputMemory &memory_;
    const std::atomic<std::uint64_t> &ring_released_;
    const std::atomic<std::uint64_t> &overflow_released_;
    std::uint64_t taken_ = 0;      // position behind the last finished batch
    std::uint64_t data_ = 0;       // position of the batch's first byte; > taken_ after padding
    std::uint64_t recent_max_ = 0; // recent largest output
    std::uint64_t overflow_taken_ = 0; // position, as for the ring
    std::uint64_t overflow_start_ = 0; // position that lies at offset 0 of the file
    std::uint64_t overflow_batches_ = 0;
    std::optional<os::Mapping> overflow_mapping_; // of the batch in hand
};

// Egress's side of one worker's positions: batches retire in any order, the tail moves over the
// prefix that is retired.
//
// Threads: egress.
class ReleasedPrefix {
  public:
    // May [begin, end) be released? Not when it overlaps what was, or makes no sense.
    bool fits(std::uint64_t begin, std::uint64_t end) const;
    // Marks [begin, end) as retired; the new tail. Precondition: fits().
    std::uint64_t release(std::uint64_t begin, std::uint64_t end);

  private:
    std::uint64_t tail_ = 0;
    std::map<std::uint64_t, std::uint64_t> pending_; // begin -> end, all beyond the tail
};

} // namespace gristmill::store
