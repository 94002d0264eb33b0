#include "counter_random.hpp"
#include "drawers.hpp"
#include "record_stream.hpp"
#include "record_writer.hpp"

namespace gristmill::datagen {

namespace {

/// Each record has a source of its own.
template <class Drawer>
class FastStream final : public RecordStream {
  public:
    explicit FastStream(const GenerateSpec &spec)
        : seed_(spec.seed.value_or(default_seed(spec.set))), writer_(spec) {}

    std::uint64_t append(RecordBuffer &to, std::uint64_t begin, std::uint64_t end) override {
        RecordWriter<Drawer> writer = writer_; // of this thread
        std::uint64_t valid = 0;
        for (std::uint64_t i = begin; i < end; ++i) {
            CounterRandom random(seed_, i);
            valid += writer.append(to, random, i);
        }
        return valid;
    }

    bool sequential() const noexcept override { return false; }
    std::uint64_t chunk_records() const noexcept override { return Drawer::chunk_records; }

  private:
    std::uint64_t seed_;
    RecordWriter<Drawer> writer_;
};

} // namespace

std::unique_ptr<RecordStream> open_fast_stream(const GenerateSpec &spec) {
    return make_with_drawer<RecordStream, FastStream>(spec);
}

} // namespace gristmill::datagen
