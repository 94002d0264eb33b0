// Where whole records end in bytes of which more may come.
#pragma once

#include <cstdint>

#include <gristmill/options.hpp>

#include "base/bytes.hpp"

namespace gristmill::record {

// Length of the whole records at the beginning of `data`, which begins at a record: as many as fit
// `wanted` bytes, or one that is longer; 0: none is whole yet. For framings whose records can be
// found from anywhere: fixed, and delimiters without a border.
std::uint64_t whole_bytes(ByteView data, const Framing &framing, std::uint64_t wanted) noexcept;

// Walks records one by one, in bytes that grow: for every framing.
//
// Threads: one.
class RecordWalk {
  public:
    explicit RecordWalk(const Framing &framing) : framing_(framing) {}

    // The records at the beginning of other bytes are to be walked, of which `searched` are known
    // to hold no end of one.
    void restart() { at_ = searched_ = count_ = 0; }
    // The same bytes, without the records walked so far.
    void drop_walked() {
        searched_ -= at_;
        at_ = count_ = 0;
    }

    // As many more as there are whole, up to so many in all; false: this framing has no fast way.
    bool step_many(ByteView data, std::uint64_t count_max);

    // One more record, if `data` holds all of it. Looks at no byte twice.
    bool step(ByteView data);
    std::uint64_t bytes() const { return at_; } // of the records walked
    std::uint64_t count() const { return count_; }

  private:
    const Framing &framing_;
    std::uint64_t at_ = 0;
    std::uint64_t searched_ = 0; // no delimiter that begins before this is still to be found
    std::uint64_t count_ = 0;
};

} // namespace gristmill::record
