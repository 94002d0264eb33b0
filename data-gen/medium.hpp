// The record set "medium": a nested event of 13 top-level fields, 470 bytes on average.
#ifndef GRISTMILL_DATAGEN_MEDIUM_HPP
#define GRISTMILL_DATAGEN_MEDIUM_HPP

#include <cstddef>
#include <cstdint>

#include "draws.hpp"

namespace gristmill::datagen {

/// Room that print_medium needs.
inline constexpr std::size_t medium_bytes_max = 1024;

struct MediumRecord {
    Picks picks;
    std::uint64_t event_id = 0; // 48 bits
    std::uint64_t user_id = 0;
    std::uint64_t item_id = 0;
    std::uint64_t session_id = 0; // 48 bits
    std::uint64_t timestamp = 0;
    std::uint64_t duration_ms = 0;
    double scroll_depth = 0;
    std::uint64_t revenue_cents = 0;
    std::uint64_t previous_sessions = 0;
    double average_session_s = 0;
    std::uint64_t days_since_signup = 0;
    std::uint64_t category = 0;
    std::uint64_t price_cents = 0;
    double rating = 0;
    std::uint64_t reviews = 0;
    char experiment = 'A';
};

template <Randomness Random>
MediumRecord draw_medium(Random &random) {
    MediumRecord record;
    record.picks = draw_picks(random);
    record.event_id = random.bits(48);
    record.user_id = between(random, 1, 1000000);
    record.item_id = between(random, 1, 50000);
    record.session_id = random.bits(48);
    record.timestamp = draw_timestamp(random);
    record.duration_ms = between(random, 50, 120000);
    record.scroll_depth = uniform(random, 0, 1);
    if (event_types.values[record.picks.event_type].view() == "purchase")
        record.revenue_cents = between(random, 100, 9999);
    record.previous_sessions = between(random, 1, 500);
    record.average_session_s = uniform(random, 30, 3600);
    record.days_since_signup = between(random, 1, 3650);
    record.category = between(random, 1, 200);
    record.price_cents = between(random, 99, 99999);
    record.rating = uniform(random, 1, 5);
    record.reviews = random.below(10001);
    record.experiment = "ABCDE"[random.below(5)];
    return record;
}

/// Writes the record as JSON at `out`, which has room for medium_bytes_max; returns its end.
char *print_medium(char *out, const MediumRecord &record) noexcept;

/// The same without the closing brace, to be continued by more fields.
char *print_medium_fields(char *out, const MediumRecord &record) noexcept;

} // namespace gristmill::datagen

#endif
