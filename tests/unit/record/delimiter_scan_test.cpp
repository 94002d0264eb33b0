#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/delimiter_scan.hpp"
#include "support/record_oracle.hpp"

namespace gristmill::record {
namespace {

std::uint64_t count_naively(std::string_view data, std::string_view delimiter) {
    std::uint64_t count = 0;
    for (std::size_t at = 0; (at = data.find(delimiter, at)) != std::string_view::npos;
         at += delimiter.size())
        ++count;
    return count;
}

TEST(DelimiterScan, counts_as_a_plain_loop_does) {
    const test::SeedRange seeds(3000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        const std::string delimiter = random.one_in(2)
                                          ? std::string(1, char(random.below(256)))
                                          : test::ab_string(random.between(1, 5), random.next());
        const std::string data = test::random_data(random, delimiter, 3000);
        const std::size_t skip = std::min<std::size_t>(data.size(), random.below(64)); // unaligned
        const std::string_view view = std::string_view(data).substr(skip);
        ASSERT_EQ(count_delimiters(bytes_of(view), delimiter), count_naively(view, delimiter))
            << test::replay(seed);
    }
}

// A lane of the vector count holds 255: longer runs must be added up before it is full.
TEST(DelimiterScan, counts_where_every_byte_is_a_delimiter) {
    for (const std::size_t bytes : {0, 1, 15, 16, 31, 32, 33, 255 * 16, 255 * 16 + 1, 255 * 32,
                                    256 * 32, 257 * 32 + 5, 100'000})
        EXPECT_EQ(count_delimiters(bytes_of(std::string(bytes, '\n')), "\n"), bytes);
    EXPECT_EQ(count_delimiters(bytes_of(std::string(10'000, '\xff')), "\xff"), 10'000u);
    EXPECT_EQ(count_delimiters(bytes_of(std::string(10'000, '\0')), std::string(1, '\0')), 10'000u);
}

// Data ends right before a page that must not be touched.
TEST(DelimiterScan, finds_from_anywhere) {
    const std::string data = "aab--aaab--aab";
    for (std::size_t from = 0; from <= data.size() + 2; ++from) {
        const std::size_t expected =
            from <= data.size() ? data.find("aab", from) : std::string::npos;
        EXPECT_EQ(find_delimiter(bytes_of(data), "aab", from),
                  expected == std::string::npos ? kNotFound : expected)
            << from;
    }
    EXPECT_EQ(find_delimiter({}, "x"), kNotFound);
}

TEST(DelimiterScan, knows_borders) {
    for (const std::string borderless : {"\n", "\r\n", "aab", "ab", "abc", "::=", "aabb"})
        EXPECT_FALSE(has_border(borderless)) << borderless;
    for (const std::string bordered : {"$$", "\n\n", "aba", "abab", "aaaa", "abcab"})
        EXPECT_TRUE(has_border(bordered)) << bordered;
    for (std::size_t length = 1; length <= 10; ++length)
        for (std::uint64_t number = 0; number < std::uint64_t{1} << length; ++number) {
            const std::string text = test::ab_string(length, number);
            ASSERT_EQ(has_border(text), test::oracle_border(text)) << text;
        }
}

} // namespace
} // namespace gristmill::record
