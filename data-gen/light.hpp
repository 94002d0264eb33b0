// The record set "light": one flat event of seven fields, 107 bytes on average.
#ifndef GRISTMILL_DATAGEN_LIGHT_HPP
#define GRISTMILL_DATAGEN_LIGHT_HPP

#include <cstddef>
#include <cstdint>

#include "draws.hpp"

namespace gristmill::datagen {

/// Room that print_light needs.
inline constexpr std::size_t light_bytes_max = 256;

struct LightRecord {
    Picks picks;
    std::uint64_t event_id = 0; // 48 bits
    std::uint64_t user_id = 0;
    std::uint64_t item_id = 0;
    std::uint64_t timestamp = 0;
    std::uint64_t duration_ms = 0;
};

template <Randomness Random>
LightRecord draw_light(Random &random) {
    LightRecord record;
    record.picks = draw_picks(random);
    record.event_id = random.bits(48);
    record.user_id = between(random, 1, 1000000);
    record.item_id = between(random, 1, 50000);
    record.timestamp = draw_timestamp(random);
    record.duration_ms = between(random, 50, 120000);
    return record;
}

/// Writes the record as JSON at `out`, which has room for light_bytes_max; returns its end.
char *print_light(char *out, const LightRecord &record) noexcept;

} // namespace gristmill::datagen

#endif
