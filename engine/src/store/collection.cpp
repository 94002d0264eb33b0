#include "store/collection.hpp"

#include <algorithm>
#include <utility>
#include <cstring>

#include "base/bytes.hpp"

namespace gristmill::store {

namespace {
constexpr std::uint64_t kFirstChunkBytes = 256 * kKiB;
}

bool CollectionArea::grow(std::uint64_t bytes) {
    const bool first = chunks_.last() == nullptr;
    const std::uint64_t usual =
        first && !ChunkPool::process().has_warm() ? kFirstChunkBytes : kChunkBytes;
    const std::uint64_t needed = used_ + bytes;
    Result<os::Mapping> chunk =
        ChunkPool::process().take(needed <= usual ? usual : std::max(kChunkBytes, 2 * needed),
                                  memory_node_);
    if (!chunk)
        return false;
    if (used_ > 0)
        std::memcpy(chunk->data(), base_, used_);
    base_ = chunk->data();
    capacity_ = chunk->bytes();
    chunks_.add(std::move(*chunk));
    return true;
}

OutputLocation CollectionArea::finish(const OutputTail &tail) {
    OutputLocation location;
    if (used_ > 0) {
        location.place = OutputPlace::collection;
        location.data = reinterpret_cast<std::uintptr_t>(base_);
        location.bytes = used_ - tail.bytes();
        location.length_bytes = tail.length_bytes;
        location.fault_bytes = tail.fault_bytes;
    }
    base_ += used_;
    capacity_ -= used_;
    used_ = reserved_ = 0;
    return location;
}

Chunks CollectionArea::take_chunks() {
    base_ = nullptr;
    used_ = capacity_ = reserved_ = 0;
    return std::exchange(chunks_, Chunks{});
}

} // namespace gristmill::store
