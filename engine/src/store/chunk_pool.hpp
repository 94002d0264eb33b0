// Memory that collected output lives in: large chunks, kept warm while an engine lives.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <gristmill/error.hpp>

#include "os/memory.hpp"

namespace gristmill::store {

inline constexpr std::uint64_t kChunkBytes = std::uint64_t{64} << 20;

// Chunks of kChunkBytes that were written before: their pages need not be faulted in again, the
// largest single cost of collecting. One pool for the process, since results outlive engines;
// it keeps at most half a GiB, and nothing once the last engine is gone.
//
// Threads: any.
class ChunkPool {
  public:
    static ChunkPool &process();

    void add_engine();
    bool remove_engine(); // the last one empties the pool: true

    // A chunk of at least `bytes`: warm if there is one of that size, otherwise fresh. `memory_node`:
    // only a warm one whose memory lies there, or a fresh one; < 0: any.
    Result<os::Mapping> take(std::uint64_t bytes, std::int32_t memory_node = -1);
    void give_back(os::Mapping chunk);
    bool has_warm();
    bool has_engines();

  private:
    std::optional<os::Mapping> take_warm(std::int32_t memory_node);

    static constexpr std::size_t kWarmMax = 8;
    std::mutex mutex_;
    std::uint32_t engines_ = 0;
    std::vector<os::Mapping> warm_;
};

} // namespace gristmill::store
