// Looking at text many bytes at a time: which of them are of some kind, and where runs of them lie.
#ifndef GRISTMILL_PLUGINS_TEXT_BLOCKS_HPP
#define GRISTMILL_PLUGINS_TEXT_BLOCKS_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace gristmill::text {

inline constexpr std::size_t block_bytes = 64;

/// Sixteen bytes to compare at once: the result of a comparison has all bits set where it holds.
/// The bytes are signed, so that what is not ASCII is negative.
using Bytes [[gnu::vector_size(16)]] = signed char;

/// Everything that a JSON string does not hold as it is printed: quotes, backslashes, controls and
/// what is not ASCII.
inline constexpr auto is_not_plain = [](Bytes bytes) {
    return (bytes < ' ') | (bytes == '"') | (bytes == '\\') | (bytes == '\x7f');
};

/// Eight times the same byte.
constexpr std::uint64_t every(unsigned char byte) noexcept { return 0x0101010101010101u * byte; }

/// The same question for eight bytes: 0 if all are plain, else the lowest mark, the high bit of a
/// byte, is at the first that is not.
constexpr std::uint64_t not_plain(std::uint64_t bytes) noexcept {
    const std::uint64_t quote = bytes ^ every('"');
    const std::uint64_t backslash = bytes ^ every('\\');
    const std::uint64_t below = (bytes - every(0x20)) | (quote - every(1)) | (backslash - every(1));
    const std::uint64_t above = bytes | (bytes + every(1));
    return (below | above) & every(0x80);
}

/// The highest bit of each byte, the first byte's lowest.
inline std::uint32_t sign_bits(Bytes bytes) noexcept {
#ifdef __SSE2__
    return static_cast<std::uint32_t>(_mm_movemask_epi8(reinterpret_cast<__m128i>(bytes)));
#else
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < sizeof bytes; ++i)
        bits |= std::uint32_t{bytes[i] < 0} << i;
    return bits;
#endif
}

/// One bit for each of the 64 bytes at `at`, set where `kind` holds.
template <class Kind>
std::uint64_t marked(const char *at, Kind kind) noexcept {
    std::uint64_t marks = 0;
    for (std::size_t i = 0; i < block_bytes; i += sizeof(Bytes)) {
        Bytes bytes;
        std::memcpy(&bytes, at + i, sizeof bytes);
        marks |= std::uint64_t{sign_bits(kind(bytes))} << i;
    }
    return marks;
}

/// Calls on_run(run) for each maximal run of bytes of the kind `kind`, in order, until it returns
/// false. block_bytes readable bytes follow `text`.
template <class Kind, class OnRun>
void for_each_run(std::string_view text, Kind kind, OnRun on_run) {
    const char *begin = text.data(); // of the run in hand
    std::uint64_t inside = 0;        // 1 if the block before ended within a run
    for (std::size_t base = 0; base < text.size(); base += block_bytes) {
        const char *const block = text.data() + base;
        std::uint64_t in = marked(block, kind);
        if (const std::size_t left = text.size() - base; left < block_bytes)
            in &= (std::uint64_t{1} << left) - 1;
        const std::uint64_t before = in << 1 | inside;
        std::uint64_t starts = in & ~before;
        std::uint64_t ends = before & ~in;
        if (inside == 0) {
            begin = block + std::countr_zero(starts);
            starts &= starts - 1;
        }
        for (; ends != 0; ends &= ends - 1) {
            if (!on_run(std::string_view(begin, block + std::countr_zero(ends))))
                return;
            begin = block + std::countr_zero(starts);
            starts &= starts - 1;
        }
        inside = in >> (block_bytes - 1);
    }
    if (inside != 0)
        on_run(std::string_view(begin, text.data() + text.size()));
}

} // namespace gristmill::text

#endif
