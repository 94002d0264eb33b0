// Printing into memory that has room: each function writes at `out` and returns the end.
#ifndef GRISTMILL_DATAGEN_PRINT_HPP
#define GRISTMILL_DATAGEN_PRINT_HPP

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gristmill::datagen {

inline char *print(char *out, std::string_view text) noexcept {
    std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

inline char *print(char *out, std::uint64_t value) noexcept {
    return std::to_chars(out, out + 20, value).ptr;
}

/// `digits` decimal digits, with leading zeros.
inline char *print_padded(char *out, std::uint64_t value, int digits) noexcept {
    for (int i = digits - 1; i >= 0; --i, value /= 10)
        out[i] = static_cast<char>('0' + value % 10);
    return out + digits;
}

/// `digits` hexadecimal digits, with leading zeros.
inline char *print_hex(char *out, std::uint64_t value, int digits) noexcept {
    for (int i = digits - 1; i >= 0; --i, value >>= 4)
        out[i] = "0123456789abcdef"[value & 0xf];
    return out + digits;
}

/// round(value, decimals) as Python prints it, for 0 <= value < 10^9 and 1 to 3 decimals: to_chars
/// rounds the exact binary value, ties to even, and so few digits are already the shortest that
/// read back, once trailing zeros are gone.
inline char *print_rounded(char *out, double value, int decimals) noexcept {
    char *end = std::to_chars(out, out + 32, value, std::chars_format::fixed, decimals).ptr;
    while (end[-1] == '0' && end[-2] != '.')
        --end;
    return end;
}

} // namespace gristmill::datagen

#endif
