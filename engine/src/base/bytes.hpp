// Views of bytes, and arithmetic on sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace gristmill {

using ByteView = std::span<const std::byte>;

inline ByteView bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}
inline std::string_view text_of(ByteView bytes) {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}
constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) {
    return value / unit * unit;
}

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kHugePageBytes = 2 * kMiB;

} // namespace gristmill
