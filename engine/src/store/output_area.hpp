// Where a worker writes the output of the batch in hand.
#pragma once

#include <cstdint>
#include <span>

#include "base/output_location.hpp"

namespace gristmill::store {

// Use, per batch: reserve and commit any number of times, then finish() or abandon(). What is
// committed is contiguous.
//
// Threads: the worker's.
// Keeps:   I10. Output that is committed stays where it is until egress has retired the batch.
class OutputArea {
  public:
    virtual ~OutputArea() = default;

    // Room for another batch? Asked before a claim, holding nothing (rule R2).
    virtual bool has_room() = 0;

    // `bytes` writable bytes behind what is committed; nullptr when there is no memory. Never
    // waits. Invalidates the pointer of the reserve() before.
    std::byte *reserve(std::uint64_t bytes) {
        if (bytes > capacity_ - used_ && !grow(bytes)) {
            reserved_ = 0;
            return nullptr;
        }
        reserved_ = bytes;
        return base_ + used_;
    }

    // Keeps the first `bytes` of the last reservation; false if it was smaller.
    bool commit(std::uint64_t bytes) {
        if (bytes > reserved_)
            return false;
        used_ += bytes;
        reserved_ = 0;
        return true;
    }

    std::span<const std::byte> committed() const { return {base_, used_}; }

    // Forgets what was committed beyond the first `bytes`.
    void shorten(std::uint64_t bytes) {
        used_ = bytes;
        reserved_ = 0;
    }

    // Throws the batch's output away; it starts anew.
    void abandon() { used_ = reserved_ = 0; }

    // Ends the batch, whose committed bytes end with such a tail.
    virtual OutputLocation finish(const OutputTail &tail) = 0;

  protected:
    // Makes room for `bytes` behind the committed ones, which may move: sets base_, capacity_.
    virtual bool grow(std::uint64_t bytes) = 0;

    std::byte *base_ = nullptr;  // first byte of the batch's output
    std::uint64_t used_ = 0;     // committed
    std::uint64_t capacity_ = 0; // usable from base_
    std::uint64_t reserved_ = 0;
};

} // namespace gristmill::store
