#include "record/spool_windows.hpp"

#include <gristmill/plugin.h>
#include <utility>

#include "base/bytes.hpp"

namespace gristmill::record {

namespace {
constexpr std::uint64_t kStepBytes = 32 * kMiB; // from the start of one window to that of the next
constexpr std::uint64_t kWindowBytes = kStepBytes + 8 * kMiB; // they overlap by the longest batch
} // namespace

const std::byte *SpoolWindows::find(int fd, std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t number = offset / kStepBytes;
    const std::uint64_t within = offset % kStepBytes;
    if (refused_ || within + bytes + GM_BATCH_PADDING > kWindowBytes)
        return nullptr;
    if (windows_.size() <= number)
        windows_.resize(number + 1);
    if (!windows_[number].data()) {
        Result<os::Mapping> window = os::map_shared_readable(fd, number * kStepBytes, kWindowBytes);
        refused_ = !window;
        if (refused_)
            return nullptr;
        windows_[number] = std::move(*window);
    }
    return windows_[number].data() + within;
}

} // namespace gristmill::record
