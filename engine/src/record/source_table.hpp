// The sources that are open: how a worker finds the descriptor of the batch it claimed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.hpp"

namespace gristmill::record {

struct OpenSource {
    int fd = -1;
    std::uint64_t bytes = 0; // when it was opened
};

// Threads: ingress writes a slot while no batch of it is in the ring; workers read the slot of a
//          batch they hold. The ring's state words order the two.
class SourceTable {
  public:
    explicit SourceTable(std::uint16_t slots) : slots_(slots) {}

    std::uint16_t size() const { return static_cast<std::uint16_t>(slots_.size()); }
    const OpenSource &at(std::uint16_t slot) const {
        GM_CHECK(slot < slots_.size());
        return slots_[slot];
    }
    void set(std::uint16_t slot, const OpenSource &source) {
        GM_CHECK(slot < slots_.size());
        slots_[slot] = source;
    }

  private:
    std::vector<OpenSource> slots_;
};

} // namespace gristmill::record
