// The randomness of the reference stream: the Mersenne Twister MT19937, seeded and drawn from as
// CPython's random module does, so that the published data can be reproduced.
#ifndef GRISTMILL_DATAGEN_REFERENCE_RANDOM_HPP
#define GRISTMILL_DATAGEN_REFERENCE_RANDOM_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gristmill::datagen {

class ReferenceRandom {
  public:
    /// The stream of random.seed(seed).
    explicit ReferenceRandom(std::uint64_t seed) noexcept;

    /// Uniform in [0, 1), 53 bits.
    double real() noexcept {
        const std::uint64_t a = next() >> 5;
        const std::uint64_t b = next() >> 6;
        return static_cast<double>(a * 67108864 + b) * 0x1p-53;
    }

    /// Uniform in [0, 2^count), 1 <= count <= 64.
    std::uint64_t bits(int count) noexcept {
        if (count <= 32)
            return next() >> (32 - count);
        const std::uint64_t low = next();
        return low | std::uint64_t{next() >> (64 - count)} << 32;
    }

    /// Uniform in [0, n), n >= 1.
    std::uint64_t below(std::uint64_t n) noexcept {
        const auto count = static_cast<int>(std::bit_width(n));
        std::uint64_t drawn = bits(count);
        while (drawn >= n)
            drawn = bits(count);
        return drawn;
    }

  private:
    static constexpr std::size_t size = 624;

    std::uint32_t next() noexcept {
        if (position_ == size)
            twist();
        std::uint32_t y = state_[position_++];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        return y ^ (y >> 18);
    }

    void seed_by_word(std::uint32_t word) noexcept;
    void seed_by_key(std::span<const std::uint32_t> key) noexcept;
    void twist() noexcept;

    std::array<std::uint32_t, size> state_;
    std::size_t position_ = size;
};

} // namespace gristmill::datagen

#endif
