// An output ring whose bytes are numbers of batches: who wrote where, and is it still there?
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/output_location.hpp"
#include "store/output_ring.hpp"

namespace gristmill::test {

// The rules of store::RingArea in small: room for the recent largest output is asked for before a
// claim, what does not fit goes to an overflow range, positions never wrap.
class OutputCells {
  public:
    explicit OutputCells(std::uint64_t cells) : cells_(cells, kNobody) {}

    bool has_room(std::uint64_t released, std::uint64_t overflow_released) const {
        const std::uint64_t free = cells_.size() - (taken_ - released);
        return overflow_taken_ == overflow_released && free > 0 && free >= recent_max_;
    }
    bool fits(std::uint64_t cells, std::uint64_t released) const {
        return cells <= cells_.size() - (taken_ - released);
    }

    // OutputPlace::none: it would overwrite what has not been retired.
    OutputLocation write(std::uint64_t sequence, std::uint64_t cells, std::uint64_t released) {
        OutputLocation location;
        recent_max_ = std::max(cells, recent_max_ - recent_max_ / 4);
        if (!fits(cells, released)) {
            location.place = OutputPlace::overflow;
            location.begin = overflow_taken_;
            location.bytes = cells;
            location.end = overflow_taken_ + cells;
            overflow_taken_ += cells;
            return location;
        }
        location.place = OutputPlace::ring;
        location.begin = location.data = taken_;
        location.bytes = cells;
        location.end = taken_ + cells;
        for (; taken_ < location.end; ++taken_) {
            std::uint64_t &cell = cells_[taken_ % cells_.size()];
            if (cell != kNobody)
                return {};
            cell = sequence;
        }
        return location;
    }

    // Another incarnation goes on at these positions; what the dead one wrote behind them is
    // nobody's.
    void restart(std::uint64_t ring_start, std::uint64_t overflow_start) {
        for (std::uint64_t at = ring_start; at < taken_; ++at)
            cells_[at % cells_.size()] = kNobody;
        taken_ = ring_start;
        overflow_taken_ = overflow_start;
        recent_max_ = 0;
    }

    // Egress takes the output of a batch; false when it is not there any more.
    bool take(std::uint64_t sequence, const OutputLocation &location) {
        if (location.place != OutputPlace::ring)
            return true;
        for (std::uint64_t at = location.begin; at < location.end; ++at) {
            std::uint64_t &cell = cells_[at % cells_.size()];
            if (cell != sequence)
                return false;
            cell = kNobody;
        }
        return true;
    }

    // The new tail. `by_position` = false: as if batches left in the order of their positions.
    std::uint64_t release(const OutputLocation &location, bool by_position) {
        if (location.place == OutputPlace::overflow)
            return overflow_prefix_.release(location.begin, location.end);
        if (by_position)
            return prefix_.release(location.begin, location.end);
        by_sequence_ = std::max(by_sequence_, location.end);
        return by_sequence_;
    }

  private:
    static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
    std::vector<std::uint64_t> cells_;
    std::uint64_t taken_ = 0;
    std::uint64_t recent_max_ = 0;
    std::uint64_t overflow_taken_ = 0;
    store::ReleasedPrefix prefix_; // egress's, as all below
    store::ReleasedPrefix overflow_prefix_;
    std::uint64_t by_sequence_ = 0;
};

} // namespace gristmill::test
