// What zstd and lz4 have in common.
#pragma once

#include <cstddef>

#include "input/decoder.hpp"

namespace gristmill::input {

// Both libraries decode block by block, and both forget what they produced in a call that then finds
// damage. So they are never given more than one block at a time: what lies before a damaged block
// has been produced, and its offset is known.
class BlockDecoder : public Decoder {
  protected:
    // What one call of the library did; nothing when it failed and damaged() or its like was called.
    // wanted 0: the frame has ended, and given everything.
    struct Call {
        std::size_t consumed = 0;
        std::size_t produced = 0;
        std::size_t wanted = 0; // bytes up to the end of the next block's header, a hint
    };

    // `block_header_bytes`: how much `wanted` holds beyond the block itself.
    BlockDecoder(Compression compression, std::size_t block_header_bytes)
        : Decoder(compression), block_header_bytes_(block_header_bytes) {}

    virtual Call call(ByteView input, std::span<std::byte> output) = 0;

  private:
    Step advance(ByteView input, std::span<std::byte> output) final;
    Step step(ByteView input, std::span<std::byte> output);

    const std::size_t block_header_bytes_;
    std::size_t wanted_ = 1;
    bool holds_output_ = false; // perhaps: it had no more room
};

} // namespace gristmill::input
