#include "record/input_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace gristmill::record {

Result<void> InputBuffer::grow(std::uint64_t bytes, std::uint64_t used) {
    touched_ = std::max(touched_, bytes);
    if (bytes <= capacity())
        return {};
    const std::uint64_t wanted = std::max(bytes, 2 * capacity());
    Result<os::Mapping> larger = os::map_anonymous(wanted + GM_BATCH_PADDING, os::Pages::normal);
    if (!larger)
        return larger.error();
    if (used > 0)
        std::memcpy(larger->data(), mapping_.data(), used);
    mapping_ = std::move(*larger);
    return {};
}

void InputBuffer::keep(std::uint64_t bytes) noexcept {
    if (touched_ <= bytes)
        return;
    os::discard_pages({mapping_.data() + bytes, mapping_.bytes() - bytes});
    touched_ = bytes;
}

} // namespace gristmill::record
