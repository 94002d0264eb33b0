// What goes through the spool: sources that cannot be divided, and items. And when it may be
// forgotten.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gristmill/error.hpp>

#include "input/spooled_source.hpp"
#include "ring/publisher.hpp"
#include "store/spool.hpp"

namespace gristmill::input {

// Threads: one, ingress.
// Owns:    the spool, and the source that is being read.
class SpoolFeed {
  public:
    using Publisher = ring::Publisher<ring::SystemAtomics>;

    static Result<SpoolFeed> create(std::uint64_t slot_bytes, std::uint64_t limit_bytes,
                                    const std::vector<store::SpoolNode> &nodes);
    SpoolFeed(SpoolFeed &&) = default;
    SpoolFeed &operator=(SpoolFeed &&) = delete;

    int fd() const { return spool_->fd(); }
    const store::SpoolCounters &counters() const { return spool_->counters(); }
    std::uint32_t node(const SpooledCut &cut) const { return spool_->node(cut.slot); }
    std::vector<os::PageAudit> audit() const { return spool_->audit(); }

    // The next source; the one before has ended.
    void begin(ByteSource source, const std::string &name, const Framing &framing,
               std::uint64_t max_record_bytes, std::uint64_t read_bytes);
    void end_source() { source_.reset(); }
    SpooledSource &source() { return *source_; }

    SpooledSource::Next next(const CutSize &size, bool flush, SpooledCut &cut) {
        return source_->next(size, flush, in_flight_.empty(), cut);
    }

    // Puts frames of items there: bytes [begin, begin + size) of them all. nullopt: no room now.
    Result<std::optional<SpooledCut>> place(std::string_view frames, std::uint64_t begin);

    // The cut has become batch `sequence`, which holds its slot from now on.
    void published(std::uint64_t sequence, const SpooledCut &cut);
    // Frees the slots of batches that are done. How many batches have become so. `quick` looks no
    // further than what workers may have in hand.
    enum class Look : std::uint8_t { quick, thorough };
    std::size_t reclaim(const Publisher &publisher, Look look = Look::thorough);

  private:
    struct InFlight {
        std::uint64_t sequence = 0;
        std::uint32_t slot = 0;
        bool released = false;
    };

    explicit SpoolFeed(store::Spool spool)
        : spool_(std::make_unique<store::Spool>(std::move(spool))) {}

    std::unique_ptr<store::Spool> spool_; // stays where it is
    std::unique_ptr<SpooledSource> source_;
    std::deque<InFlight> in_flight_; // by sequence
    std::optional<std::uint32_t> item_slot_; // being filled
    std::uint64_t item_bytes_ = 0;           // in it
};

} // namespace gristmill::input
