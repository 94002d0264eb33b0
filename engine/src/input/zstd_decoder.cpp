#include <cerrno>
#include <new>
#include <string>

#include <zstd.h>
#include <zstd_errors.h>

#include "input/block_decoder.hpp"
#include "input/format_decoders.hpp"

namespace gristmill::input {

namespace {

constexpr std::size_t kBlockHeaderBytes = 3;

// All that zstd --long=31 can write; the library's own limit is 27. Large public collections are
// packed so, and the memory is taken only as far as a frame really fills its window.
constexpr int kWindowLogMax = 31;

class ZstdDecoder final : public BlockDecoder {
  public:
    ZstdDecoder() : BlockDecoder(Compression::zstd, kBlockHeaderBytes), zstd_(ZSTD_createDCtx()) {
        if (!zstd_)
            throw std::bad_alloc();
        ZSTD_DCtx_setParameter(zstd_.get(), ZSTD_d_windowLogMax, kWindowLogMax);
    }

  private:
    struct Free {
        void operator()(ZSTD_DCtx *zstd) const { ZSTD_freeDCtx(zstd); }
    };

    Call call(ByteView input, std::span<std::byte> output) override {
        ZSTD_inBuffer in{input.data(), input.size(), 0};
        ZSTD_outBuffer out{output.data(), output.size(), 0};
        const std::size_t wanted = ZSTD_decompressStream(zstd_.get(), &out, &in);
        if (ZSTD_isError(wanted) == 0)
            return {in.pos, out.pos, wanted};
        report(wanted, input.size());
        return {};
    }

    void report(std::size_t code, std::size_t given) {
        switch (ZSTD_getErrorCode(code)) {
        case ZSTD_error_memory_allocation:
            return out_of_memory();
        case ZSTD_error_frameParameter_windowTooLarge:
            return refused(ENOMEM, "its window is larger than the limit of 2 GiB");
        case ZSTD_error_dictionary_wrong:
            return refused(EOPNOTSUPP, "it needs a dictionary; decode it with zstd -D first");
        case ZSTD_error_checksum_wrong:
            return mismatched(given);
        default:
            return damaged("zstd says '" + std::string(ZSTD_getErrorName(code)) + "'");
        }
    }

    std::unique_ptr<ZSTD_DCtx, Free> zstd_;
};

} // namespace

std::unique_ptr<Decoder> make_zstd_decoder() { return std::make_unique<ZstdDecoder>(); }

} // namespace gristmill::input
