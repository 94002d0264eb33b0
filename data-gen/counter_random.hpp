// The randomness of the fast stream: a hash of seed, record and counter.
#ifndef GRISTMILL_DATAGEN_COUNTER_RANDOM_HPP
#define GRISTMILL_DATAGEN_COUNTER_RANDOM_HPP

#include <array>
#include <cstdint>

#include "xxhash_inline.hpp"

namespace gristmill::datagen {

/// What one record draws from: no record knows of another, so each can be made alone.
class CounterRandom {
  public:
    CounterRandom(std::uint64_t seed, std::uint64_t record) noexcept
        : key_(XXH3_64bits_withSeed(&record, sizeof record, seed)) {}

    /// Uniform in [0, 1), 53 bits.
    double real() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

    /// Uniform in [0, 2^count), 1 <= count <= 64.
    std::uint64_t bits(int count) noexcept { return next() >> (64 - count); }

    /// Uniform in [0, n), n >= 1, but for a bias of n / 2^64.
    std::uint64_t below(std::uint64_t n) noexcept {
        return static_cast<std::uint64_t>(Wide{next()} * n >> 64);
    }

  private:
    __extension__ using Wide = unsigned __int128;

    /// Each hash, of the record's key and a counter, gives two words.
    std::uint64_t next() noexcept {
        if (has_second_) {
            has_second_ = false;
            return second_;
        }
        const std::array<std::uint64_t, 2> input{key_, counter_++};
        const XXH128_hash_t hash = XXH3_128bits(input.data(), sizeof input);
        second_ = hash.high64;
        has_second_ = true;
        return hash.low64;
    }

    std::uint64_t key_;
    std::uint64_t counter_ = 0;
    std::uint64_t second_ = 0;
    bool has_second_ = false;
};

} // namespace gristmill::datagen

#endif
