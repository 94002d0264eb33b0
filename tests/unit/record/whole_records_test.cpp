// Extents that are whole records already: of every framing, counted anew as they are read.
#include <string>

#include <gtest/gtest.h>

#include "record/extent_reader.hpp"
#include "support/test_file.hpp"

namespace gristmill::record {
namespace {

std::string frame(const std::string &record) {
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8)
        bytes += static_cast<char>(record.size() >> shift & 0xff);
    return bytes + record;
}

struct Reader {
    Reader(const Framing &given, const std::string &data, std::uint64_t max_record = 1000)
        : framing(given), file(data), bytes(data.size()), reader(buffer, framing, max_record, 0) {}
    bool read(std::uint64_t begin, std::uint64_t end, std::uint64_t count) {
        return reader.read_whole_records({file.fd(), bytes, begin, end}, count);
    }
    const BatchView &batch() const { return reader.batch(); }

    const Framing framing;
    test::MemoryFile file;
    std::uint64_t bytes;
    InputBuffer buffer;
    ExtentReader reader;
};

const Framing kLines{Framing::Kind::delimiter, "\n", 0};
const Framing kDollars{Framing::Kind::delimiter, "$$", 0};
const Framing kFixed{Framing::Kind::fixed, "", 4};
const Framing kFrames{Framing::Kind::u32le, "", 0};

TEST(WholeRecords, delimited) {
    Reader reader(kLines, "one\ntwo\nthree");
    ASSERT_TRUE(reader.read(4, 8, 1));
    EXPECT_EQ(text_of(reader.batch().data), "two\n");
    EXPECT_FALSE(reader.batch().delimiter_added);
    ASSERT_TRUE(reader.read(4, 13, 2));
    EXPECT_EQ(text_of(reader.batch().data), "two\nthree\n");
    EXPECT_TRUE(reader.batch().delimiter_added);
    EXPECT_EQ(reader.batch().begin, 4u);
    EXPECT_EQ(reader.batch().end, 13u);
}

TEST(WholeRecords, with_a_border) {
    Reader reader(kDollars, "a$$$$$$b"); // a, nothing, nothing, b
    ASSERT_TRUE(reader.read(0, 8, 4));
    EXPECT_EQ(text_of(reader.batch().data), "a$$$$$$b$$");
    ASSERT_TRUE(reader.read(3, 7, 2));
    EXPECT_EQ(text_of(reader.batch().data), "$$$$");
}

TEST(WholeRecords, fixed) {
    Reader reader(kFixed, "aaaabbbbccccdd");
    ASSERT_TRUE(reader.read(4, 12, 2));
    EXPECT_EQ(text_of(reader.batch().data), "bbbbcccc");
    EXPECT_FALSE(reader.batch().delimiter_added);
    EXPECT_FALSE(reader.read(4, 14, 2)) << "not whole";
}

TEST(WholeRecords, frames) {
    const std::string data = frame("one") + frame("") + frame(std::string(300, 'x'));
    Reader reader(kFrames, data);
    ASSERT_TRUE(reader.read(0, data.size(), 3));
    EXPECT_EQ(text_of(reader.batch().data), data);
    EXPECT_EQ(reader.batch().record_count, 3u);
    ASSERT_TRUE(reader.read(7, 11, 1));
    EXPECT_EQ(text_of(reader.batch().data), frame(""));
}

TEST(WholeRecords, another_count_means_the_file_changed) {
    Reader reader(kLines, "one\ntwo\nthree\n");
    EXPECT_FALSE(reader.read(0, 8, 3));
    EXPECT_TRUE(reader.reader.error().changed);
    EXPECT_FALSE(reader.read(0, 8, 1));
    EXPECT_FALSE(reader.read(0, 6, 2)) << "the last record is not whole and not the file's last";
    EXPECT_TRUE(reader.read(0, 8, 2)) << "the reader goes on after an error";
}

TEST(WholeRecords, oversized_ones_divide_the_batch) {
    Reader reader(kLines, "aaaa\nb\nc\ndddd\ne\n", 3);
    ASSERT_TRUE(reader.read(0, 16, 5));
    const BatchView &batch = reader.batch();
    ASSERT_EQ(batch.segments.size(), 2u);
    EXPECT_EQ(batch.segments[0].first_record, 1u);
    EXPECT_EQ(batch.segments[0].record_count, 2u);
    EXPECT_EQ(batch.segments[0].begin, 5u);
    EXPECT_EQ(batch.segments[0].end, 9u);
    EXPECT_EQ(batch.segments[1].first_record, 4u);
    ASSERT_EQ(batch.oversized.size(), 2u);
    EXPECT_EQ(batch.oversized[1].index, 3u);
    EXPECT_EQ(batch.oversized[1].byte_offset, 9u);
    EXPECT_EQ(batch.oversized[1].bytes, 4u);
}

TEST(WholeRecords, a_record_of_exactly_max_record_is_allowed) {
    Reader reader(kLines, "aaa\nbbb", 3);
    ASSERT_TRUE(reader.read(0, 7, 2));
    EXPECT_TRUE(reader.batch().oversized.empty());
}

TEST(WholeRecords, an_oversized_last_record_leaves_the_rest_whole) {
    Reader reader(kLines, "a\nbbbb", 3);
    ASSERT_TRUE(reader.read(0, 6, 2));
    ASSERT_EQ(reader.batch().segments.size(), 1u);
    EXPECT_EQ(reader.batch().segments[0].end, 2u);
    ASSERT_EQ(reader.batch().oversized.size(), 1u);
    EXPECT_EQ(reader.batch().oversized[0].bytes, 4u);
    EXPECT_EQ(reader.batch().end, 6u);
}

} // namespace
} // namespace gristmill::record
