// A last delimiter that the input lacked is taken off again, in files and in collections.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "output/sink.hpp"
#include "support/test_file.hpp"

namespace gristmill::output {
namespace {

RetiredBatch batch(std::string_view data, std::uint64_t read = 1, bool added = false,
                   bool gave = true) {
    RetiredBatch retired;
    retired.output.data = bytes_of(data);
    retired.read = read;
    retired.delimiter_added = added;
    retired.last_record_gave = gave;
    return retired;
}

const RetiredBatch kUsual = batch("one\ntwo\n", 2);
const RetiredBatch kLacking = batch("three\n", 1, true);
const RetiredBatch kBlank = batch("\n", 1, true, false);
const RetiredBatch kFiltered = batch("", 1, true, false);
const RetiredBatch kNoRecords = batch("", 0);

std::string file_of(const std::vector<RetiredBatch> &batches, Order order = Order::index) {
    const test::TestFolder folder;
    const std::string path = folder.file("out");
    FileSink sink(std::move(os::OutputFile::create(path).value()), Framing{}, order);
    for (const RetiredBatch &retired : batches)
        EXPECT_TRUE(sink.deliver(retired));
    EXPECT_TRUE(sink.finish());
    return test::TestFolder::read(path);
}

bool collection_lacks_it(const std::vector<RetiredBatch> &batches) {
    CollectSink sink;
    for (const RetiredBatch &retired : batches)
        EXPECT_TRUE(sink.deliver(retired));
    return sink.ends_without_delimiter();
}

TEST(Sinks, the_last_delimiter_is_the_inputs) {
    EXPECT_EQ(file_of({kUsual}), "one\ntwo\n");
    EXPECT_EQ(file_of({kUsual, kLacking}), "one\ntwo\nthree");
    EXPECT_EQ(file_of({kUsual, kLacking, kNoRecords}), "one\ntwo\nthree");
    EXPECT_FALSE(collection_lacks_it({kUsual}));
    EXPECT_TRUE(collection_lacks_it({kUsual, kLacking}));
    EXPECT_TRUE(collection_lacks_it({kUsual, kLacking, kNoRecords}));
}

TEST(Sinks, between_sources_it_stays) {
    EXPECT_EQ(file_of({kLacking, kUsual}), "three\none\ntwo\n");
    EXPECT_EQ(file_of({kLacking, kLacking}), "three\nthree");
    EXPECT_FALSE(collection_lacks_it({kLacking, kUsual}));
}

// What follows without giving output still ends the file with a whole record.
TEST(Sinks, a_filtered_last_record_is_no_last_record) {
    EXPECT_EQ(file_of({kUsual, kFiltered}), "one\ntwo\n");
    EXPECT_EQ(file_of({kLacking, batch("", 5)}), "three\n");
    EXPECT_FALSE(collection_lacks_it({kUsual, kFiltered}));
    EXPECT_FALSE(collection_lacks_it({kLacking, batch("", 5)}));
}

TEST(Sinks, a_blank_last_record_keeps_its_delimiter) {
    EXPECT_EQ(file_of({kBlank}), "\n");
    EXPECT_FALSE(collection_lacks_it({kBlank}));
}

TEST(Sinks, without_order_every_record_is_ended) {
    EXPECT_EQ(file_of({kLacking, kUsual}, Order::none), "three\none\ntwo\n");
    EXPECT_EQ(file_of({kUsual, kLacking}, Order::none), "one\ntwo\nthree\n");
}

TEST(Sinks, nothing_makes_an_empty_file) {
    EXPECT_EQ(file_of({}), "");
    EXPECT_EQ(file_of({kNoRecords}), "");
}

TEST(Sinks, a_collection_keeps_what_has_output) {
    CollectSink sink;
    for (const RetiredBatch &retired : {kUsual, kFiltered, kNoRecords, kLacking})
        ASSERT_TRUE(sink.deliver(retired));
    const auto batches = sink.take_batches();
    ASSERT_EQ(batches.size(), 2u);
    EXPECT_EQ(text_of(batches[1].data), "three\n");
}

TEST(Sinks, a_file_that_cannot_be_written_is_an_error) {
    auto full = os::OutputFile::create("/dev/full");
    if (!full)
        GTEST_SKIP() << "no /dev/full here";
    FileSink sink(std::move(*full), Framing{}, Order::index);
    const Result<void> delivered = sink.deliver(kUsual);
    ASSERT_FALSE(delivered);
    EXPECT_EQ(delivered.error().kind, ErrorKind::output);
}

} // namespace
} // namespace gristmill::output
