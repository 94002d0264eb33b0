#include "reference_random.hpp"

#include <algorithm>

namespace gristmill::datagen {

ReferenceRandom::ReferenceRandom(std::uint64_t seed) noexcept {
    const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(seed),
                                           static_cast<std::uint32_t>(seed >> 32)};
    seed_by_key(std::span(key).first(key[1] == 0 ? 1 : 2));
}

void ReferenceRandom::seed_by_word(std::uint32_t word) noexcept {
    state_[0] = word;
    for (std::uint32_t i = 1; i < size; ++i) {
        const std::uint32_t before = state_[i - 1];
        state_[i] = 1812433253u * (before ^ (before >> 30)) + i;
    }
}

// The init_by_array of MT19937's authors: the key is stirred into a fixed state in two rounds.
void ReferenceRandom::seed_by_key(std::span<const std::uint32_t> key) noexcept {
    seed_by_word(19650218u);
    std::size_t i = 1;
    const auto stir = [&](std::uint32_t factor) {
        const std::uint32_t before = state_[i - 1];
        return state_[i] ^ ((before ^ (before >> 30)) * factor);
    };
    const auto step = [&] {
        if (++i == size) {
            state_[0] = state_[size - 1];
            i = 1;
        }
    };
    for (std::size_t round = 0; round < std::max(size, key.size()); ++round) {
        const std::size_t j = round % key.size();
        state_[i] = stir(1664525u) + key[j] + static_cast<std::uint32_t>(j);
        step();
    }
    for (std::size_t round = 0; round < size - 1; ++round) {
        state_[i] = stir(1566083941u) - static_cast<std::uint32_t>(i);
        step();
    }
    state_[0] = 0x80000000u;
}

void ReferenceRandom::twist() noexcept {
    constexpr std::size_t shift = 397;
    const auto mix = [this](std::size_t i, std::size_t next, std::size_t far) {
        const std::uint32_t y = (state_[i] & 0x80000000u) | (state_[next] & 0x7fffffffu);
        state_[i] = state_[far] ^ (y >> 1) ^ ((0u - (y & 1u)) & 0x9908b0dfu);
    };
    for (std::size_t i = 0; i < size - shift; ++i)
        mix(i, i + 1, i + shift);
    for (std::size_t i = size - shift; i < size - 1; ++i)
        mix(i, i + 1, i + shift - size);
    mix(size - 1, 0, shift - 1);
    position_ = 0;
}

} // namespace gristmill::datagen
