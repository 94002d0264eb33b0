// Results as a sequence of records, whatever their framing.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "output/results.hpp"
#include "support/random.hpp"
#include "support/test_file.hpp"

namespace gristmill {
namespace {

using Pieces = std::vector<std::string>; // one for each batch

Results results_of(const Pieces &pieces, Framing framing, bool lacks = false) {
    auto state = std::make_unique<Results::State>();
    for (const std::string &piece : pieces) {
        OutputBatch batch;
        batch.data = bytes_of(piece);
        state->batches.push_back(batch);
    }
    state->framing = std::move(framing);
    state->ends_without_delimiter = lacks;
    return Results(std::move(state));
}

std::vector<std::string> all(const Results &results) {
    std::vector<std::string> records;
    for (std::uint64_t i = 0; i < results.size(); ++i)
        records.emplace_back(text_of(results[i]));
    return records;
}

using Strings = std::vector<std::string>;

TEST(Results, delimited) {
    const Pieces pieces = {"a\n\nbc\n", "d\n", "\n\n"};
    const Results results = results_of(pieces, Framing{});
    EXPECT_EQ(all(results), (Strings{"a", "", "bc", "d", "", ""}));
    EXPECT_EQ(results.byte_size(), 10u);
    EXPECT_EQ(text_of(results[5]), "") << "backwards, too";
    EXPECT_EQ(text_of(results[0]), "a");
}

TEST(Results, delimiters_of_several_bytes) {
    const Pieces pieces = {"a$$$$b$$", "$$"};
    EXPECT_EQ(all(results_of(pieces, {Framing::Kind::delimiter, "$$", 0})),
              (Strings{"a", "", "b", ""}));
}

TEST(Results, fixed) {
    const Pieces pieces = {"abcdef", "ghi"};
    EXPECT_EQ(all(results_of(pieces, {Framing::Kind::fixed, "", 3})),
              (Strings{"abc", "def", "ghi"}));
}

TEST(Results, frames) {
    const std::string two("\2\0\0\0ab", 6);
    const std::string none("\0\0\0\0", 4);
    const Pieces pieces = {two + none + two, none, none + none};
    EXPECT_EQ(all(results_of(pieces, {Framing::Kind::u32le, "", 0})),
              (Strings{"ab", "", "ab", "", "", ""}));
}

TEST(Results, the_whole_lacks_the_delimiter_that_the_input_lacked) {
    const Pieces pieces = {"a\n", "b\n"};
    const Results results = results_of(pieces, Framing{}, true);
    EXPECT_EQ(results.byte_size(), 3u);
    EXPECT_EQ(all(results), (Strings{"a", "b"})) << "records are whole all the same";
    const test::TestFolder folder;
    ASSERT_TRUE(results.write(folder.file("out")));
    EXPECT_EQ(test::TestFolder::read(folder.file("out")), "a\nb");
}

TEST(Results, nothing_at_all) {
    const Results results = results_of({}, Framing{});
    EXPECT_EQ(results.size(), 0u);
    EXPECT_EQ(results.byte_size(), 0u);
    const test::TestFolder folder;
    ASSERT_TRUE(results.write(folder.file("out")));
    EXPECT_EQ(test::TestFolder::read(folder.file("out")), "");
    EXPECT_FALSE(results.write(folder.file("no/folder")));
}

TEST(Results, several_threads_may_read) {
    Pieces pieces;
    for (int batch = 0; batch < 50; ++batch) {
        pieces.emplace_back();
        for (int i = 0; i < 20; ++i)
            pieces.back() += std::to_string(batch * 20 + i) + "\n";
    }
    const Results results = results_of(pieces, Framing{});
    std::vector<std::thread> readers;
    std::vector<int> wrong(4, 0);
    for (std::size_t reader = 0; reader < wrong.size(); ++reader)
        readers.emplace_back([&, reader] {
            test::Random random(reader);
            for (int i = 0; i < 2000; ++i) {
                const std::uint64_t index = random.below(results.size());
                wrong[reader] += text_of(results[index]) != std::to_string(index);
            }
        });
    for (std::thread &reader : readers)
        reader.join();
    EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

} // namespace
} // namespace gristmill
