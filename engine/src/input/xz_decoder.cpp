#include <cerrno>
#include <new>
#include <string>

#include <lzma.h>

#include "input/format_decoders.hpp"

namespace gristmill::input {

namespace {

// xz -9 takes 65 MiB; only dictionaries that were asked for by hand are larger than this allows.
constexpr std::uint64_t kMemoryMax = 1024 * kMiB;

class XzDecoder final : public Decoder {
  public:
    XzDecoder() : Decoder(Compression::xz) {
        if (!restart())
            throw std::bad_alloc();
    }
    ~XzDecoder() override { lzma_end(&lzma_); }

  private:
    // One stream at a time: padding and what else lies between them is for the base to judge.
    bool restart() {
        return lzma_stream_decoder(&lzma_, kMemoryMax, LZMA_TELL_UNSUPPORTED_CHECK) == LZMA_OK;
    }

    Step advance(ByteView input, std::span<std::byte> output) override {
        lzma_.next_in = reinterpret_cast<const std::uint8_t *>(input.data());
        lzma_.avail_in = input.size();
        lzma_.next_out = reinterpret_cast<std::uint8_t *>(output.data());
        lzma_.avail_out = output.size();
        const lzma_ret status = lzma_code(&lzma_, LZMA_RUN);
        // After an error, too, it says what it did before.
        Step step{input.size() - lzma_.avail_in, output.size() - lzma_.avail_out, false};
        if (status == LZMA_STREAM_END) {
            step.frame_ended = true;
            if (!restart())
                out_of_memory();
        } else if (status != LZMA_OK && status != LZMA_BUF_ERROR) {
            report(status, step.consumed);
        }
        return step;
    }

    void report(lzma_ret status, std::size_t consumed) {
        switch (status) {
        case LZMA_MEM_ERROR:
            return out_of_memory();
        case LZMA_MEMLIMIT_ERROR:
            return refused(ENOMEM, "it needs " + std::to_string(lzma_memusage(&lzma_) / kMiB) +
                                       " MiB of memory, the limit is " +
                                       std::to_string(kMemoryMax / kMiB) +
                                       " MiB; decode it with xz -d first");
        case LZMA_UNSUPPORTED_CHECK:
        case LZMA_OPTIONS_ERROR:
            return refused(EOPNOTSUPP, "it uses a check or a filter that liblzma does not know");
        case LZMA_FORMAT_ERROR:
            return damaged("it is no xz stream", consumed);
        default:
            return damaged("the data are not what their checks or the format say, and what was "
                           "decoded just before may be wrong",
                           consumed);
        }
    }

    lzma_stream lzma_ = LZMA_STREAM_INIT;
};

} // namespace

std::unique_ptr<Decoder> make_xz_decoder() { return std::make_unique<XzDecoder>(); }

} // namespace gristmill::input
