// The state word of a batch entry: the only record of who holds a batch (rule R1).
#pragma once

#include <cstdint>

namespace gristmill::ring {

enum class EntryState : std::uint8_t { empty, ready, claimed, done };

// 64 bits: state 3 | attempt 8 | worker slot 12 | incarnation 9 | lap 32.
struct StateWord {
    EntryState state = EntryState::empty;
    std::uint8_t attempt = 0;      // how often the batch was given back, saturating
    std::uint16_t worker = 0;      // slot of the holder; claimed and done only
    std::uint16_t incarnation = 0; // of the holder; claimed and done only
    std::uint32_t lap = 0;         // how often the ring has come round

    constexpr std::uint64_t pack() const noexcept {
        return (std::uint64_t(state) << 61) | (std::uint64_t(attempt) << 53) |
               (std::uint64_t(worker & 0xfffu) << 41) |
               (std::uint64_t(incarnation & 0x1ffu) << 32) | lap;
    }
    static constexpr StateWord unpack(std::uint64_t word) noexcept {
        return {static_cast<EntryState>(word >> 61), static_cast<std::uint8_t>(word >> 53),
                static_cast<std::uint16_t>((word >> 41) & 0xfffu),
                static_cast<std::uint16_t>((word >> 32) & 0x1ffu),
                static_cast<std::uint32_t>(word)};
    }
    friend constexpr bool operator==(const StateWord &, const StateWord &) = default;
};

inline constexpr std::uint32_t kWorkerSlotsMax = 4096;

} // namespace gristmill::ring
