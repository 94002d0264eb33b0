// No input, or less of it than there are workers.
#include <algorithm>

#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

// The calls of process() that a diary notes.
std::vector<std::string> calls(const std::string &path) {
    std::vector<std::string> found;
    for (const std::string &line : split(read_file(path)))
        if (line.starts_with("process"))
            found.push_back(line);
    return found;
}

TEST(NoInput, CallsNobody) {
    const Scratch scratch;
    const std::string diary = scratch.write("diary", "");
    const std::string empty = scratch.write("empty", "");
    for (const Crew &crew : {Crew{0, "1"}, Crew{1, "1"}, Crew{16, "@4"}}) {
        Engine engine = make_engine(crew);
        for (const std::vector<std::string> &paths :
             {std::vector<std::string>{}, {empty}, {empty, empty, empty}})
            for (const RunOptions &options :
                 {RunOptions{}, with_batch_bytes(1), with_batch_records(1),
                  delimited_by("\n\n")})
                for (const Way way : {Way::map, Way::run}) {
                    const Outcome outcome =
                        complete(engine, way, test_plugin("diary", diary), paths, options);
                    EXPECT_TRUE(outcome.bytes.empty());
                    EXPECT_EQ(outcome.report.batches, 0u);
                    expect_accounted(outcome.report, paths, 0);
                }
    }
    EXPECT_EQ(calls(diary), std::vector<std::string>{});
}

// One call for each batch, none of them empty, each batch the delimiter's end.
TEST(SmallInput, IsHandedOverOnce) {
    const Scratch scratch;
    const std::string input = scratch.write("input", "a\nbb\nccc");
    for (const Crew &crew : {Crew{0, "1"}, Crew{3, "1"}}) {
        const std::string diary = scratch.write("diary", "");
        Engine engine = make_engine(crew);
        complete(engine, Way::map, test_plugin("diary", diary), {input}, with_batch_records(1));
        std::vector<std::string> noted = calls(diary);
        std::sort(noted.begin(), noted.end());
        EXPECT_EQ(noted, (std::vector<std::string>{"process 1 2", "process 1 3", "process 1 4"}));
        // A state for each worker that was awake in time, each destroyed before the run ends.
        const std::size_t destroyed = split(read_file(diary)).size() - noted.size();
        EXPECT_GE(destroyed, 1u);
        EXPECT_LE(destroyed, std::max<std::size_t>(crew.workers, 1));
    }
}

class SmallInputs
    : public ::testing::TestWithParam<std::tuple<std::uint32_t, const char *>> {};

// A07: nought to eight bytes.
TEST_P(SmallInputs, AreCutRight) {
    const Scratch scratch;
    Engine engine = make_engine({std::get<0>(GetParam()), std::get<1>(GetParam())});
    for (std::size_t bytes = 0; bytes <= 8; ++bytes)
        for (unsigned pattern = 0; pattern < (bytes < 5 ? 1u << bytes : 16u); ++pattern) {
            std::string data;
            for (std::size_t i = 0; i < bytes; ++i)
                data += (pattern * 37 >> i & 1) ? '\n' : static_cast<char>('a' + i);
            const std::string path = scratch.write("data", data);
            for (const RunOptions &options : {RunOptions{}, with_batch_bytes(1),
                                              with_batch_records(1), with_batch_records(2)}) {
                const Outcome outcome =
                    complete(engine, Way::map, bundled("identity"), {path}, options);
                EXPECT_EQ(outcome.bytes, data);
                ASSERT_EQ(outcome.records, split(data)) << "'" << data << "'";
            }
        }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, SmallInputs,
                         ::testing::Combine(::testing::Values(1u, 2u, 7u, 64u),
                                            ::testing::Values("1", "@2", "@4")),
                         [](const auto &given) {
                             return "Workers" + std::to_string(std::get<0>(given.param)) +
                                    "Nodes" +
                                    std::string(1, std::string(std::get<1>(given.param)).back());
                         });

// A62: most records give no output; whatever becomes of a record, its place is given back.
TEST(SilentRecords, GiveTheirPlaceBack) {
    const Scratch scratch;
    const std::size_t count = kSanitized ? 50'000 : 1'000'000;
    for (const char *fate : {"drop", "bad", "mute"}) {
        std::string data;
        std::string expected;
        for (std::size_t i = 0; i < count; ++i) {
            const bool kept = i % 1000 == 999 && std::string(fate) != "mute";
            data += kept ? "kept " + std::to_string(i) + "\n" : std::string(fate) + "\n";
            expected += kept ? "kept " + std::to_string(i) + "\n" : "";
        }
        const std::string path = scratch.write("data", data);
        for (const Crew &crew : {Crew{0, "1"}, Crew{2, "@4"}, Crew{7, "1"}}) {
            RunOptions options;
            options.on_error = OnError::skip;
            options.memory_bytes = memory_bytes_min(crew.workers);
            Engine engine = make_engine(crew);
            for (const Order order : {Order::index, Order::none}) {
                options.order = order;
                const Outcome outcome =
                    complete(engine, Way::run, test_plugin("picky"), {path}, options);
                EXPECT_EQ(sorted_lines(outcome.bytes), sorted_lines(expected));
                expect_accounted(outcome.report, {path}, count);
            }
        }
    }
}

} // namespace
} // namespace gristmill::e2e
