// Where whole records end in bytes that grow, against records found without the engine.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/whole_records.hpp"
#include "support/record_oracle.hpp"

namespace gristmill::record {
namespace {

using test::Random;

// Ends of the records that are whole, in order.
std::vector<std::uint64_t> ends_of(const std::string &data, const Framing &framing) {
    std::vector<std::uint64_t> ends;
    std::uint64_t at = 0;
    switch (framing.kind) {
    case Framing::Kind::delimiter:
        for (std::size_t found = 0;
             (found = data.find(framing.delimiter, at)) != std::string::npos;)
            ends.push_back(at = found + framing.delimiter.size());
        break;
    case Framing::Kind::fixed:
        while (data.size() - at >= framing.record_bytes)
            ends.push_back(at += framing.record_bytes);
        break;
    case Framing::Kind::u32le:
        while (data.size() - at >= 4) {
            std::uint64_t bytes = 0;
            for (std::size_t i = 4; i-- > 0;)
                bytes = bytes << 8 | static_cast<unsigned char>(data[at + i]);
            if (data.size() - at - 4 < bytes)
                break;
            ends.push_back(at += 4 + bytes);
        }
        break;
    }
    return ends;
}

std::uint64_t expected_bytes(const std::vector<std::uint64_t> &ends, std::uint64_t wanted) {
    std::uint64_t best = 0;
    for (const std::uint64_t end : ends)
        if (best == 0 || end <= wanted)
            best = end;
    return best;
}

Framing delimited(const std::string &delimiter) { return {Framing::Kind::delimiter, delimiter, 0}; }
Framing fixed(std::uint64_t bytes) { return {Framing::Kind::fixed, "", bytes}; }
const Framing kFrames{Framing::Kind::u32le, "", 0};

std::string describe(const std::string &data, const Framing &framing, std::uint64_t wanted) {
    return "'" + data + "' by '" + framing.delimiter + "'/" + std::to_string(framing.record_bytes) +
           ", wanted " + std::to_string(wanted);
}

TEST(WholeBytes, all_small_data) {
    constexpr std::size_t kLengthMax = test::kSanitizerCost > 1 ? 7 : 10;
    for (const std::string delimiter : {"a", "b", "ab", "aab", "abb", "aaab", "abbb", "aabb"}) {
        ASSERT_FALSE(test::oracle_border(delimiter));
        for (std::size_t length = 0; length <= kLengthMax; ++length)
            for (std::uint64_t number = 0; number < std::uint64_t{1} << length; ++number) {
                const std::string data = test::ab_string(length, number);
                const auto ends = ends_of(data, delimited(delimiter));
                for (std::uint64_t wanted = 0; wanted <= length + 2; ++wanted)
                    ASSERT_EQ(whole_bytes(bytes_of(data), delimited(delimiter), wanted),
                              expected_bytes(ends, wanted))
                        << describe(data, delimited(delimiter), wanted);
            }
    }
}

TEST(WholeBytes, random_data) {
    static const std::string delimiters[] = {"\n", "\r\n", "a", "ab", "aab", "abc", "abbb", "aaab"};
    const test::SeedRange seeds(20'000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        Random random(seed);
        const Framing framing = delimited(delimiters[random.below(std::size(delimiters))]);
        const std::string data = test::random_data(random, framing.delimiter, 300);
        const std::uint64_t wanted = random.below(400);
        ASSERT_EQ(whole_bytes(bytes_of(data), framing, wanted),
                  expected_bytes(ends_of(data, framing), wanted))
            << describe(data, framing, wanted) << test::replay(seed);
    }
}

TEST(WholeBytes, fixed_records) {
    for (std::uint64_t record = 1; record < 9; ++record)
        for (std::size_t length = 0; length < 40; ++length)
            for (std::uint64_t wanted = 0; wanted < 45; ++wanted) {
                const std::string data(length, 'x');
                ASSERT_EQ(whole_bytes(bytes_of(data), fixed(record), wanted),
                          expected_bytes(ends_of(data, fixed(record)), wanted))
                    << describe(data, fixed(record), wanted);
            }
}

TEST(WholeBytes, as_much_as_there_is_when_more_is_wanted_than_there_can_be) {
    constexpr std::uint64_t huge = ~std::uint64_t{0};
    EXPECT_EQ(whole_bytes(bytes_of("a\nb\nc"), delimited("\n"), huge), 4u);
    EXPECT_EQ(whole_bytes(bytes_of("abcde"), fixed(2), huge), 4u);
    EXPECT_EQ(whole_bytes(bytes_of("abc"), fixed(huge), 1), 0u);
}

// --- one by one ---------------------------------------------------------------------------------

std::string random_frames(Random &random) {
    std::string data;
    for (std::uint64_t count = random.below(20); count > 0; --count) {
        const std::uint64_t bytes = random.one_in(10) ? random.below(700) : random.below(5);
        data += static_cast<char>(bytes & 0xff);
        data += static_cast<char>(bytes >> 8);
        data += std::string(2, '\0') + std::string(bytes, 'x');
    }
    data.resize(data.size() - random.below(std::min<std::size_t>(data.size(), 6) + 1));
    return data;
}

// Bytes come in random steps; between them records are walked, and taken away at random.
void walk_growing(const std::string &data, const Framing &framing, Random &random) {
    const std::vector<std::uint64_t> ends = ends_of(data, framing);
    RecordWalk walk(framing);
    std::uint64_t begin = 0; // of the bytes that are walked
    std::uint64_t there = 0;
    std::size_t found = 0;
    std::size_t first = 0; // found since begin
    while (true) {
        const ByteView view = bytes_of(data).subspan(begin, there - begin);
        // As many bytes as there are, and no others behind them.
        const std::vector<std::byte> exactly(view.begin(), view.end());
        const bool stepped = walk.step(exactly);
        const bool whole = found < ends.size() && ends[found] <= there;
        ASSERT_EQ(stepped, whole) << found << " of " << ends.size() << ", " << there << " bytes";
        if (stepped) {
            ASSERT_EQ(walk.bytes(), ends[found] - begin);
            ASSERT_EQ(walk.count(), ++found - first);
        } else {
            if (there == data.size())
                break;
            there = std::min(data.size(), there + 1 + random.below(random.one_in(4) ? 100 : 4));
        }
        if (!random.one_in(3))
            continue;
        const bool again = random.one_in(2); // as if nothing had been seen
        begin += walk.bytes();
        first = found;
        again ? walk.restart() : walk.drop_walked();
        ASSERT_EQ(walk.bytes(), 0u);
        ASSERT_EQ(walk.count(), 0u);
    }
    ASSERT_EQ(found, ends.size());
}

TEST(RecordWalk, finds_each_record_as_soon_as_it_is_whole) {
    static const std::string delimiters[] = {"\n", "$$", "$$$$", "aba", "abab", "aab", "\r\n"};
    const test::SeedRange seeds(20'000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        Random random(seed);
        Framing framing = delimited(delimiters[random.below(std::size(delimiters))]);
        std::string data = test::random_data(random, framing.delimiter, 200);
        if (random.one_in(3))
            framing = fixed(random.between(1, 30));
        else if (random.one_in(3)) {
            framing = kFrames;
            data = random_frames(random);
        }
        walk_growing(data, framing, random);
        ASSERT_FALSE(testing::Test::HasFatalFailure())
            << describe(data, framing, 0) << test::replay(seed);
    }
}

TEST(RecordWalk, all_small_data_by_delimiters_with_a_border) {
    constexpr std::size_t kLengthMax = test::kSanitizerCost > 1 ? 7 : 10;
    for (const std::string delimiter : {"aa", "aba", "aaa", "abab", "aaaa"})
        for (std::size_t length = 0; length <= kLengthMax; ++length)
            for (std::uint64_t number = 0; number < std::uint64_t{1} << length; ++number)
                for (const std::uint64_t seed : {1u, 2u}) {
                    const std::string data = test::ab_string(length, number);
                    Random random(seed + number);
                    walk_growing(data, delimited(delimiter), random);
                    ASSERT_FALSE(testing::Test::HasFatalFailure())
                        << describe(data, delimited(delimiter), seed);
                }
}

// An exact number of them at once, in data of some blocks.
TEST(RecordWalk, many_at_once_are_those_that_are_found_one_by_one) {
    const test::SeedRange seeds(2'000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        Random random(seed);
        const Framing lines = delimited("\n");
        const std::string data = test::random_data(random, "\n", random.one_in(2) ? 300 : 30'000);
        const std::vector<std::uint64_t> ends = ends_of(data, lines);
        const std::uint64_t most = random.between(1, random.one_in(2) ? 10 : 1'000);
        RecordWalk walk(lines);
        std::uint64_t begin = 0;
        std::size_t first = 0;
        for (std::uint64_t there = 0;; there = std::min(data.size(), there + random.below(9'000))) {
            const ByteView view = bytes_of(data).subspan(begin, there - begin);
            ASSERT_TRUE(walk.step_many(view, most));
            std::uint64_t count = 0;
            while (count < most && first + count < ends.size() && ends[first + count] <= there)
                ++count;
            ASSERT_EQ(walk.count(), count) << test::replay(seed);
            ASSERT_EQ(walk.bytes(), count > 0 ? ends[first + count - 1] - begin : 0)
                << test::replay(seed);
            if (count == most) {
                begin += walk.bytes();
                first += count;
                walk.drop_walked();
            } else if (there == data.size()) {
                break;
            }
        }
    }
}

TEST(RecordWalk, only_single_bytes_can_be_found_many_at_once) {
    for (const Framing &framing : {delimited("ab"), delimited("aa"), fixed(1), kFrames}) {
        RecordWalk walk(framing);
        EXPECT_FALSE(walk.step_many(bytes_of("abaa"), 5));
        EXPECT_EQ(walk.count(), 0u);
    }
}

TEST(RecordWalk, the_longest_frame_there_can_be) {
    const Framing framing = kFrames;
    RecordWalk walk(framing);
    EXPECT_FALSE(walk.step(bytes_of("\xff\xff\xff\xff and a little")));
    EXPECT_EQ(walk.bytes(), 0u);
}

} // namespace
} // namespace gristmill::record
