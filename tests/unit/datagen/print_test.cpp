// Numbers print as std::to_chars and Python print them.
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "print.hpp"
#include "reference_random.hpp"

namespace gristmill::datagen {
namespace {

/// What a print function writes.
template <class Function, class... Arguments>
std::string printed(Function function, Arguments... arguments) {
    std::array<char, 32 + print_slack> text;
    return {text.data(), function(text.data(), arguments...)};
}

std::string decimal(std::uint64_t value) {
    return printed([](char *out, std::uint64_t v) { return print(out, v); }, value);
}

TEST(Print, WritesEachNumberOfDigits) {
    for (std::uint64_t power = 1; power < 1000000000000000000; power *= 10) {
        for (const std::uint64_t value : {power - 1, power, power + 1, power * 9, power * 10 - 1})
            EXPECT_EQ(decimal(value), std::to_string(value));
    }
    EXPECT_EQ(decimal(UINT64_MAX), "18446744073709551615");
    for (std::uint64_t value = 0; value < 100000000; value += 997)
        ASSERT_EQ(decimal(value), std::to_string(value));
}

TEST(Print, Pads) {
    EXPECT_EQ(printed(print_padded, std::uint64_t{7}, 3), "007");
    EXPECT_EQ(printed(print_padded, std::uint64_t{0}, 8), "00000000");
    EXPECT_EQ(printed(print_padded, std::uint64_t{12345678}, 8), "12345678");
    EXPECT_EQ(printed(print_hex12, std::uint64_t{0}), "000000000000");
    EXPECT_EQ(printed(print_hex12, std::uint64_t{0x0123456789ab}), "0123456789ab");
    EXPECT_EQ(printed(print_hex12, std::uint64_t{0xcdef09af90fe}), "cdef09af90fe");
}

TEST(Print, RoundsTiesOfTheBinaryValueToEven) {
    EXPECT_EQ(printed(print_rounded3, 0.0), "0.0");
    EXPECT_EQ(printed(print_rounded3, 0.0004), "0.0");
    EXPECT_EQ(printed(print_rounded3, 0.0625), "0.062"); // exact ties
    EXPECT_EQ(printed(print_rounded3, 0.1875), "0.188");
    EXPECT_EQ(printed(print_rounded3, 1.0005), "1.0"); // just below one
    EXPECT_EQ(printed(print_rounded1, 0.25), "0.2");
    EXPECT_EQ(printed(print_rounded1, 0.35), "0.3");
    EXPECT_EQ(printed(print_rounded3, 0.9996), "1.0");
    EXPECT_EQ(printed(print_rounded1, 3599.96), "3600.0");
    EXPECT_EQ(printed(print_rounded3, 0.12), "0.12");
}

TEST(Print, RoundsAsToCharsDoes) {
    ReferenceRandom random(1);
    for (int i = 0; i < 200000; ++i) {
        // Every other one lies at a tie, or as near to one as a double can.
        double value = random.real() * 3600;
        if (i % 2 == 0)
            value = static_cast<double>(random.below(3600000) * 2 + 1) / 2000;
        std::array<char, 64> text;
        char *const end = std::to_chars(text.data(), text.data() + text.size(), value,
                                        std::chars_format::fixed, 3)
                              .ptr;
        std::string expected(text.data(), end);
        while (expected.ends_with('0') && !expected.ends_with(".0"))
            expected.pop_back();
        ASSERT_EQ(printed(print_rounded3, value), expected);
    }
}

} // namespace
} // namespace gristmill::datagen
