// Random numbers of the tests: small, fast, the same everywhere; seeds from the environment.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace gristmill::test {

// SplitMix64.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    // 0 <= below(n) < n; n > 0.
    std::uint64_t below(std::uint64_t n) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
    }
    // first <= between(first, last) <= last.
    std::uint64_t between(std::uint64_t first, std::uint64_t last) {
        return first + below(last - first + 1);
    }
    bool one_in(std::uint64_t n) { return below(n) == 0; }

  private:
    std::uint64_t state_;
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kSanitizerCost = 8; // so many times fewer cases
#else
inline constexpr std::uint64_t kSanitizerCost = 1;
#endif

// Seeds of a random test: [first, last). GRISTMILL_SEED=n replays one of them alone,
// GRISTMILL_SEEDS=n runs n instead of the usual number.
struct SeedRange {
    std::uint64_t first = 1;
    std::uint64_t last = 1;

    explicit SeedRange(std::uint64_t usual) {
        last = first + (usual + kSanitizerCost - 1) / kSanitizerCost;
        if (const char *count = std::getenv("GRISTMILL_SEEDS"))
            last = first + std::strtoull(count, nullptr, 10);
        if (const char *seed = std::getenv("GRISTMILL_SEED")) {
            first = std::strtoull(seed, nullptr, 10);
            last = first + 1;
        }
    }
};

inline std::string replay(std::uint64_t seed) {
    return "replay with GRISTMILL_SEED=" + std::to_string(seed);
}

} // namespace gristmill::test
