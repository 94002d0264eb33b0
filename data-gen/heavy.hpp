// The record set "heavy": a medium record with a review and a search query, 1344 bytes on average.
#ifndef GRISTMILL_DATAGEN_HEAVY_HPP
#define GRISTMILL_DATAGEN_HEAVY_HPP

#include <array>
#include <cstddef>
#include <cstdint>

#include "medium.hpp"

namespace gristmill::datagen {

inline constexpr std::array<PaddedText<16>, 20> heavy_words{
    "the",      "quick",   "brown",   "fox",       "jumps",     "over",     "lazy",
    "dog",      "product", "quality", "excellent", "recommend", "purchase", "value",
    "shipping", "fast",    "service", "great",     "good",      "bad"};

struct HeavyRecord {
    static constexpr std::size_t review_words_max = 200;
    static constexpr std::size_t query_words_max = 10;

    MediumRecord medium;
    std::size_t review_words = 0;
    std::size_t query_words = 0;
    std::array<std::uint8_t, review_words_max> review; // numbers of heavy_words
    std::array<std::uint8_t, query_words_max> query;
};

/// Room that print_heavy needs.
inline constexpr std::size_t heavy_bytes_max = medium_bytes_max + 4096;

template <Randomness Random>
void draw_heavy(Random &random, HeavyRecord &record) {
    draw_picks(random); // of the event that a medium record then draws anew
    record.medium = draw_medium(random);
    record.review_words = between(random, 50, HeavyRecord::review_words_max);
    for (std::size_t i = 0; i < record.review_words; ++i) {
        record.review[i] = static_cast<std::uint8_t>(random.below(heavy_words.size()));
    }
    record.query_words = between(random, 3, HeavyRecord::query_words_max);
    for (std::size_t i = 0; i < record.query_words; ++i) {
        record.query[i] = static_cast<std::uint8_t>(random.below(heavy_words.size()));
    }
}

/// Writes the record as JSON at `out`, which has room for heavy_bytes_max; returns its end.
char *print_heavy(char *out, const HeavyRecord &record) noexcept;

} // namespace gristmill::datagen

#endif
