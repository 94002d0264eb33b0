#include "input/block_decoder.hpp"

#include <algorithm>

namespace gristmill::input {

Decoder::Step BlockDecoder::advance(ByteView input, std::span<std::byte> output) {
    if (holds_output_) {
        const Step flushed = step({}, output);
        if (failed() || flushed.produced > 0 || flushed.frame_ended)
            return flushed;
    }
    if (input.empty())
        return {};
    const std::size_t block =
        wanted_ > block_header_bytes_ ? wanted_ - block_header_bytes_ : wanted_;
    return step(input.first(std::min(block, input.size())), output);
}

Decoder::Step BlockDecoder::step(ByteView input, std::span<std::byte> output) {
    const Call done = call(input, output);
    if (failed())
        return {};
    holds_output_ = done.produced == output.size();
    if (done.wanted > 0) {
        wanted_ = done.wanted;
        return {done.consumed, done.produced, false};
    }
    wanted_ = 1;
    holds_output_ = false;
    return {done.consumed, done.produced, true};
}

} // namespace gristmill::input
