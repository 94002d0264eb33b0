#include "store/spool.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace gristmill::store {

namespace {
constexpr std::uint32_t kReleasesPerLook = 64; // at how many slots are needed
} // namespace

Result<Spool> Spool::create(std::uint64_t slot_bytes, std::uint64_t limit_bytes) {
    Result<os::UniqueFd> fd = os::create_memfd("gristmill-spool", 0);
    if (!fd)
        return fd.error();
    Spool spool;
    spool.fd_ = std::move(*fd);
    spool.slot_bytes_ = round_up(slot_bytes, kPageBytes);
    spool.limit_bytes_ = std::max(limit_bytes, 2 * spool.slot_bytes_);
    return spool;
}

Result<std::optional<std::uint32_t>> Spool::acquire(std::uint64_t bytes, bool beyond_limit) {
    const std::uint64_t wanted =
        bytes <= slot_bytes() ? slot_bytes_ : round_up(bytes + GM_BATCH_PADDING, kPageBytes);
    if (!beyond_limit && in_use_bytes_ + wanted > limit_bytes_)
        return std::optional<std::uint32_t>();
    std::optional<std::uint32_t> found = take_free(
        wanted, beyond_limit ? 2 * wanted : limit_bytes_ - in_use_bytes_);
    if (!found) {
        Result<std::uint32_t> made = make_slot(wanted);
        if (!made && !beyond_limit && in_use_ > 0)
            return std::optional<std::uint32_t>();
        if (!made)
            return made.error();
        found = *made;
    }
    Slot &slot = slots_[*found];
    if (!slot.warm)
        count_resident(slot.bytes, 0);
    slot.warm = true;
    slot.holders = 1;
    in_use_bytes_ += slot.bytes;
    in_use_max_ = std::max(in_use_max_, ++in_use_);
    working_set_ = std::max(working_set_, in_use_max_);
    return found;
}

// The warmest that is not too large.
std::optional<std::uint32_t> Spool::take_free(std::uint64_t bytes, std::uint64_t bytes_max) {
    if (bytes == slot_bytes_ && !free_.empty()) {
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        return slot;
    }
    const auto found = std::find_if(large_.begin(), large_.end(), [&](std::uint32_t slot) {
        return slots_[slot].bytes >= bytes && slots_[slot].bytes <= std::min(2 * bytes, bytes_max);
    });
    if (bytes == slot_bytes_ || found == large_.end())
        return std::nullopt;
    const std::uint32_t slot = *found;
    large_.erase(found);
    return slot;
}

Result<std::uint32_t> Spool::make_slot(std::uint64_t bytes) {
    const Error no_memory{ErrorKind::memory,
                          "no memory for input on its way; lower memory=, or use fewer workers"};
    if (!os::grow_memfd(fd_.get(), file_bytes_ + bytes).ok())
        return no_memory;
    Result<os::Mapping> mapping = os::map_shared(fd_.get(), file_bytes_, bytes);
    if (!mapping)
        return no_memory;
    slots_.push_back({file_bytes_, bytes, std::move(*mapping)});
    file_bytes_ += bytes;
    ++counters_.slots;
    return static_cast<std::uint32_t>(slots_.size() - 1);
}

bool Spool::make_present(std::uint32_t index) {
    Slot &slot = slots_[index];
    if (!slot.present)
        slot.present = os::populate({slot.mapping.data(), slot.bytes});
    return slot.present;
}

void Spool::release(std::uint32_t index) {
    Slot &slot = slots_[index];
    GM_CHECK(slot.holders > 0);
    if (--slot.holders > 0)
        return;
    in_use_bytes_ -= slot.bytes;
    --in_use_;
    if (slot.bytes > slot_bytes_) {
        give_memory_back(slot);
        large_.push_back(index);
    } else {
        free_.push_back(index);
    }
    trim();
}

// Free slots beyond the working set need no memory.
void Spool::trim() {
    learn_working_set();
    const std::size_t warm = working_set_ - std::min(working_set_, in_use_);
    for (std::size_t i = 0; i + warm < free_.size(); ++i)
        if (slots_[free_[i]].warm)
            give_memory_back(slots_[free_[i]]);
}

void Spool::learn_working_set() {
    if (++releases_ < kReleasesPerLook)
        return;
    releases_ = 0;
    working_set_ = std::exchange(in_use_max_, in_use_);
}

// A kernel that refuses once does so always: the memory stays ours, and is counted.
void Spool::give_memory_back(Slot &slot) {
    if (counters_.punches_failed > 0)
        return;
    if (!os::punch_hole(fd_.get(), slot.offset, slot.bytes)) {
        ++counters_.punches_failed;
        return;
    }
    slot.warm = slot.present = false;
    counters_.punched_bytes += slot.bytes;
    count_resident(0, slot.bytes);
}

void Spool::count_resident(std::uint64_t more, std::uint64_t less) {
    counters_.resident_bytes = counters_.resident_bytes + more - less;
    counters_.resident_bytes_max =
        std::max(counters_.resident_bytes_max, counters_.resident_bytes);
}

} // namespace gristmill::store
