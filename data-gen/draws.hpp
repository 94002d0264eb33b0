// The draws that all record sets share, over any source of randomness.
#ifndef GRISTMILL_DATAGEN_DRAWS_HPP
#define GRISTMILL_DATAGEN_DRAWS_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "print.hpp"

namespace gristmill::datagen {

/// What ReferenceRandom offers: real() in [0, 1), bits(n) and below(n).
template <class Source>
concept Randomness = requires(Source &source, std::uint64_t n, int count) {
    { source.real() } -> std::same_as<double>;
    { source.bits(count) } -> std::convertible_to<std::uint64_t>;
    { source.below(n) } -> std::convertible_to<std::uint64_t>;
};

/// Values to pick from, each with the sum of the weights up to and including its own.
template <std::size_t Count>
struct Weighted {
    std::array<PaddedText<16>, Count> values;
    std::array<double, Count> cumulative;
};

inline constexpr Weighted<6> event_types{{"view", "click", "scroll", "hover", "purchase", "skip"},
                                         {40, 65, 80, 90, 95, 100}};
inline constexpr Weighted<5> devices{{"ios", "android", "web", "desktop", "tablet"},
                                     {30, 65, 85, 95, 100}};
inline constexpr Weighted<3> tiers{{"free", "basic", "premium"}, {60, 90, 100}};

/// The number of the value picked.
template <Randomness Random, std::size_t Count>
std::size_t pick(Random &random, const Weighted<Count> &from) {
    const double at = random.real() * from.cumulative[Count - 1];
    std::size_t picked = 0; // counted, not searched: which it is cannot be predicted
    for (std::size_t i = 0; i < Count - 1; ++i)
        picked += from.cumulative[i] <= at;
    return picked;
}

/// An integer in [low, high].
template <Randomness Random>
std::uint64_t between(Random &random, std::uint64_t low, std::uint64_t high) {
    return low + random.below(high - low + 1);
}

template <Randomness Random>
double uniform(Random &random, double low, double high) {
    return low + (high - low) * random.real();
}

/// The event every record begins with, as numbers of the values above.
struct Picks {
    std::size_t event_type = 0;
    std::size_t device = 0;
    std::size_t tier = 0;
};

template <Randomness Random>
Picks draw_picks(Random &random) {
    Picks picks;
    picks.event_type = pick(random, event_types);
    picks.device = pick(random, devices);
    picks.tier = pick(random, tiers);
    return picks;
}

/// Seconds since 1970: within the year from 1700000000 on.
template <Randomness Random>
std::uint64_t draw_timestamp(Random &random) {
    return 1700000000 + random.below(31536001);
}

} // namespace gristmill::datagen

#endif
