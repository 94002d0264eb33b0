// The sources that are open: how a worker finds the descriptor of the batch it claimed.
#pragma once

#include <cstdint>
#include <span>

#include "base/check.hpp"

namespace gristmill::record {

// Of a source that grows while it is read.
inline constexpr std::uint64_t kUnknownBytes = std::uint64_t{1} << 62;

struct OpenSource {
    std::int32_t fd = -1;          // in the process that opened it
    std::uint32_t generation = 0;  // grows with each source that takes the slot
    std::uint64_t bytes = 0;       // when it was opened, or kUnknownBytes: it lies in the spool
};

// Most sources that are open at a time.
inline constexpr std::uint16_t kSourceSlotsMax = 1024;

// Where workers look a source up.
class OpenSources {
  public:
    virtual ~OpenSources() = default;
    // With a descriptor of the asking process; -1 when it cannot be had.
    virtual OpenSource at(std::uint16_t slot) const = 0;
};

// Threads: ingress writes a slot while no batch of it is in the ring; workers read the slot of a
//          batch they hold. The ring's state words order the two, also between processes.
class SourceTable final : public OpenSources {
  public:
    // The memory outlives this, and is zeroed or holds a table already.
    explicit SourceTable(std::span<OpenSource> slots) : slots_(slots) {}

    std::uint16_t size() const { return static_cast<std::uint16_t>(slots_.size()); }
    OpenSource at(std::uint16_t slot) const override {
        GM_CHECK(slot < slots_.size());
        return slots_[slot];
    }
    void set(std::uint16_t slot, int fd, std::uint64_t bytes) {
        GM_CHECK(slot < slots_.size());
        slots_[slot] = {fd, slots_[slot].generation + 1, bytes};
    }

  private:
    std::span<OpenSource> slots_;
};

} // namespace gristmill::record
