#include "record/delimiter_scan.hpp"

#include <algorithm>
#include <cstring>

namespace gristmill::record {

std::uint64_t find_delimiter(ByteView data, std::string_view delimiter,
                             std::uint64_t from) noexcept {
    if (from >= data.size())
        return kNotFound;
    const std::byte *begin = data.data() + from;
    const std::uint64_t bytes = data.size() - from;
    const void *found = delimiter.size() == 1
                            ? std::memchr(begin, delimiter[0], bytes)
                            : ::memmem(begin, bytes, delimiter.data(), delimiter.size());
    if (!found)
        return kNotFound;
    return static_cast<std::uint64_t>(static_cast<const std::byte *>(found) - data.data());
}

namespace {

typedef std::uint8_t Lanes16 __attribute__((vector_size(16)));
typedef std::uint8_t Lanes32 __attribute__((vector_size(32)));

// Counts in lanes of one byte, which hold at most 255, then adds them up. Four vectors at a time
// keep up with the second-level cache.
template <class Lanes>
[[gnu::always_inline]] inline std::uint64_t count_byte(const std::uint8_t *data,
                                                       std::uint64_t bytes, std::uint8_t wanted) {
    constexpr std::uint64_t kVectors = 4;
    constexpr std::uint64_t kStep = kVectors * sizeof(Lanes);
    std::uint64_t total = 0;
    std::uint64_t i = 0;
    while (bytes - i >= kStep) {
        const std::uint64_t rounds = std::min<std::uint64_t>(255, (bytes - i) / kStep);
        Lanes counts[kVectors]{};
        for (std::uint64_t round = 0; round < rounds; ++round, i += kStep)
            for (std::uint64_t v = 0; v < kVectors; ++v) {
                Lanes block;
                std::memcpy(&block, data + i + v * sizeof(Lanes), sizeof(Lanes));
                counts[v] -= static_cast<Lanes>(block == wanted); // true is all ones: minus one
            }
        for (const Lanes &lanes : counts)
            for (std::uint64_t lane = 0; lane < sizeof(Lanes); ++lane)
                total += lanes[lane];
    }
    for (; i < bytes; ++i)
        total += data[i] == wanted;
    return total;
}

std::uint64_t count_byte_baseline(const std::uint8_t *data, std::uint64_t bytes,
                                  std::uint8_t wanted) {
    return count_byte<Lanes16>(data, bytes, wanted);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] std::uint64_t count_byte_avx2(const std::uint8_t *data,
                                                      std::uint64_t bytes, std::uint8_t wanted) {
    return count_byte<Lanes32>(data, bytes, wanted);
}
#endif

using CountByte = std::uint64_t (*)(const std::uint8_t *, std::uint64_t, std::uint8_t);

CountByte pick_count_byte() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return count_byte_avx2;
#endif
    return count_byte_baseline;
}

} // namespace

std::uint64_t count_delimiters(ByteView data, std::string_view delimiter) noexcept {
    if (delimiter.size() == 1) {
        static const CountByte count = pick_count_byte();
        return count(reinterpret_cast<const std::uint8_t *>(data.data()), data.size(),
                     static_cast<std::uint8_t>(delimiter[0]));
    }
    std::uint64_t total = 0;
    for (std::uint64_t at = find_delimiter(data, delimiter); at != kNotFound;
         at = find_delimiter(data, delimiter, at + delimiter.size()))
        ++total;
    return total;
}

// Whole blocks are counted; only the last one is searched.
Skipped skip_delimiters(ByteView data, char delimiter, std::uint64_t most) noexcept {
    constexpr std::uint64_t kBlockBytes = 4096;
    const std::string_view wanted(&delimiter, 1);
    std::uint64_t at = 0;
    std::uint64_t count = 0;
    while (at < data.size() && count < most) {
        const ByteView block = data.subspan(at, std::min(kBlockBytes, data.size() - at));
        const std::uint64_t here = count_delimiters(block, wanted);
        if (count + here >= most)
            break;
        count += here;
        at += block.size();
    }
    Skipped skipped{0, count};
    if (at > 0) { // behind the last one before
        const void *last = ::memrchr(data.data(), delimiter, at);
        skipped.bytes = last ? static_cast<std::uint64_t>(
                                   static_cast<const std::byte *>(last) - data.data()) + 1
                             : 0;
    }
    while (skipped.count < most) {
        const std::uint64_t found = find_delimiter(data, wanted, at);
        if (found == kNotFound)
            break;
        at = skipped.bytes = found + 1;
        ++skipped.count;
    }
    return skipped;
}

bool has_border(std::string_view delimiter) noexcept {
    for (std::size_t bytes = 1; bytes < delimiter.size(); ++bytes)
        if (delimiter.substr(0, bytes) == delimiter.substr(delimiter.size() - bytes))
            return true;
    return false;
}

} // namespace gristmill::record
