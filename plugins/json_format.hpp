// Printing JSON into memory that has room: each function writes at `out` and returns the end.
#ifndef GRISTMILL_PLUGINS_JSON_FORMAT_HPP
#define GRISTMILL_PLUGINS_JSON_FORMAT_HPP

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "text_blocks.hpp"

namespace gristmill::json {

/// The longest decimal print of a 64-bit integer, sign included.
inline constexpr std::size_t integer_bytes_max = 20;

/// The longest print of a double, "-2.2250738585072014e-308".
inline constexpr std::size_t double_bytes_max = 24;

inline constexpr std::size_t number_bytes_max = double_bytes_max;

/// The longest print of a string of `bytes` bytes: every byte may become \u00xx; two quotes.
constexpr std::size_t string_bytes_max(std::size_t bytes) noexcept { return 6 * bytes + 2; }

/// Bytes that print_text may read behind `text` and write behind the end it returns.
inline constexpr std::size_t copy_slack = 15;

/// Prints a literal, without its final NUL.
template <std::size_t Size>
char *print_literal(char *out, const char (&literal)[Size]) noexcept {
    std::memcpy(out, literal, Size - 1);
    return out + (Size - 1);
}

/// Copies a short text in steps of 16 bytes: needs copy_slack readable bytes behind `text` and
/// as many writable ones behind the print.
inline char *print_text(char *out, std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size(); i += copy_slack + 1) {
        std::memcpy(out + i, text.data() + i, copy_slack + 1);
    }
    return out + text.size();
}

/// Needs room for integer_bytes_max bytes.
template <std::integral Integer>
char *print_integer(char *out, Integer value) noexcept {
    return std::to_chars(out, out + integer_bytes_max, value).ptr;
}

namespace detail {

/// Prints decimal / 10000, for 0 <= decimal, without zeros to spare.
inline char *print_ten_thousandths(char *out, std::int64_t decimal) noexcept {
    out = print_integer(out, decimal / 10000);
    *out++ = '.';
    for (std::int64_t rest = decimal % 10000, unit = 1000; unit != 0; rest %= unit, unit /= 10)
        *out++ = static_cast<char>('0' + rest / unit);
    while (out[-1] == '0' && out[-2] != '.')
        --out;
    return out;
}

} // namespace detail

/// Prints a finite double as Python's repr does: the fewest digits that read back, at least one of
/// them behind the point, and an exponent below 1e-4 and from 1e16 on. Needs room for
/// double_bytes_max bytes.
inline char *print_double(char *out, double value) noexcept {
    const double size = std::abs(value);
    if (size < 1e9) {
        // The double next to a decimal of at most 15 digits prints as that decimal.
        const auto decimal = static_cast<std::int64_t>(size * 10000 + 0.5);
        if (static_cast<double>(decimal) / 10000 == size) {
            *out = '-';
            return detail::print_ten_thousandths(out + std::signbit(value), decimal);
        }
    }
    const bool is_plain = size >= 1e-4 && size < 1e16;
    const auto format = is_plain ? std::chars_format::fixed : std::chars_format::scientific;
    out = std::to_chars(out, out + double_bytes_max, value, format).ptr;
    if (is_plain && size == std::floor(size))
        out = print_literal(out, ".0");
    return out;
}

/// Prints a number as Python does, by its type.
inline char *print_number(char *out, double value) noexcept { return print_double(out, value); }
template <std::integral Integer>
char *print_number(char *out, Integer value) noexcept {
    return print_integer(out, value);
}

/// Prints round(value, 4) as Python does, for |value| < 1e6: the decimal nearest to the binary
/// value itself, ties to even. Needs room for double_bytes_max bytes.
inline char *print_rounded_to_4(char *out, double value) noexcept {
    const double scaled = std::abs(value) * 10000;
    const auto below = static_cast<std::int64_t>(scaled);
    const double rest = scaled - static_cast<double>(below);
    if (std::abs(rest - 0.5) > 1e-4) {
        *out = '-';
        return detail::print_ten_thousandths(out + std::signbit(value), below + (rest > 0.5));
    }
    // Near a tie: the error of the product, less than 1e-5, could count.
    out = std::to_chars(out, out + double_bytes_max, value, std::chars_format::fixed, 4).ptr;
    while (out[-1] == '0' && out[-2] != '.')
        --out;
    return out;
}

namespace detail {

inline char *print_unicode_escape(char *out, std::uint32_t unit) noexcept {
    constexpr const char *digits = "0123456789abcdef";
    *out++ = '\\';
    *out++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *out++ = digits[(unit >> shift) & 0xf];
    return out;
}

/// The letter of a two-character escape such as \n; 0 if `byte` has none.
constexpr char short_escape(char byte) noexcept {
    switch (byte) {
    case '"':
        return '"';
    case '\\':
        return '\\';
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

/// Copies `text` if it is of at least eight bytes and prints as it is; else what stands at `out` is
/// undefined. Eight bytes at a time: the last eight overlap those before them.
inline bool copy_plain(char *out, std::string_view text) noexcept {
    std::uint64_t bytes;
    if (text.size() < sizeof bytes)
        return false;
    const std::size_t last = text.size() - sizeof bytes;
    for (std::size_t at = 0;; at = std::min(at + sizeof bytes, last)) {
        std::memcpy(&bytes, text.data() + at, sizeof bytes);
        if (text::not_plain(bytes) != 0)
            return false;
        std::memcpy(out + at, &bytes, sizeof bytes);
        if (at == last)
            return true;
    }
}

/// Decodes the code point at `at`, which begins a valid UTF-8 sequence, and moves past it.
inline std::uint32_t next_code_point(const char *&at) noexcept {
    const auto lead = static_cast<unsigned char>(*at++);
    if (lead < 0x80)
        return lead;
    const int more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    std::uint32_t point = lead & (0x3fu >> more);
    for (int i = 0; i < more; ++i)
        point = (point << 6) | (static_cast<unsigned char>(*at++) & 0x3fu);
    return point;
}

} // namespace detail

/// Prints what stands between the quotes of json.dumps(utf8, ensure_ascii=True): everything but
/// printable ASCII is escaped. `utf8` is valid. Needs room for string_bytes_max(utf8.size()).
inline char *print_string_body(char *out, std::string_view utf8) noexcept {
    if (detail::copy_plain(out, utf8))
        return out + utf8.size();
    const char *at = utf8.data();
    const char *const end = at + utf8.size();
    while (at != end) {
        const char byte = *at;
        if (byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\') {
            *out++ = byte;
            ++at;
        } else if (const char letter = detail::short_escape(byte); letter != 0) {
            *out++ = '\\';
            *out++ = letter;
            ++at;
        } else if (const std::uint32_t point = detail::next_code_point(at); point < 0x10000) {
            out = detail::print_unicode_escape(out, point);
        } else {
            out = detail::print_unicode_escape(out, 0xd800 + ((point - 0x10000) >> 10));
            out = detail::print_unicode_escape(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
        }
    }
    return out;
}

} // namespace gristmill::json

#endif
