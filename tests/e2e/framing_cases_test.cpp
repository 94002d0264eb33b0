// The framing files of the cases: where records begin and end, whatever the reads and batches.
#include <filesystem>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

struct Case {
    std::string name;
    std::string path;
    std::string delimiter;
    std::vector<std::uint64_t> blocks{64, 4096, 65536};
    std::size_t records = 0;
};

std::string from_hex(std::string_view digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
    return bytes;
}

std::vector<Case> manifest() {
    const std::string folder = GRISTMILL_TEST_DATA_DIR;
    simdjson::dom::parser parser;
    std::vector<Case> cases;
    const simdjson::dom::array entries = parser.load(folder + "/manifest.json");
    for (const simdjson::dom::element entry : entries) {
        Case one;
        one.name = std::string(std::string_view(entry["case"]));
        one.path = folder + "/" + std::string(std::string_view(entry["file"]));
        one.delimiter = from_hex(std::string_view(entry["delim"]));
        one.records = std::uint64_t(entry["records"]);
        simdjson::dom::array blocks;
        if (entry["blocks"].get(blocks) == simdjson::SUCCESS) {
            one.blocks.clear();
            for (const simdjson::dom::element block : blocks)
                one.blocks.push_back(block);
        }
        cases.push_back(std::move(one));
    }
    return cases;
}

// By reads, by batches, and by both.
std::vector<RunOptions> blocked(std::uint64_t block, const std::string &delimiter) {
    std::vector<RunOptions> all(3, delimited_by(delimiter));
    all[0].test_read_bytes = block;
    all[1].batch_bytes = block;
    all[2].batch_bytes = all[2].test_read_bytes = block;
    return all;
}

void expect_records(Engine &engine, const std::string &path, const std::string &delimiter,
                    std::uint64_t block) {
    const std::string bytes = read_file(path);
    const std::vector<std::string> expected = split(bytes, delimiter);
    for (const RunOptions &options : blocked(block, delimiter)) {
        SCOPED_TRACE(::testing::Message() << path << ", delimiter of " << delimiter.size()
                                          << ", read " << options.test_read_bytes << ", batch "
                                          << options.batch_bytes.value_or(0));
        const Outcome outcome =
            complete(engine, Way::map, bundled("identity"), {path}, options);
        EXPECT_TRUE(outcome.records == expected)
            << outcome.records.size() << " records, expected " << expected.size();
        EXPECT_TRUE(outcome.bytes == bytes) << "identity copies byte for byte";
        expect_accounted(outcome.report, {path}, expected.size());
        if (::testing::Test::HasFailure())
            return;
    }
}

class FramingCases : public ::testing::TestWithParam<Crew> {};

TEST_P(FramingCases, EveryFileOfTheManifest) {
    Engine engine = make_engine(GetParam());
    const std::vector<Case> cases = manifest();
    EXPECT_EQ(cases.size(), 13u);
    for (const Case &one : cases) {
        EXPECT_EQ(split(read_file(one.path), one.delimiter).size(), one.records) << one.path;
        for (const std::uint64_t block : one.blocks)
            expect_records(engine, one.path, one.delimiter, block);
    }
}

// A02: without the CR in the delimiter, each record keeps its own.
TEST_P(FramingCases, LinesKeepTheirCarriageReturn) {
    Engine engine = make_engine(GetParam());
    for (const std::uint64_t block : {64, 4096, 65536})
        expect_records(engine, std::string(GRISTMILL_TEST_DATA_DIR) + "/A02_crlf_on_edges.txt",
                       "\n", block);
}

// A04: the records are a function of the bytes and the delimiter alone.
TEST_P(FramingCases, AnyDelimiter) {
    Engine engine = make_engine(GetParam());
    for (const char *delimiter : {"$$$$", "a", "b", "\n", "\n\n", "aba", "$"})
        for (const std::uint64_t block : {1, 2, 3, 5, 64})
            expect_records(engine,
                           std::string(GRISTMILL_TEST_DATA_DIR) + "/A04_any_delimiter.txt",
                           delimiter, block);
}

// A08: blank records keep their places.
TEST_P(FramingCases, FirstRecordThatIsNotBlank) {
    Engine engine = make_engine(GetParam());
    const Outcome outcome = complete(
        engine, Way::map, bundled("upper"),
        {std::string(GRISTMILL_TEST_DATA_DIR) + "/A08_blank_runs_on_edges.txt"}, {});
    ASSERT_GT(outcome.records.size(), 2u);
    EXPECT_EQ(outcome.records[0], "");
    EXPECT_EQ(outcome.records[1], "");
    EXPECT_EQ(outcome.records[2], "FIRST");
}

INSTANTIATE_TEST_SUITE_P(Everywhere, FramingCases,
                         ::testing::Values(Crew{1, "1"}, Crew{2, "1"}, Crew{7, "1"},
                                           Crew{1, "@4"}, Crew{2, "@4"}, Crew{7, "@4"}),
                         [](const auto &given) {
                             return "Workers" + std::to_string(given.param.workers) + "Nodes" +
                                    std::string(1, given.param.nodes.back());
                         });

// A01 at a block size of one's own choice.
TEST(FramingStraddle, RecordsAroundAnyBlock) {
    const Scratch scratch;
    Engine engine = make_engine({2, "1"});
    for (const std::size_t block : {1, 7, 64, 512, 65536}) {
        std::string bytes;
        char letter = 'a';
        for (const std::size_t length :
             {std::size_t{3}, block - 1, block, block + 1, 2 * block, 3 * block + 7})
            bytes += std::string(length, letter++) + "\n" + "s\n";
        const std::string path = scratch.write(std::to_string(block), bytes);
        expect_records(engine, path, "\n", block);
    }
}

} // namespace
} // namespace gristmill::e2e
