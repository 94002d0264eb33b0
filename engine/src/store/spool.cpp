#include "store/spool.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "base/check.hpp"

namespace gristmill::store {

namespace {
constexpr std::uint32_t kReleasesPerLook = 64; // at how many slots are needed
constexpr std::uint64_t kAuditPagesMax = 256;  // of a slot: all of a usual one
} // namespace

Result<Spool> Spool::create(std::uint64_t slot_bytes, std::uint64_t limit_bytes,
                            const std::vector<SpoolNode> &nodes) {
    GM_CHECK(!nodes.empty());
    Result<os::UniqueFd> fd = os::create_memfd("gristmill-spool", 0);
    if (!fd)
        return fd.error();
    Spool spool;
    spool.fd_ = std::move(*fd);
    spool.slot_bytes_ = round_up(slot_bytes, kPageBytes);
    spool.limit_bytes_ = std::max(limit_bytes, 2 * spool.slot_bytes_);
    for (const SpoolNode &node : nodes)
        spool.pools_.push_back({node});
    spool.chosen_ = spool.nodes() - 1;
    return spool;
}

// The one with the shortest backlog; of equal ones the next in turn.
std::uint32_t Spool::choose_node() const {
    std::uint32_t best = (chosen_ + 1) % nodes();
    for (std::uint32_t step = 2; step <= nodes(); ++step) {
        const std::uint32_t other = (chosen_ + step) % nodes();
        const Pool &a = pools_[other];
        const Pool &b = pools_[best];
        if (a.node.workers > 0 && (b.node.workers == 0 || a.in_use_bytes * b.node.workers <
                                                              b.in_use_bytes * a.node.workers))
            best = other;
    }
    return best;
}

Result<std::optional<std::uint32_t>> Spool::acquire(std::uint64_t bytes, bool beyond_limit) {
    const std::uint64_t wanted =
        bytes <= slot_bytes() ? slot_bytes_ : round_up(bytes + GM_BATCH_PADDING, kPageBytes);
    if (!beyond_limit && in_use_bytes_ + wanted > limit_bytes_)
        return std::optional<std::uint32_t>();
    const std::uint32_t node = choose_node();
    const std::uint64_t bytes_max = beyond_limit ? 2 * wanted : limit_bytes_ - in_use_bytes_;
    std::optional<std::uint32_t> found = take_free(pools_[node], wanted, bytes_max);
    if (!found) {
        Result<std::uint32_t> made = make_slot(node, wanted);
        if (made)
            found = *made;
        for (std::uint32_t step = 1; !found && step < nodes(); ++step) // better than none
            found = take_free(pools_[(node + step) % nodes()], wanted, bytes_max);
        if (!found && !beyond_limit && in_use_bytes_ > 0)
            return std::optional<std::uint32_t>();
        if (!found)
            return made.error();
    }
    Slot &slot = slots_[*found];
    Pool &pool = pools_[slot.node];
    if (!slot.warm)
        count_resident(slot.bytes, 0);
    slot.warm = true;
    slot.holders = 1;
    chosen_ = node; // whose turn it was
    in_use_bytes_ += slot.bytes;
    pool.in_use_bytes += slot.bytes;
    pool.in_use_max = std::max(pool.in_use_max, ++pool.in_use);
    pool.working_set = std::max(pool.working_set, pool.in_use_max);
    return found;
}

// The warmest that is not too large.
std::optional<std::uint32_t> Spool::take_free(Pool &pool, std::uint64_t bytes,
                                              std::uint64_t bytes_max) {
    if (bytes == slot_bytes_ && !pool.free.empty()) {
        const std::uint32_t slot = pool.free.back();
        pool.free.pop_back();
        return slot;
    }
    const auto found = std::find_if(pool.large.begin(), pool.large.end(), [&](std::uint32_t slot) {
        return slots_[slot].bytes >= bytes && slots_[slot].bytes <= std::min(2 * bytes, bytes_max);
    });
    if (bytes == slot_bytes_ || found == pool.large.end())
        return std::nullopt;
    const std::uint32_t slot = *found;
    pool.large.erase(found);
    return slot;
}

Result<std::uint32_t> Spool::make_slot(std::uint32_t node, std::uint64_t bytes) {
    const Error no_memory{ErrorKind::memory,
                          "no memory for input on its way; lower memory=, or use fewer workers"};
    if (!os::grow_memfd(fd_.get(), file_bytes_ + bytes).ok())
        return no_memory;
    Result<os::Mapping> mapping = os::map_shared(fd_.get(), file_bytes_, bytes);
    if (!mapping)
        return no_memory;
    // Before the first touch: what is there already would stay where it is. Where it is refused the
    // slot is as good as any.
    if (const auto memory_node = pools_[node].node.memory_node)
        static_cast<void>(os::prefer_memory_of(*memory_node, {mapping->data(), bytes}));
    slots_.push_back({file_bytes_, bytes, std::move(*mapping), node});
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
    Pool &pool = pools_[slot.node];
    pool.in_use_bytes -= slot.bytes;
    --pool.in_use;
    if (slot.bytes > slot_bytes_) {
        give_memory_back(slot);
        pool.large.push_back(index);
    } else {
        pool.free.push_back(index);
    }
    trim(pool);
}

// Free slots beyond the working set need no memory.
void Spool::trim(Pool &pool) {
    if (++pool.releases == kReleasesPerLook) {
        pool.releases = 0;
        pool.working_set = std::exchange(pool.in_use_max, pool.in_use);
    }
    const std::size_t warm = pool.working_set - std::min(pool.working_set, pool.in_use);
    for (std::size_t i = 0; i + warm < pool.free.size(); ++i)
        if (slots_[pool.free[i]].warm)
            give_memory_back(slots_[pool.free[i]]);
}

std::vector<os::PageAudit> Spool::audit() const {
    std::vector<os::PageAudit> audits(pools_.size());
    for (const Slot &slot : slots_)
        if (const auto memory_node = pools_[slot.node].node.memory_node; memory_node && slot.warm)
            audits[slot.node] +=
                os::audit_pages({slot.mapping.data(), slot.bytes}, *memory_node, kAuditPagesMax);
    return audits;
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
