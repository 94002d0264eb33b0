#include "store/chunk_pool.hpp"

#include <iterator>
#include <utility>

#include "base/bytes.hpp"
#include "os/placement.hpp"

namespace gristmill::store {

ChunkPool &ChunkPool::process() {
    static auto *pool = new ChunkPool; // never destroyed: results may die after static objects
    return *pool;
}

void ChunkPool::add_engine() {
    const std::lock_guard lock(mutex_);
    ++engines_;
}

bool ChunkPool::remove_engine() {
    std::vector<os::Mapping> unneeded; // unmapped after the lock is released
    const std::lock_guard lock(mutex_);
    if (--engines_ > 0)
        return false;
    unneeded.swap(warm_);
    return true;
}

bool ChunkPool::has_engines() {
    const std::lock_guard lock(mutex_);
    return engines_ > 0;
}

bool ChunkPool::has_warm() {
    const std::lock_guard lock(mutex_);
    return !warm_.empty();
}

std::optional<os::Mapping> ChunkPool::take_warm(std::int32_t memory_node) {
    const std::lock_guard lock(mutex_);
    for (auto chunk = warm_.rbegin(); chunk != warm_.rend(); ++chunk) {
        if (memory_node >= 0 && os::node_of_page(chunk->data()) != std::uint32_t(memory_node))
            continue;
        os::Mapping found = std::move(*chunk);
        warm_.erase(std::next(chunk).base());
        return found;
    }
    return std::nullopt;
}

Result<os::Mapping> ChunkPool::take(std::uint64_t bytes, std::int32_t memory_node) {
    if (bytes <= kChunkBytes)
        if (std::optional<os::Mapping> warm = take_warm(memory_node))
            return std::move(*warm);
    return os::map_anonymous(bytes, bytes < kChunkBytes ? os::Pages::normal : os::Pages::huge);
}

void ChunkPool::give_back(os::Mapping chunk) {
    if (chunk.bytes() != kChunkBytes)
        return;
    const std::lock_guard lock(mutex_);
    if (engines_ > 0 && warm_.size() < kWarmMax)
        warm_.push_back(std::move(chunk));
}

} // namespace gristmill::store
