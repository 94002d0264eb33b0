// Compressed data, made by another library than the engine decodes with.
#pragma once

#include <string>

#include <gtest/gtest.h>
#include <zlib.h>

namespace gristmill::e2e {

// One member.
inline std::string gzipped(const std::string &data) {
    z_stream zlib{};
    deflateInit2(&zlib, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string packed(deflateBound(&zlib, data.size()) + 32, '\0');
    zlib.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
    zlib.avail_in = static_cast<uInt>(data.size());
    zlib.next_out = reinterpret_cast<Bytef *>(packed.data());
    zlib.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
    packed.resize(zlib.total_out);
    deflateEnd(&zlib);
    return packed;
}

} // namespace gristmill::e2e
