#include "store/chunk_pool.hpp"

#include <utility>

#include "base/bytes.hpp"

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

Result<os::Mapping> ChunkPool::take(std::uint64_t bytes) {
    if (bytes <= kChunkBytes) {
        const std::lock_guard lock(mutex_);
        if (!warm_.empty()) {
            os::Mapping chunk = std::move(warm_.back());
            warm_.pop_back();
            return chunk;
        }
    }
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
