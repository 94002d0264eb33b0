// The extent rules against an oracle that splits the whole file: every record belongs to exactly
// one extent, however the file is divided and however it is read.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/delimiter_scan.hpp"
#include "record/extent_reader.hpp"
#include "support/record_oracle.hpp"
#include "support/test_file.hpp"

namespace gristmill::record {
namespace {

using test::OracleRecord;

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;

struct Case {
    std::string data;
    std::string delimiter;
    std::uint64_t max_record = kNoLimit;
    std::uint64_t read_bytes = 0;

    std::string text() const {
        return "data='" + data.substr(0, 200) + "' (" + std::to_string(data.size()) +
               " bytes) delimiter='" + delimiter + "' max_record=" + std::to_string(max_record) +
               " read_bytes=" + std::to_string(read_bytes);
    }
};

// Reads extents of one file and compares each with what the oracle says. Empty: all is well.
class Reading {
  public:
    Reading(InputBuffer &buffer, test::MemoryFile &file, const Case &given)
        : file_(file), case_(given), framing_{Framing::Kind::delimiter, given.delimiter, 0},
          records_(test::oracle_records(given.data, given.delimiter)),
          reader_(buffer, framing_, given.max_record, given.read_bytes) {
        file_.write(given.data);
    }

    std::string check(std::uint64_t begin, std::uint64_t end) {
        if (!reader_.read_records_starting_in({file_.fd(), case_.data.size(), begin, end}))
            return "cannot be read";
        std::vector<OracleRecord> expected;
        for (const OracleRecord &record : records_)
            if (record.begin >= begin && record.begin < end)
                expected.push_back(record);
        return compare(expected);
    }

  private:
    std::string compare(const std::vector<OracleRecord> &expected) const {
        const BatchView &batch = reader_.batch();
        if (batch.record_count != expected.size())
            return std::to_string(batch.record_count) + " records, not " +
                   std::to_string(expected.size());
        if (expected.empty())
            return batch.segments.empty() && batch.begin == batch.end ? "" : "not empty";
        if (batch.begin != expected.front().begin || batch.end != expected.back().next)
            return "covers " + std::to_string(batch.begin) + " to " + std::to_string(batch.end);
        const OracleRecord &last = expected.back();
        const bool lacks = last.next == last.end; // only the file's last record can
        const bool last_fits = last.end - last.begin <= case_.max_record;
        if (batch.delimiter_added != lacks && last_fits)
            return batch.delimiter_added ? "delimiter added" : "delimiter not added";
        return compare_records(expected);
    }

    // Walks segments and oversized records in the order of their indices.
    std::string compare_records(const std::vector<OracleRecord> &expected) const {
        const BatchView &batch = reader_.batch();
        std::uint64_t index = 0;
        std::size_t oversized = 0;
        std::size_t segment = 0;
        while (index < expected.size()) {
            const OracleRecord &record = expected[index];
            const std::uint64_t bytes = record.end - record.begin;
            if (bytes > case_.max_record) {
                if (oversized == batch.oversized.size())
                    return "record " + std::to_string(index) + " is not failed";
                const OversizedRecord &found = batch.oversized[oversized++];
                if (found.index != index || found.byte_offset != record.begin ||
                    found.bytes != bytes)
                    return "oversized: index " + std::to_string(found.index) + " offset " +
                           std::to_string(found.byte_offset) + " bytes " +
                           std::to_string(found.bytes);
                ++index;
                continue;
            }
            if (segment == batch.segments.size() ||
                batch.segments[segment].first_record != index ||
                batch.segments[segment].record_count == 0)
                return "no segment begins at record " + std::to_string(index);
            const std::string wrong = compare_segment(batch.segments[segment++], expected);
            if (!wrong.empty())
                return wrong;
            index += batch.segments[segment - 1].record_count;
        }
        if (segment != batch.segments.size() || oversized != batch.oversized.size())
            return "too many segments or oversized records";
        return padded() ? "" : "not padded";
    }

    std::string compare_segment(const Segment &segment,
                                const std::vector<OracleRecord> &expected) const {
        std::string wanted;
        for (std::uint64_t i = 0; i < segment.record_count; ++i) {
            const OracleRecord &record = expected[segment.first_record + i];
            wanted += case_.data.substr(record.begin, record.end - record.begin);
            wanted += case_.delimiter;
        }
        const BatchView &batch = reader_.batch();
        const auto seen = text_of(batch.data.subspan(segment.begin, segment.end - segment.begin));
        return seen == wanted ? "" : "a segment holds '" + std::string(seen) + "'";
    }

    bool padded() const {
        const std::byte *end = reader_.batch().data.data() + reader_.batch().data.size();
        unsigned sum = 0;
        for (unsigned i = 0; i < GM_BATCH_PADDING; ++i)
            sum += std::to_integer<unsigned>(static_cast<const volatile std::byte &>(end[i]));
        return sum <= 255 * GM_BATCH_PADDING;
    }

    test::MemoryFile &file_;
    const Case &case_;
    const Framing framing_;
    const std::vector<OracleRecord> records_;
    ExtentReader reader_;
};

TEST(ExtentReader, all_small_files_all_extents) {
    InputBuffer buffer;
    test::MemoryFile file;
    constexpr std::size_t kLengthMax = test::kSanitizerCost > 1 ? 6 : 8;
    for (const std::string delimiter : {"a", "b", "ab", "ba", "aab", "abb", "bba", "aabb"})
        for (std::size_t length = 0; length <= kLengthMax; ++length)
            for (std::uint64_t number = 0; number < std::uint64_t{1} << length; ++number)
                for (const std::uint64_t read_bytes : {0, 1, 3})
                    for (const std::uint64_t max_record : {kNoLimit, std::uint64_t{2}}) {
                        const Case given{test::ab_string(length, number), delimiter, max_record,
                                         read_bytes};
                        Reading reading(buffer, file, given);
                        for (std::uint64_t begin = 0; begin <= length; ++begin)
                            for (std::uint64_t end = begin + 1; end <= length; ++end)
                                ASSERT_EQ(reading.check(begin, end), "")
                                    << given.text() << " extent " << begin << ".." << end;
                    }
}

Case random_case(test::Random &random) {
    static const std::vector<std::string> delimiters = {
        "\n", "\r\n", "aab", std::string(1, '\0'), "ab", "\xff\n", "::=", "abcdefgh"};
    Case given;
    given.delimiter = delimiters[random.below(delimiters.size())];
    const bool large = random.one_in(20);
    given.data = test::random_data(random, given.delimiter, large ? 300'000 : 400);
    if (large) // one record longer than any step of reading
        given.data.insert(random.below(given.data.size() + 1),
                          std::string(random.below(200'000), 'x'));
    if (random.one_in(2))
        given.max_record = random.between(1, large ? 100'000 : 60);
    if (!large && random.one_in(2))
        given.read_bytes = random.between(1, 64);
    return given;
}

TEST(ExtentReader, random_files_random_divisions) {
    InputBuffer buffer;
    test::MemoryFile file;
    const test::SeedRange seeds(6000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        const Case given = random_case(random);
        Reading reading(buffer, file, given);
        const std::uint64_t step_max =
            random.between(1, std::max<std::uint64_t>(2, given.data.size()));
        for (std::uint64_t begin = 0; begin < given.data.size();) {
            const std::uint64_t end = std::min<std::uint64_t>(
                given.data.size(), begin + random.between(1, std::max<std::uint64_t>(step_max, 1)));
            ASSERT_EQ(reading.check(begin, end), "") << given.text() << " extent " << begin << ".."
                                                     << end << " " << test::replay(seed);
            begin = end;
        }
    }
}

struct Shrunk {
    InputBuffer buffer;
    Framing framing;
    test::MemoryFile file{std::string(60'000, 'x') + "\nshort\n"};
    ExtentReader reader{buffer, framing, kNoLimit, 0};
};

TEST(ExtentReader, a_file_that_shrank_is_an_error_with_the_offset) {
    Shrunk shrunk;
    EXPECT_FALSE(shrunk.reader.read_records_starting_in({shrunk.file.fd(), 70'000, 0, 100}));
    EXPECT_EQ(shrunk.reader.error().os_errno, 0);
    EXPECT_EQ(shrunk.reader.error().offset, 60'007u);
    EXPECT_FALSE(shrunk.reader.error().changed);
    EXPECT_FALSE(shrunk.reader.read_whole_records({shrunk.file.fd(), 70'000, 60'001, 60'100}, 9));
    EXPECT_EQ(shrunk.reader.error().offset, 60'007u);
}

TEST(ExtentReader, a_file_that_grew_is_read_as_it_was) {
    Shrunk shrunk;
    ASSERT_TRUE(shrunk.reader.read_records_starting_in({shrunk.file.fd(), 10, 0, 10}));
    EXPECT_EQ(text_of(shrunk.reader.batch().data), "xxxxxxxxxx\n");
    EXPECT_TRUE(shrunk.reader.batch().delimiter_added);
}

TEST(ExtentReader, an_unreadable_descriptor_says_errno) {
    Shrunk shrunk;
    EXPECT_FALSE(shrunk.reader.read_records_starting_in({-1, 100, 0, 100}));
    EXPECT_EQ(shrunk.reader.error().os_errno, EBADF);
}

// What is skipped is searched window by window: a long delimiter lies across some edge.
TEST(ExtentReader, the_end_of_an_oversized_record_is_found_wherever_it_lies) {
    test::MemoryFile file;
    const std::string delimiter = "a" + std::string(1500, 'b');
    for (std::size_t bytes = 80'000; bytes < 400'000; bytes += 1400) {
        InputBuffer buffer; // small at first, or one window would hold it all
        Case given{"one" + delimiter, delimiter, 1000, 0};
        given.data += std::string(bytes, 'x') + delimiter + "three";
        Reading reading(buffer, file, given);
        ASSERT_EQ(reading.check(0, 2000), "") << bytes;
    }
}

TEST(ExtentReader, oversized_tail_is_not_kept_in_memory) {
    InputBuffer buffer;
    const Framing framing;
    const std::string data = "a\n" + std::string(40'000'000, 'x') + "\nb\n";
    test::MemoryFile file(data);
    ExtentReader reader(buffer, framing, 1000, 0);
    ASSERT_TRUE(reader.read_records_starting_in({file.fd(), data.size(), 0, 10}));
    ASSERT_EQ(reader.batch().oversized.size(), 1u);
    EXPECT_EQ(reader.batch().oversized[0].bytes, 40'000'000u);
    EXPECT_EQ(reader.batch().end, data.size() - 2);
    EXPECT_LT(buffer.capacity(), 1'000'000u);
}

} // namespace
} // namespace gristmill::record
