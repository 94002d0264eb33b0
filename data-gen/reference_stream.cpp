#include <array>
#include <string_view>

#include "heavy.hpp"
#include "light.hpp"
#include "malformed.hpp"
#include "medium.hpp"
#include "record_stream.hpp"
#include "reference_random.hpp"

namespace gristmill::datagen {

namespace {

// Each record set as the stream sees it: room for a record, and a draw that prints one.

struct Light {
    static constexpr std::size_t bytes_max = light_bytes_max;
    char *operator()(ReferenceRandom &random, char *out) {
        return print_light(out, draw_light(random));
    }
};

struct Medium {
    static constexpr std::size_t bytes_max = medium_bytes_max;
    char *operator()(ReferenceRandom &random, char *out) {
        return print_medium(out, draw_medium(random));
    }
};

struct Heavy {
    static constexpr std::size_t bytes_max = heavy_bytes_max;
    HeavyRecord record;
    char *operator()(ReferenceRandom &random, char *out) {
        draw_heavy(random, record);
        return print_heavy(out, record);
    }
};

template <class Set>
class ReferenceStream final : public RecordStream {
  public:
    explicit ReferenceStream(const GenerateSpec &spec)
        : random_(spec.seed.value_or(default_seed(spec.set))), malformed_pct_(spec.malformed_pct) {}

    void append(std::string &to, std::uint64_t count) override {
        for (std::uint64_t i = 0; i < count; ++i) {
            // The draw is made in any case, so that a share of 0 changes no other draw.
            if (random_.real() * 100 < malformed_pct_) {
                append_malformed(to);
            } else {
                to += draw_record();
            }
            to += '\n';
        }
    }

  private:
    std::string_view draw_record() {
        const char *end = set_(random_, buffer_.data());
        return {buffer_.data(), static_cast<std::size_t>(end - buffer_.data())};
    }

    void append_malformed(std::string &to) {
        const Malformed kind = draw_malformed(random_);
        std::string record(draw_record());
        spoil(random_, kind, record);
        to += record;
    }

    ReferenceRandom random_;
    double malformed_pct_;
    Set set_;
    std::array<char, Set::bytes_max> buffer_;
};

} // namespace

std::unique_ptr<RecordStream> open_reference_stream(const GenerateSpec &spec) {
    switch (spec.set) {
    case RecordSet::light:
        return std::make_unique<ReferenceStream<Light>>(spec);
    case RecordSet::medium:
        return std::make_unique<ReferenceStream<Medium>>(spec);
    case RecordSet::heavy:
        return std::make_unique<ReferenceStream<Heavy>>(spec);
    case RecordSet::tokenize:
        break;
    }
    return nullptr;
}

} // namespace gristmill::datagen
