#include "store/warm_file.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "store/collection_file.hpp"

namespace gristmill::store {

namespace {
constexpr std::uint64_t kPopulateBytes = kMiB; // at once: small runs touch little
} // namespace

WarmFile::Room WarmFile::room(std::uint64_t offset, std::uint64_t wanted) {
    if (offset > warm_bytes_ || wanted > warm_bytes_ - offset)
        return {};
    const std::uint64_t first = round_down(offset, kCollectionWindowBytes);
    const std::uint64_t usable = std::min(kCollectionWindowBytes, warm_bytes_ - first);
    const std::uint64_t at = offset - first;
    if (wanted > usable - at)
        return {};
    Window &window = windows_[first];
    if (!window.mapping.data()) {
        Result<os::Mapping> mapping = os::map_shared(fd_.get(), first, kCollectionWindowBytes);
        if (!mapping)
            return {};
        window.mapping = std::move(*mapping);
    }
    if (at < window.begin || at > window.end)
        window.begin = window.end = round_down(at, kPageBytes);
    if (at + wanted > window.end) {
        const std::uint64_t end =
            std::min(round_up(at + wanted + kPopulateBytes, kPageBytes), round_down(usable, kPageBytes));
        if (end < at + wanted ||
            !os::populate({window.mapping.data() + window.end, end - window.end}))
            return {};
        window.end = end;
    }
    return {window.mapping.data() + at, std::min(window.end, usable) - at};
}

} // namespace gristmill::store
