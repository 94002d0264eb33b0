// Egress's side of all workers' output: look at it, then let it go.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/output_location.hpp"
#include "store/output_ring.hpp"

namespace gristmill::store {

// A batch's output and the failure descriptions behind it.
struct OutputView {
    ByteView output{};
    ByteView faults{};
};

// Where the released positions of a worker are told to it.
struct ReleaseCounters {
    std::atomic<std::uint64_t> *ring = nullptr;
    std::atomic<std::uint64_t> *overflow = nullptr;
};

// Threads: egress.
// Owns:    for the run, the bookkeeping of what may be overwritten.
class OutputReader {
  public:
    // `memory`: one for each worker, or empty when all output is collected. Outlives this.
    OutputReader(const std::vector<OutputMemory> &memory, std::vector<ReleaseCounters> counters);

    // Valid until release() of the same batch and the next view(). nullopt: the location makes
    // no sense (whatever wrote it is broken), or cannot be mapped.
    std::optional<OutputView> view(std::uint32_t worker, const OutputLocation &location);

    // The batch is retired: its memory goes back to its worker.
    void release(std::uint32_t worker, const OutputLocation &location);

  private:
    std::optional<const std::byte *> locate(std::uint32_t worker, const OutputLocation &location);

    const std::vector<OutputMemory> &memory_;
    std::vector<ReleaseCounters> counters_;
    std::vector<ReleasedPrefix> ring_prefix_;
    std::vector<ReleasedPrefix> overflow_prefix_;
    std::optional<os::Mapping> overflow_mapping_;
};

} // namespace gristmill::store
