// A worker's private buffer for input: recycled, node-local by first touch, padded for SIMD.
#pragma once

#include <cstdint>
#include <span>

#include <gristmill/error.hpp>
#include <gristmill/plugin.h>

#include "base/bytes.hpp"
#include "os/memory.hpp"

namespace gristmill::record {

// Threads: one.
// Owns:    the memory. GM_BATCH_PADDING readable bytes always follow capacity().
class InputBuffer {
  public:
    std::byte *data() noexcept { return mapping_.data(); }
    std::uint64_t capacity() const noexcept {
        return mapping_.bytes() > GM_BATCH_PADDING ? mapping_.bytes() - GM_BATCH_PADDING : 0;
    }

    // All of it, whether it has been touched or not.
    std::span<const std::byte> memory() const noexcept { return {mapping_.data(), mapping_.bytes()}; }

    // Makes room for `bytes`, keeping the first `used` ones. Grows by doubling.
    Result<void> grow(std::uint64_t bytes, std::uint64_t used);

    // Gives the memory behind the first `bytes` back, if a larger batch has left some there.
    void keep(std::uint64_t bytes) noexcept;

  private:
    os::Mapping mapping_;
    std::uint64_t touched_ = 0; // bytes that may have memory behind them
};

} // namespace gristmill::record
