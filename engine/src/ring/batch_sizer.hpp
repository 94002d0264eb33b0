// How large the next batch should be. Pure: observations in, target out; no clock of its own.
#pragma once

#include <cstdint>

namespace gristmill::ring {

struct SizerLimits {
    std::uint32_t workers = 1;          // >= 1
    std::uint64_t batch_bytes_max = std::uint64_t{1} << 20; // where caches stop helping
    std::uint64_t output_bytes_max = 0; // of one batch; half an output ring. 0: no limit
    std::uint64_t wall_ns_target = 2'000'000;
    std::uint64_t empty_batch_ns = 500; // what a batch costs without a record
};

struct BatchObservation {
    std::uint64_t records = 0; // > 0, others tell nothing
    std::uint64_t input_bytes = 0;
    std::uint64_t output_bytes = 0;
    std::uint64_t wall_ns = 0;
};

// Starts small, doubles towards a wall time per batch, and stays: a change needs a clear reason,
// one outlier halves at most, and growth waits until batches of the present size came back.
//
// Threads: one.
class BatchSizer {
  public:
    explicit BatchSizer(const SizerLimits &limits);

    // All input there is, known in advance: so that every worker gets several batches of it.
    void begin_source(std::uint64_t source_bytes);

    void observe(const BatchObservation &batch);

    // Bytes for the next batch when `remaining` bytes of input are left (guided towards the end,
    // so that all workers finish together). >= 1.
    std::uint64_t next_bytes(std::uint64_t remaining) const;

    std::uint64_t target_bytes() const { return target_bytes_; }

    // True when the target has not changed for a while: then batches may be published far ahead.
    bool settled() const { return unchanged_ >= 4 * std::uint64_t{limits_.workers}; }

  private:
    std::uint64_t least_bytes() const;

    SizerLimits limits_;
    std::uint64_t target_bytes_;
    double ns_per_byte_ = 0; // smoothed; 0: nothing observed yet
    std::uint64_t unchanged_ = 0; // observations since the target changed
};

} // namespace gristmill::ring
