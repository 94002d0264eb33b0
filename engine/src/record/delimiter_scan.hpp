// Finding and counting delimiters.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.hpp"

namespace gristmill::record {

inline constexpr std::uint64_t kNotFound = ~std::uint64_t{0};

// First occurrence of the delimiter at or behind `from`, or kNotFound.
std::uint64_t find_delimiter(ByteView data, std::string_view delimiter,
                             std::uint64_t from = 0) noexcept;

// Occurrences, left to right, non-overlapping. One byte: at memory speed.
std::uint64_t count_delimiters(ByteView data, std::string_view delimiter) noexcept;

// Behind the last of the first `most` occurrences of one byte, and how many those are. Much faster
// than finding them one by one.
struct Skipped {
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
};
Skipped skip_delimiters(ByteView data, char delimiter, std::uint64_t most) noexcept;

// True when a proper prefix of the delimiter is also a suffix ("$$", "aba"). Occurrences of such
// a delimiter may overlap, so what it means depends on where one starts to read.
bool has_border(std::string_view delimiter) noexcept;

} // namespace gristmill::record
