// The CRC-32 of zlib and PNG: polynomial 0xedb88320, reflected, a byte at a time.
#ifndef GRISTMILL_PLUGINS_CRC32_HPP
#define GRISTMILL_PLUGINS_CRC32_HPP

#include <array>
#include <cstdint>
#include <string_view>

namespace gristmill {

namespace detail {

inline constexpr auto crc32_of_byte = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit)
            rest = (rest >> 1) ^ ((rest & 1) * 0xedb88320u);
        table[byte] = rest;
    }
    return table;
}();

} // namespace detail

constexpr std::uint32_t crc32(std::string_view bytes) noexcept {
    std::uint32_t rest = 0xffffffffu;
    for (const char byte : bytes) {
        rest =
            (rest >> 8) ^ detail::crc32_of_byte[(rest ^ static_cast<unsigned char>(byte)) & 0xff];
    }
    return ~rest;
}

static_assert(crc32("123456789") == 0xcbf43926);

} // namespace gristmill

#endif
