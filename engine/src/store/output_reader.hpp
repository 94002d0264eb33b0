// Egress's side of all workers' output: look at it, then let it go.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/output_location.hpp"
#include "store/collected.hpp"
#include "store/output_ring.hpp"

namespace gristmill::store {

// A batch's output and the failure descriptions behind it.
struct OutputView {
    ByteView output{};
    ByteView lengths{}; // of the records in it, a u32 each
    ByteView faults{};
};

// Where the released positions of a worker are told to it.
struct ReleaseCounters {
    std::atomic<std::uint64_t> *ring = nullptr;
    std::atomic<std::uint64_t> *overflow = nullptr;
};

// What the workers of a run write to; each list has one item for each worker, or none at all.
struct OutputPlaces {
    std::vector<OutputMemory> *rings = nullptr;
    Collected *collected = nullptr; // files: those of worker processes
    int isolation_fd = -1;          // the isolation file; -1: none
    bool threads = true;            // addresses of this process make sense
    bool keep_isolated = false;     // what lies there becomes part of the collection
};

// How far one worker's output reaches.
struct OutputReach {
    std::uint64_t ring = 0;
    std::uint64_t overflow = 0;
    std::uint64_t file = 0;

    void include(const OutputLocation &location);
};

// Threads: egress.
// Owns:    for the run, the bookkeeping of what may be overwritten.
class OutputReader {
  public:
    // All outlive this.
    OutputReader(const OutputPlaces &places, std::vector<ReleaseCounters> counters);

    // Valid until release() of the same batch and the next view(). nullopt: the location makes
    // no sense (whatever wrote it is broken), or cannot be mapped.
    std::optional<OutputView> view(std::uint32_t worker, const OutputLocation &location);

    // The batch is retired: its memory goes back to its worker.
    void release(std::uint32_t worker, const OutputLocation &location);

    // How far the worker's output reached that was viewed.
    const OutputReach &reach(std::uint32_t worker) const { return reach_[worker]; }

  private:
    std::optional<const std::byte *> locate(std::uint32_t worker, const OutputLocation &location);
    const std::byte *locate_in_ring(std::uint32_t worker, const OutputLocation &location);
    void release_isolated(const OutputLocation &location);
    const std::byte *map_part(int fd, std::uint64_t offset, std::uint64_t bytes);

    OutputPlaces places_;
    std::vector<ReleaseCounters> counters_;
    std::vector<ReleasedPrefix> ring_prefix_;
    std::vector<ReleasedPrefix> overflow_prefix_;
    std::vector<OutputReach> reach_;
    os::Mapping part_; // of the batch in hand
};

} // namespace gristmill::store
