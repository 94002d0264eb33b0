#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/framing_rules.hpp"
#include "support/record_oracle.hpp"

namespace gristmill::record {
namespace {

const Framing kLines{Framing::Kind::delimiter, "\n", 0};
const Framing kFixed{Framing::Kind::fixed, "", 3};
const Framing kFrames{Framing::Kind::u32le, "", 0};
const std::string kHeader2{"\2\0\0\0", 4};
const std::string kHeader0{"\0\0\0\0", 4};

std::vector<std::string> records_of(const std::string &data, const Framing &framing) {
    std::vector<std::string> records;
    for (auto r = record_at(bytes_of(data), framing, 0); r;
         r = record_at(bytes_of(data), framing, r->next))
        records.push_back(data.substr(r->begin, r->end - r->begin));
    return records;
}

using Strings = std::vector<std::string>;

TEST(FramingRules, frame_lengths_are_little_endian) {
    const std::string header("\x01\x02\x03\xf4", 4);
    EXPECT_EQ(frame_length(bytes_of(header).data()), 0xf4030201u);
}

TEST(FramingRules, records_of_each_framing) {
    EXPECT_EQ(records_of("a\n\nbc\n", kLines), (Strings{"a", "", "bc"}));
    EXPECT_EQ(records_of("a\nb", kLines), (Strings{"a", "b"}));
    EXPECT_EQ(records_of("", kLines), Strings{});
    EXPECT_EQ(records_of("abcdefgh", kFixed), (Strings{"abc", "def"}));
    EXPECT_EQ(records_of(kHeader2 + "ab" + kHeader0 + kHeader2 + "a", kFrames),
              (Strings{"ab", ""}));
    EXPECT_EQ(records_of(std::string("\xff\xff\xff\xff", 4) + "abc", kFrames), Strings{});
    EXPECT_EQ(records_of(std::string(3, '\0'), kFrames), Strings{});
}

TEST(FramingRules, scan_counts_and_says_whether_all_is_whole) {
    const auto scan = [](const std::string &data, const Framing &framing) {
        const RecordScan seen = scan_records(bytes_of(data), framing);
        return std::pair(seen.count, seen.whole);
    };
    using Pair = std::pair<std::uint64_t, bool>;
    EXPECT_EQ(scan("", kLines), Pair(0, true));
    EXPECT_EQ(scan("a\n", kLines), Pair(1, true));
    EXPECT_EQ(scan("a\nb", kLines), Pair(2, false));
    EXPECT_EQ(scan("\n", kLines), Pair(1, true));
    EXPECT_EQ(scan("abcd", kFixed), Pair(1, false));
    EXPECT_EQ(scan("abcdef", kFixed), Pair(2, true));
    EXPECT_EQ(scan(kHeader2 + "ab", kFrames), Pair(1, true));
    EXPECT_EQ(scan(kHeader2 + "ab" + kHeader2, kFrames), Pair(1, false));
    EXPECT_EQ(scan(kHeader2 + "a", kFrames), Pair(0, false));
    EXPECT_EQ(scan("ab", kFixed), Pair(0, false));
}

TEST(FramingRules, scan_agrees_with_the_oracle) {
    const test::SeedRange seeds(3000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        const Framing framing{Framing::Kind::delimiter,
                              test::ab_string(random.between(1, 4), random.next()), 0};
        const std::string data = test::random_data(random, framing.delimiter, 200);
        const auto expected = test::oracle_records(data, framing.delimiter);
        const RecordScan seen = scan_records(bytes_of(data), framing);
        ASSERT_EQ(seen.count, expected.size()) << test::replay(seed);
        ASSERT_EQ(seen.whole, expected.empty() || expected.back().end < expected.back().next)
            << test::replay(seed);
        ASSERT_EQ(last_record_blank(bytes_of(data), framing),
                  !expected.empty() && expected.back().begin == expected.back().end);
        for (std::uint64_t i = 0; i < expected.size(); ++i) {
            const auto found = find_record(bytes_of(data), framing, i);
            ASSERT_TRUE(found && found->begin == expected[i].begin && found->end == expected[i].end)
                << test::replay(seed);
        }
        ASSERT_FALSE(find_record(bytes_of(data), framing, expected.size()));
    }
}

} // namespace
} // namespace gristmill::record
