// Division as Python does it: towards minus infinity, the remainder with the sign of the divisor.
#ifndef GRISTMILL_PLUGINS_PYTHON_ARITHMETIC_HPP
#define GRISTMILL_PLUGINS_PYTHON_ARITHMETIC_HPP

#include <cmath>
#include <cstdint>

namespace gristmill::python {

/// a / b for b > 0, rounded once: below 2^53 both convert exactly, beyond it a `long double` of 64
/// bits or more keeps the quotient apart from every tie, for the divisors used here.
inline double true_div(std::int64_t a, std::int64_t b) noexcept {
    constexpr std::int64_t exact_max = std::int64_t{1} << 53;
    if (a >= -exact_max && a <= exact_max)
        return static_cast<double>(a) / static_cast<double>(b);
    return static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b));
}

inline double true_div(double a, std::int64_t b) noexcept { return a / static_cast<double>(b); }

/// a % b for b > 0.
inline std::int64_t floor_mod(std::int64_t a, std::int64_t b) noexcept {
    const std::int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

/// a // b for b > 0.
inline std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
    return a / b - (a % b < 0);
}

inline double floor_mod(double a, std::int64_t b) noexcept {
    const auto divisor = static_cast<double>(b);
    const double rest = std::fmod(a, divisor);
    if (rest == 0)
        return 0;
    return rest < 0 ? rest + divisor : rest;
}

/// Takes the remainder off first, so that what is divided is nearly a multiple of b.
inline double floor_div(double a, std::int64_t b) noexcept {
    const auto divisor = static_cast<double>(b);
    const double rest = std::fmod(a, divisor);
    double quotient = (a - rest) / divisor;
    if (rest < 0)
        quotient -= 1;
    if (quotient == 0)
        return std::copysign(0.0, a);
    const double below = std::floor(quotient);
    return quotient - below > 0.5 ? below + 1 : below;
}

} // namespace gristmill::python

#endif
