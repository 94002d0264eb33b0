// Each record set as a stream sees it.
//
// A drawer draws a record and prints it, and knows what the set's payload makes of it:
//   bytes_max        room that a record needs, spoilt ones included
//   chunk_records    records of some hundred kilobytes: enough for a task, not too much for a cache
//   needed_fields    bit i: no result without top-level field i
//   needs_timestamp  no result when the field "timestamp" is a string
//   passes()         whether the record drawn last gives a result when it is left whole
#ifndef GRISTMILL_DATAGEN_DRAWERS_HPP
#define GRISTMILL_DATAGEN_DRAWERS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>

#include "generate.hpp"
#include "heavy.hpp"
#include "light.hpp"
#include "medium.hpp"
#include "tokenize.hpp"

namespace gristmill::datagen {

class LightDrawer {
  public:
    static constexpr std::size_t bytes_max = light_bytes_max;
    static constexpr std::uint64_t chunk_records = 4096;
    static constexpr unsigned needed_fields = 0b1111111;
    static constexpr bool needs_timestamp = false; // its time is "ts"

    explicit LightDrawer(const GenerateSpec &) {}

    template <Randomness Random>
    char *draw(Random &random, std::uint64_t, char *out) {
        return print_light(out, draw_light(random));
    }
    bool passes() const noexcept { return true; } // 50 ms, the least there is, are enough
};

/// Medium and heavy records: a result needs event, user, item, timestamp, type and device; and
/// the duration, since 0 ms, its default, are too few.
inline constexpr unsigned needed_event_fields = 0b11110111;
inline constexpr std::uint64_t event_duration_ms_min = 100;

class MediumDrawer {
  public:
    static constexpr std::size_t bytes_max = medium_bytes_max;
    static constexpr std::uint64_t chunk_records = 1024;
    static constexpr unsigned needed_fields = needed_event_fields;
    static constexpr bool needs_timestamp = true;

    explicit MediumDrawer(const GenerateSpec &) {}

    template <Randomness Random>
    char *draw(Random &random, std::uint64_t, char *out) {
        record_ = draw_medium(random);
        return print_medium(out, record_);
    }
    bool passes() const noexcept { return record_.duration_ms >= event_duration_ms_min; }

  private:
    MediumRecord record_;
};

class HeavyDrawer {
  public:
    static constexpr std::size_t bytes_max = heavy_bytes_max;
    static constexpr std::uint64_t chunk_records = 256;
    static constexpr unsigned needed_fields = needed_event_fields;
    static constexpr bool needs_timestamp = true;

    explicit HeavyDrawer(const GenerateSpec &) {}

    template <Randomness Random>
    char *draw(Random &random, std::uint64_t, char *out) {
        draw_heavy(random, record_);
        return print_heavy(out, record_);
    }
    bool passes() const noexcept { return record_.medium.duration_ms >= event_duration_ms_min; }

  private:
    HeavyRecord record_;
};

class TokenizeDrawer {
  public:
    static constexpr std::size_t bytes_max = tokenize_bytes_max;
    static constexpr std::uint64_t chunk_records = 128;
    static constexpr unsigned needed_fields = 0b11; // doc_id and text
    static constexpr bool needs_timestamp = false;

    explicit TokenizeDrawer(const GenerateSpec &spec)
        : counts_(spec.large_documents ? large_document : WordCounts{}) {}

    template <Randomness Random>
    char *draw(Random &random, std::uint64_t index, char *out) {
        return draw_tokenize(random, index, counts_, out);
    }

    /// A word gives one token, or two if it has an affix, so 500 words give 50 to 1000 of them, as
    /// the payload wants. Over 1000 from 800 words, or less than a tenth distinct, is possible, but
    /// further from the mean than 20 standard deviations.
    bool passes() const noexcept { return true; }

  private:
    WordCounts counts_;
};

/// A new Made<Drawer>, made from the spec, with the drawer of its record set.
template <class Base, template <class> class Made>
std::unique_ptr<Base> make_with_drawer(const GenerateSpec &spec) {
    switch (spec.set) {
    case RecordSet::light:
        return std::make_unique<Made<LightDrawer>>(spec);
    case RecordSet::medium:
        return std::make_unique<Made<MediumDrawer>>(spec);
    case RecordSet::heavy:
        return std::make_unique<Made<HeavyDrawer>>(spec);
    case RecordSet::tokenize:
        return std::make_unique<Made<TokenizeDrawer>>(spec);
    }
    return nullptr;
}

} // namespace gristmill::datagen

#endif
