#include "input/format_decoders.hpp"
#include "input/gzip_header.hpp"
#include "input/inflater.hpp"

namespace gristmill::input {

namespace {

class GzipDecoder final : public Decoder {
  public:
    GzipDecoder() : Decoder(Compression::gzip) {}

  private:
    Step advance(ByteView input, std::span<std::byte> output) override {
        if (!header_.ended())
            return read_header(input);
        const Inflater::Step step = inflater_.step(input, output);
        switch (step.status) {
        case Inflater::Status::going:
            break;
        case Inflater::Status::ended:
            header_ = {};
            inflater_.restart();
            return {step.consumed, step.produced, true};
        case Inflater::Status::damaged:
            damaged("what is there is not deflate, and what was decoded just before may be wrong",
                    step.consumed);
            break;
        case Inflater::Status::mismatch:
            mismatched(step.consumed);
            break;
        }
        return {step.consumed, step.produced, false};
    }

    Step read_header(ByteView input) {
        std::size_t taken = 0;
        while (taken < input.size() && !header_.ended()) {
            if (!header_.take(input[taken])) {
                damaged(header_.fault(), taken);
                break;
            }
            ++taken;
        }
        return {taken, 0, false};
    }

    GzipHeader header_;
    Inflater inflater_;
};

} // namespace

std::unique_ptr<Decoder> make_gzip_decoder() { return std::make_unique<GzipDecoder>(); }

} // namespace gristmill::input
