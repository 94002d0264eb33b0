#include "compression.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <zlib.h>
#include <zstd.h>

namespace gristmill::datagen {

namespace {

constexpr std::size_t piece_bytes = std::size_t{64} << 10;
using Piece = std::array<char, piece_bytes>;

constexpr int zstd_level = 3;

class ZstdCompressor final : public Compressor {
  public:
    explicit ZstdCompressor(std::uint32_t threads) : context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
        if (!context_)
            throw std::bad_alloc();
        set(ZSTD_c_compressionLevel, zstd_level);
        set(ZSTD_c_checksumFlag, 1);
        // Any number of threads makes the same bytes, none at all makes others.
        const int threads_max = ZSTD_cParam_getBounds(ZSTD_c_nbWorkers).upperBound;
        set(ZSTD_c_nbWorkers, std::clamp(static_cast<int>(threads), 1, std::max(1, threads_max)));
    }

    void add(std::string_view bytes, bool last, std::string &packed) override {
        ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
        for (bool done = false; !done;) {
            ZSTD_outBuffer out{piece_.data(), piece_.size(), 0};
            const std::size_t left = ZSTD_compressStream2(context_.get(), &out, &in,
                                                          last ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left) != 0)
                throw std::runtime_error(ZSTD_getErrorName(left));
            packed.append(piece_.data(), out.pos);
            done = in.pos == in.size && (!last || left == 0);
        }
    }

  private:
    void set(ZSTD_cParameter parameter, int value) {
        ZSTD_CCtx_setParameter(context_.get(), parameter, value);
    }

    std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
    Piece piece_;
};

class ZstdDecompressor final : public Decompressor {
  public:
    ZstdDecompressor() : context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
        if (!context_)
            throw std::bad_alloc();
    }

    bool add(std::string_view packed, const Take &take) override {
        ZSTD_inBuffer in{packed.data(), packed.size(), 0};
        bool full = false; // there may be more to come of what was read
        while (in.pos < in.size || full) {
            ZSTD_outBuffer out{piece_.data(), piece_.size(), 0};
            left_ = ZSTD_decompressStream(context_.get(), &out, &in);
            if (ZSTD_isError(left_) != 0)
                return false;
            take({piece_.data(), out.pos});
            full = out.pos == out.size && left_ != 0;
        }
        return true;
    }

    bool complete() const noexcept override { return left_ == 0; }

  private:
    std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
    std::size_t left_ = 1;
    Piece piece_;
};

constexpr int gzip_level = 4;        // for a fourteenth less, 6 takes nearly twice the time
constexpr int gzip_window = 15 + 16; // 32 KiB, in a gzip file

void give(z_stream &stream, std::string_view bytes) {
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
}

void provide(z_stream &stream, Piece &piece) {
    stream.next_out = reinterpret_cast<Bytef *>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
}

class GzipCompressor final : public Compressor {
  public:
    GzipCompressor() {
        constexpr int memory_level = 9;
        if (deflateInit2(&stream_, gzip_level, Z_DEFLATED, gzip_window, memory_level,
                         Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
    }
    GzipCompressor(const GzipCompressor &) = delete;
    ~GzipCompressor() override { deflateEnd(&stream_); }

    void add(std::string_view bytes, bool last, std::string &packed) override {
        give(stream_, bytes);
        do {
            provide(stream_, piece_);
            deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
            packed.append(piece_.data(), piece_.size() - stream_.avail_out);
        } while (stream_.avail_out == 0);
    }

  private:
    z_stream stream_{};
    Piece piece_;
};

class GzipDecompressor final : public Decompressor {
  public:
    GzipDecompressor() {
        if (inflateInit2(&stream_, gzip_window) != Z_OK)
            throw std::bad_alloc();
    }
    GzipDecompressor(const GzipDecompressor &) = delete;
    ~GzipDecompressor() override { inflateEnd(&stream_); }

    bool add(std::string_view packed, const Take &take) override {
        give(stream_, packed);
        do {
            if (complete_)
                return stream_.avail_in == 0; // one member, and nothing behind it
            provide(stream_, piece_);
            const int status = inflate(&stream_, Z_NO_FLUSH);
            if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
                return false;
            complete_ = status == Z_STREAM_END;
            take({piece_.data(), piece_.size() - stream_.avail_out});
        } while (stream_.avail_in > 0 || stream_.avail_out == 0);
        return true;
    }

    bool complete() const noexcept override { return complete_; }

  private:
    z_stream stream_{};
    bool complete_ = false;
    Piece piece_;
};

} // namespace

std::unique_ptr<Compressor> make_compressor(Compression compression, std::uint32_t threads) {
    switch (compression) {
    case Compression::zstd:
        return std::make_unique<ZstdCompressor>(threads);
    case Compression::gzip:
        return std::make_unique<GzipCompressor>();
    case Compression::none:
        break;
    }
    return nullptr;
}

std::unique_ptr<Decompressor> make_decompressor(Compression compression) {
    switch (compression) {
    case Compression::zstd:
        return std::make_unique<ZstdDecompressor>();
    case Compression::gzip:
        return std::make_unique<GzipDecompressor>();
    case Compression::none:
        break;
    }
    return nullptr;
}

} // namespace gristmill::datagen
