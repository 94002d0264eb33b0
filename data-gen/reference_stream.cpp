#include "drawers.hpp"
#include "record_stream.hpp"
#include "record_writer.hpp"
#include "reference_random.hpp"

namespace gristmill::datagen {

namespace {

/// All records draw from one source, so each depends on all before it.
template <class Drawer>
class ReferenceStream final : public RecordStream {
  public:
    explicit ReferenceStream(const GenerateSpec &spec)
        : random_(spec.seed.value_or(default_seed(spec.set))), writer_(spec) {}

    std::uint64_t append(RecordBuffer &to, std::uint64_t begin, std::uint64_t end) override {
        std::uint64_t valid = 0;
        for (std::uint64_t i = begin; i < end; ++i)
            valid += writer_.append(to, random_, i);
        return valid;
    }

    bool sequential() const noexcept override { return true; }
    std::uint64_t chunk_records() const noexcept override { return Drawer::chunk_records; }

  private:
    ReferenceRandom random_;
    RecordWriter<Drawer> writer_;
};

} // namespace

std::unique_ptr<RecordStream> open_reference_stream(const GenerateSpec &spec) {
    return make_with_drawer<RecordStream, ReferenceStream>(spec);
}

} // namespace gristmill::datagen
