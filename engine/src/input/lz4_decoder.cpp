#include <new>
#include <string>

#include <lz4frame.h>

#include "input/block_decoder.hpp"
#include "input/format_decoders.hpp"

namespace gristmill::input {

namespace {

constexpr std::size_t kBlockHeaderBytes = 4;

class Lz4Decoder final : public BlockDecoder {
  public:
    Lz4Decoder() : BlockDecoder(Compression::lz4, kBlockHeaderBytes) {
        LZ4F_dctx *lz4 = nullptr;
        if (LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION)) != 0)
            throw std::bad_alloc();
        lz4_.reset(lz4);
    }

  private:
    struct Free {
        void operator()(LZ4F_dctx *lz4) const { LZ4F_freeDecompressionContext(lz4); }
    };

    Call call(ByteView input, std::span<std::byte> output) override {
        std::size_t consumed = input.size();
        std::size_t produced = output.size();
        const std::size_t wanted = LZ4F_decompress(lz4_.get(), output.data(), &produced,
                                                   input.data(), &consumed, nullptr);
        if (LZ4F_isError(wanted) == 0)
            return {consumed, produced, wanted};
        report(LZ4F_getErrorName(wanted), input.size());
        return {};
    }

    // The numbers of its errors are not public, their names are.
    void report(const std::string &name, std::size_t given) {
        if (name == "ERROR_allocation_failed")
            out_of_memory();
        else if (name == "ERROR_contentChecksum_invalid")
            mismatched(given);
        else if (name == "ERROR_blockChecksum_invalid")
            damaged("the checksum of the block does not match");
        else if (name == "ERROR_headerChecksum_invalid")
            damaged("the checksum of the frame's header does not match");
        else
            damaged("lz4 says " + name);
    }

    std::unique_ptr<LZ4F_dctx, Free> lz4_;
};

} // namespace

std::unique_ptr<Decoder> make_lz4_decoder() { return std::make_unique<Lz4Decoder>(); }

} // namespace gristmill::input
