#include "digest.hpp"

#include <array>
#include <cstdint>

#include "print.hpp"
#include "xxhash_inline.hpp"

namespace gristmill::datagen {

struct Digest::State {
    XXH3_state_t xxh3;
};

Digest::Digest() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh3); }
Digest::Digest(Digest &&) noexcept = default;
Digest::~Digest() = default;

void Digest::add(std::string_view bytes) noexcept {
    XXH3_128bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

std::string Digest::text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh3);
    std::string text;
    for (const std::uint64_t half : {hash.high64, hash.low64}) {
        for (const int shift : {32, 0}) {
            const std::uint64_t digits =
                eight_hex_digits(static_cast<std::uint32_t>(half >> shift));
            text.append(reinterpret_cast<const char *>(&digits), sizeof digits);
        }
    }
    return text;
}

} // namespace gristmill::datagen
