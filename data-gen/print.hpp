// Printing into memory that has room: each function writes at `out` and returns the end of the
// text. For speed a few bytes behind that end may be overwritten too, never more than print_slack.
#ifndef GRISTMILL_DATAGEN_PRINT_HPP
#define GRISTMILL_DATAGEN_PRINT_HPP

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gristmill::datagen {

static_assert(std::endian::native == std::endian::little, "texts are put together in words");

inline constexpr std::size_t print_slack = 64;

inline char *print(char *out, std::string_view text) noexcept {
    std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

/// A short text that prints as `Room` bytes, whatever its own size: quicker than a copy of a size
/// that is not known beforehand.
template <std::size_t Room>
class PaddedText {
    static_assert(Room <= print_slack);

  public:
    template <std::size_t Size>
    constexpr PaddedText(const char (&text)[Size]) : size_(Size - 1) { // NOLINT(*-explicit-*)
        static_assert(Size - 1 <= Room);
        for (std::size_t i = 0; i + 1 < Size; ++i)
            bytes_[i] = text[i];
    }

    constexpr std::string_view view() const noexcept { return {bytes_.data(), size_}; }

    char *print_at(char *out) const noexcept {
        std::memcpy(out, bytes_.data(), Room);
        return out + size_;
    }

  private:
    std::array<char, Room> bytes_{};
    std::size_t size_;
};

template <std::size_t Room>
char *print(char *out, const PaddedText<Room> &text) noexcept {
    return text.print_at(out);
}

inline constexpr std::uint64_t ascii_zeros = 0x3030303030303030;

/// The digits of `value` < 10^8, a byte each, the first one lowest: halved three times, in all
/// lanes at once.
inline std::uint64_t eight_digits(std::uint64_t value) noexcept {
    const std::uint64_t fours = value / 10000 | (value % 10000) << 32;
    const std::uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007f0000007f;
    const std::uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
    const std::uint64_t tens = (twos * 103 >> 10) & 0x000f000f000f000f;
    return tens | (twos - tens * 10) << 8;
}

/// `digits` <= 8 decimal digits of value < 10^digits, with leading zeros.
inline char *print_padded(char *out, std::uint64_t value, int digits) noexcept {
    const std::uint64_t text = (eight_digits(value) | ascii_zeros) >> (64 - 8 * digits);
    std::memcpy(out, &text, sizeof text);
    return out + digits;
}

inline char *print(char *out, std::uint64_t value) noexcept {
    constexpr std::uint64_t limit = 100000000;
    if (value >= limit)
        return print_padded(print(out, value / limit), value % limit, 8);
    const std::uint64_t digits = eight_digits(value);
    constexpr std::uint64_t last = std::uint64_t{1} << 56; // stays, even if it is a zero
    const int zeros = std::countr_zero(digits | last) / 8;
    const std::uint64_t text = (digits | ascii_zeros) >> (8 * zeros);
    std::memcpy(out, &text, sizeof text);
    return out + 8 - zeros;
}

/// The hexadecimal digits of `value`, a byte each, the first one lowest.
inline std::uint64_t eight_hex_digits(std::uint32_t value) noexcept {
    std::uint64_t nibbles = __builtin_bswap32(value);
    nibbles = (nibbles | nibbles << 16) & 0x0000ffff0000ffff;
    nibbles = (nibbles | nibbles << 8) & 0x00ff00ff00ff00ff;
    nibbles = (nibbles >> 4 | nibbles << 8) & 0x0f0f0f0f0f0f0f0f;
    const std::uint64_t letters = (nibbles + 0x0606060606060606) >> 4 & 0x0101010101010101;
    return nibbles + ascii_zeros + letters * ('a' - '9' - 1);
}

/// The 12 hexadecimal digits of `value` < 2^48.
inline char *print_hex12(char *out, std::uint64_t value) noexcept {
    const std::uint64_t first = eight_hex_digits(static_cast<std::uint32_t>(value >> 16));
    const std::uint64_t last = eight_hex_digits(static_cast<std::uint32_t>(value << 16));
    std::memcpy(out, &first, sizeof first);
    std::memcpy(out + sizeof first, &last, sizeof last);
    return out + 12;
}

/// value * scale, correctly rounded from the exact binary value, ties to even. For
/// 0 <= value * scale < 2^52.
inline std::uint64_t round_scaled(double value, double scale) noexcept {
    const auto below = static_cast<std::uint64_t>(value * scale);
    // Rounded once: its sign is that of the exact difference.
    const double past_half = std::fma(value, scale, -(static_cast<double>(below) + 0.5));
    return below + (past_half > 0 || (past_half == 0 && below % 2 == 1));
}

/// round(value, 1) as Python prints it, for 0 <= value < 10^9: so few digits are already the
/// shortest that read back.
inline char *print_rounded1(char *out, double value) noexcept {
    const std::uint64_t tenths = round_scaled(value, 10);
    out = print(out, tenths / 10);
    out[0] = '.';
    out[1] = static_cast<char>('0' + tenths % 10);
    return out + 2;
}

/// round(value, 3) as Python prints it, for 0 <= value < 10^9.
inline char *print_rounded3(char *out, double value) noexcept {
    const std::uint64_t thousandths = round_scaled(value, 1000);
    out = print(out, thousandths / 1000);
    *out++ = '.';
    print_padded(out, thousandths % 1000, 3);
    return out + 3 - (thousandths % 10 == 0) - (thousandths % 100 == 0);
}

} // namespace gristmill::datagen

#endif
