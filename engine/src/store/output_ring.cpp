#include "store/output_ring.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace gristmill::store {

Result<OutputMemory> OutputMemory::create(std::uint64_t ring_bytes, bool mirrored) {
    ring_bytes = round_up(ring_bytes, kPageBytes);
    Result<os::UniqueFd> ring = os::create_memfd("gristmill-output", ring_bytes);
    if (!ring)
        return ring.error();
    Result<os::UniqueFd> overflow = os::create_memfd("gristmill-overflow", 0);
    if (!overflow)
        return overflow.error();
    return attach(std::move(*ring), std::move(*overflow), ring_bytes, mirrored);
}

Result<OutputMemory> OutputMemory::attach(os::UniqueFd ring, os::UniqueFd overflow,
                                          std::uint64_t ring_bytes, bool mirrored) {
    Result<os::Mapping> mapping = mirrored ? os::map_mirrored(ring.get(), ring_bytes)
                                           : os::map_shared(ring.get(), 0, ring_bytes);
    if (!mapping)
        return mapping.error();
    OutputMemory memory;
    memory.ring = std::move(ring);
    memory.ring_mapping = std::move(*mapping);
    memory.ring_bytes = ring_bytes;
    memory.mirrored = mirrored;
    memory.overflow = std::move(overflow);
    return memory;
}

Result<void> make_rings(std::vector<OutputMemory> &rings, std::size_t workers,
                        std::uint64_t ring_bytes) {
    rings.clear();
#if defined(__SANITIZE_THREAD__)
    constexpr bool mirrored = false;
#else
    constexpr bool mirrored = true;
#endif
    for (std::size_t i = 0; i < workers; ++i) {
        Result<OutputMemory> memory = OutputMemory::create(ring_bytes, mirrored);
        if (!memory) {
            rings.clear();
            return memory.error();
        }
        rings.push_back(std::move(*memory));
    }
    return {};
}

RingArea::RingArea(OutputMemory &memory, const std::atomic<std::uint64_t> &ring_released,
                   const std::atomic<std::uint64_t> &overflow_released, const OutputStart &start)
    : memory_(memory), ring_released_(ring_released), overflow_released_(overflow_released),
      taken_(start.ring), overflow_taken_(start.overflow), overflow_start_(start.overflow_base) {
    begin_in_ring();
}

std::uint64_t RingArea::free_bytes() const {
    return memory_.ring_bytes - (taken_ - ring_released_.load());
}

bool RingArea::has_room() {
    const std::uint64_t waiting = overflow_taken_ - overflow_released_.load();
    const std::uint64_t free = free_bytes();
    // What is free now may lie on both sides of the end; without a mirror half may be lost there.
    const std::uint64_t wanted = memory_.mirrored ? recent_max_ : 2 * recent_max_;
    return waiting == 0 && free >= std::min(wanted, memory_.ring_bytes) && free > 0;
}

// Points the area at the ring's free part.
void RingArea::begin_in_ring() {
    overflow_mapping_.reset();
    data_ = taken_;
    used_ = reserved_ = 0;
    const std::uint64_t at = taken_ % memory_.ring_bytes;
    base_ = memory_.ring_mapping.data() + at;
    capacity_ = free_bytes();
    if (!memory_.mirrored)
        capacity_ = std::min(capacity_, memory_.ring_bytes - at);
}

bool RingArea::grow(std::uint64_t bytes) {
    if (overflow_mapping_)
        return grow_overflow(bytes);
    // Egress may have released more meanwhile.
    const std::uint64_t at = data_ % memory_.ring_bytes;
    const std::uint64_t padding = data_ - taken_;
    const std::uint64_t free = free_bytes();
    capacity_ = free - padding;
    if (!memory_.mirrored)
        capacity_ = std::min(capacity_, memory_.ring_bytes - at);
    if (bytes <= capacity_ - used_)
        return true;
    // Unmirrored: what is left at the end of the ring becomes padding, the batch begins anew at
    // the ring's start, if it fits there.
    const std::uint64_t skipped = memory_.ring_bytes - at;
    if (!memory_.mirrored && at > 0 && padding == 0 && free >= skipped &&
        free - skipped >= used_ + bytes) {
        std::memmove(memory_.ring_mapping.data(), base_, used_);
        base_ = memory_.ring_mapping.data();
        data_ = taken_ + skipped;
        capacity_ = free - skipped;
        return true;
    }
    return grow_overflow(bytes);
}

// Continues the batch in the overflow range, which doubles as needed.
bool RingArea::grow_overflow(std::uint64_t bytes) {
    const std::uint64_t wanted = round_up(2 * (used_ + bytes), kPageBytes);
    if (!overflow_mapping_ && overflow_released_.load() == overflow_taken_)
        overflow_start_ = overflow_taken_; // nothing there any more: begin at offset 0 again
    const std::uint64_t offset = overflow_taken_ - overflow_start_;
    if (!os::grow_memfd(memory_.overflow.get(), offset + wanted))
        return false;
    Result<os::Mapping> mapping = os::map_shared(memory_.overflow.get(), offset, wanted);
    if (!mapping)
        return false;
    if (!overflow_mapping_)
        std::memcpy(mapping->data(), base_, used_);
    overflow_mapping_ = std::move(*mapping);
    base_ = overflow_mapping_->data();
    capacity_ = wanted;
    return true;
}

OutputLocation RingArea::finish(const OutputTail &tail) {
    OutputLocation location;
    location.bytes = used_ - tail.bytes();
    location.length_bytes = tail.length_bytes;
    location.fault_bytes = tail.fault_bytes;
    if (used_ > 0 && overflow_mapping_) {
        location.place = OutputPlace::overflow;
        location.begin = overflow_taken_;
        location.data = overflow_taken_ - overflow_start_;
        overflow_taken_ += round_up(used_, kPageBytes);
        location.end = overflow_taken_;
        ++overflow_batches_;
    } else if (used_ > 0) {
        location.place = OutputPlace::ring;
        location.begin = taken_;
        location.data = data_;
        taken_ = data_ + used_;
        location.end = taken_;
    }
    recent_max_ = std::max(used_, recent_max_ - recent_max_ / 16);
    begin_in_ring();
    return location;
}

bool ReleasedPrefix::fits(std::uint64_t begin, std::uint64_t end) const {
    if (begin < tail_ || begin > end)
        return false;
    const auto next = pending_.lower_bound(begin);
    if (next != pending_.end() && next->first < end)
        return false;
    return next == pending_.begin() || std::prev(next)->second <= begin;
}

std::uint64_t ReleasedPrefix::release(std::uint64_t begin, std::uint64_t end) {
    GM_CHECK(begin >= tail_ && begin <= end);
    if (begin != tail_) {
        pending_.emplace(begin, end);
        return tail_;
    }
    tail_ = end;
    for (auto next = pending_.begin(); next != pending_.end() && next->first == tail_;
         next = pending_.erase(next))
        tail_ = next->second;
    return tail_;
}

} // namespace gristmill::store
