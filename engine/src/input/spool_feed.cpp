#include "input/spool_feed.hpp"

#include <algorithm>
#include <utility>

#include "os/fd_io.hpp"
#include "os/os_error.hpp"

namespace gristmill::input {

Result<SpoolFeed> SpoolFeed::create(std::uint64_t slot_bytes, std::uint64_t limit_bytes,
                                    const std::vector<store::SpoolNode> &nodes) {
    Result<store::Spool> spool = store::Spool::create(slot_bytes, limit_bytes, nodes);
    if (!spool)
        return spool.error();
    return SpoolFeed(std::move(*spool));
}

void SpoolFeed::begin(ByteSource source, const std::string &name, const Framing &framing,
                      std::uint64_t max_record_bytes, std::uint64_t read_bytes) {
    source_ = std::make_unique<SpooledSource>(*spool_, std::move(source), name, framing,
                                              max_record_bytes, read_bytes);
}

Result<std::optional<SpooledCut>> SpoolFeed::place(std::string_view frames, std::uint64_t begin) {
    if (item_slot_ && spool_->capacity(*item_slot_) - item_bytes_ < frames.size()) {
        spool_->release(*item_slot_);
        item_slot_.reset();
    }
    if (!item_slot_) {
        Result<std::optional<std::uint32_t>> slot =
            spool_->acquire(frames.size(), in_flight_.empty());
        if (!slot)
            return slot.error();
        if (!*slot)
            return std::optional<SpooledCut>();
        item_slot_ = **slot;
        item_bytes_ = 0;
    }
    const std::uint64_t at = spool_->offset(*item_slot_) + item_bytes_;
    if (const int failed = os::pwrite_full(spool_->fd(), bytes_of(frames), at); failed != 0)
        return os::errno_error(ErrorKind::memory, failed, "no memory for items on their way");
    item_bytes_ += frames.size();
    spool_->hold(*item_slot_);
    SpooledCut cut;
    cut.slot = *item_slot_;
    cut.begin = begin;
    cut.end = begin + frames.size();
    cut.origin = at - begin;
    if (spool_->nodes() > 1) { // batches take turns among them
        spool_->release(*item_slot_);
        item_slot_.reset();
    }
    return std::optional<SpooledCut>(cut);
}

void SpoolFeed::published(std::uint64_t sequence, const SpooledCut &cut) {
    in_flight_.push_back({sequence, cut.slot, false});
}

std::size_t SpoolFeed::reclaim(const Publisher &publisher, Look look) {
    std::size_t found = 0;
    std::size_t open = 0;
    for (InFlight &batch : in_flight_) {
        if (look == Look::quick && open > publisher.workers())
            break; // they claim in order: what follows lies ready
        if (batch.released)
            continue;
        if (!publisher.input_is_done(batch.sequence)) {
            ++open;
            continue;
        }
        spool_->release(batch.slot);
        batch.released = true;
        ++found;
    }
    while (!in_flight_.empty() && in_flight_.front().released)
        in_flight_.pop_front();
    return found;
}

} // namespace gristmill::input
