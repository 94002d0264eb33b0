// Compressed data to decode, made by the libraries' own compressors. gzip comes from zlib, which the
// engine does not decode with where ISA-L is there.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "input/decoder.hpp"

namespace gristmill::test {

inline void must(bool good, const char *what) {
    if (!good)
        throw std::runtime_error(what);
}

// One member. `header`: put in the place of the usual one of ten bytes.
inline std::string pack_gzip(std::string_view data, int level = 6, std::string_view header = {}) {
    z_stream zlib{};
    must(deflateInit2(&zlib, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
    std::string packed(deflateBound(&zlib, data.size()) + 32, '\0');
    zlib.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
    zlib.avail_in = static_cast<uInt>(data.size());
    zlib.next_out = reinterpret_cast<Bytef *>(packed.data());
    zlib.avail_out = static_cast<uInt>(packed.size());
    must(deflate(&zlib, Z_FINISH) == Z_STREAM_END, "deflate");
    packed.resize(zlib.total_out);
    deflateEnd(&zlib);
    return header.empty() ? packed : std::string(header) + packed.substr(10);
}

// A gzip header that has every field, and its checksum.
inline std::string full_gzip_header(std::string_view extra, std::string_view name,
                                    std::string_view comment) {
    std::string header{"\x1f\x8b\x08\x1f\1\2\3\4\0\3", 10};
    header += static_cast<char>(extra.size() & 0xff);
    header += static_cast<char>(extra.size() >> 8);
    header.append(extra).append(name).append(1, '\0').append(comment).append(1, '\0');
    const uLong crc = crc32_z(0, reinterpret_cast<const Bytef *>(header.data()), header.size());
    header += static_cast<char>(crc & 0xff);
    header += static_cast<char>(crc >> 8 & 0xff);
    return header;
}

inline std::string pack_zstd(std::string_view data, int level = 3, bool checksum = true,
                             int window_log = 0, bool sized = true) {
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, checksum);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, window_log);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, sized);
    std::string packed(ZSTD_compressBound(data.size()), '\0');
    const std::size_t size =
        ZSTD_compress2(zstd, packed.data(), packed.size(), data.data(), data.size());
    must(ZSTD_isError(size) == 0, "zstd");
    packed.resize(size);
    ZSTD_freeCCtx(zstd);
    return packed;
}

inline std::string pack_xz(std::string_view data, std::uint32_t preset = 1,
                           lzma_check check = LZMA_CHECK_CRC64) {
    std::string packed(lzma_stream_buffer_bound(data.size()), '\0');
    std::size_t size = 0;
    must(lzma_easy_buffer_encode(preset, check, nullptr,
                                 reinterpret_cast<const std::uint8_t *>(data.data()), data.size(),
                                 reinterpret_cast<std::uint8_t *>(packed.data()), &size,
                                 packed.size()) == LZMA_OK,
         "xz");
    packed.resize(size);
    return packed;
}

inline std::string pack_lz4(std::string_view data, bool checks = true, bool linked = true,
                            LZ4F_blockSizeID_t block = LZ4F_max64KB, bool sized = false) {
    LZ4F_preferences_t how = LZ4F_INIT_PREFERENCES;
    how.frameInfo.blockSizeID = block;
    how.frameInfo.blockMode = linked ? LZ4F_blockLinked : LZ4F_blockIndependent;
    how.frameInfo.contentChecksumFlag = checks ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
    how.frameInfo.blockChecksumFlag = checks ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum;
    how.frameInfo.contentSize = sized ? data.size() : 0;
    std::string packed(LZ4F_compressFrameBound(data.size(), &how), '\0');
    const std::size_t size =
        LZ4F_compressFrame(packed.data(), packed.size(), data.data(), data.size(), &how);
    must(LZ4F_isError(size) == 0, "lz4");
    packed.resize(size);
    return packed;
}

inline std::string skippable_frame(std::string_view data, char low_half = '\0') {
    std::string frame{"\x50\x2a\x4d\x18", 4};
    frame[0] = static_cast<char>(frame[0] + low_half);
    const auto bytes = static_cast<std::uint32_t>(data.size());
    frame.append(reinterpret_cast<const char *>(&bytes), sizeof bytes).append(data);
    return frame;
}

// One frame, in one of many ways that `variant` chooses from.
inline std::string pack(input::Compression compression, std::string_view data,
                        std::uint64_t variant = 0) {
    const auto choose = [&variant](std::uint64_t count) {
        const std::uint64_t chosen = variant % count;
        variant /= count;
        return static_cast<int>(chosen);
    };
    switch (compression) {
    case input::Compression::gzip: {
        const int level = choose(10);
        const std::string name(static_cast<std::size_t>(choose(400)), 'n');
        return pack_gzip(data, level == 0 ? 6 : level - 1,
                         choose(2) == 0 ? "" : full_gzip_header(name, name, "a comment"));
    }
    case input::Compression::zstd: {
        const int level = choose(12) + 1;
        const int window_log = choose(2) == 0 ? 0 : 17;
        const bool sized = choose(2) == 0;
        return pack_zstd(data, level, choose(4) < 3, window_log, sized);
    }
    case input::Compression::xz: {
        constexpr lzma_check checks[] = {LZMA_CHECK_CRC64, LZMA_CHECK_CRC32, LZMA_CHECK_SHA256,
                                         LZMA_CHECK_NONE};
        const int preset = choose(3);
        return pack_xz(data, static_cast<std::uint32_t>(preset), checks[choose(4)]);
    }
    case input::Compression::lz4: {
        const bool checks = choose(3) < 2;
        const bool linked = choose(2) == 0;
        const auto block = choose(2) == 0 ? LZ4F_max64KB : LZ4F_max4MB;
        return pack_lz4(data, checks, linked, block, choose(2) == 1);
    }
    case input::Compression::none:
        break;
    }
    return std::string(data);
}

} // namespace gristmill::test
