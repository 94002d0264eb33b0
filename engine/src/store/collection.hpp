// Output that map() keeps: written once, straight into the memory that the results will own.
#pragma once

#include <cstdint>
#include <vector>

#include "os/memory.hpp"
#include "store/chunk_pool.hpp"
#include "store/output_area.hpp"

namespace gristmill::store {

// Owns collected chunks and gives them back to the pool.
class Chunks {
  public:
    Chunks() = default;
    Chunks(Chunks &&) noexcept = default;
    Chunks &operator=(Chunks &&other) noexcept {
        chunks_.swap(other.chunks_);
        return *this;
    }
    ~Chunks() {
        for (os::Mapping &chunk : chunks_)
            ChunkPool::process().give_back(std::move(chunk));
    }
    void add(os::Mapping chunk) { chunks_.push_back(std::move(chunk)); }
    const os::Mapping *last() const { return chunks_.empty() ? nullptr : &chunks_.back(); }

  private:
    std::vector<os::Mapping> chunks_;
};

// One worker's collection, in its own process. A batch lies in one chunk; the first chunk is
// small, so that small runs stay cheap.
//
// Threads: the worker's; take_chunks() by the coordinator, when the worker has left the run.
class CollectionArea final : public OutputArea {
  public:
    // Warm chunks are to lie on this node of the machine; < 0: anywhere.
    void set_memory_node(std::int32_t node) { memory_node_ = node; }
    bool has_room() override { return true; }
    OutputLocation finish(const OutputTail &tail) override;
    Chunks take_chunks();

  protected:
    bool grow(std::uint64_t bytes) override;

  private:
    Chunks chunks_;
    std::int32_t memory_node_ = -1;
};

} // namespace gristmill::store
