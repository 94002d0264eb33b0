// Workers and nodes in every combination: no record is lost, none comes twice, none moves; and what
// the report says of nodes adds up.
#include <csignal>
#include <random>

#include <gtest/gtest.h>

#include "support/feeder.hpp"
#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

constexpr std::uint32_t kMost = 8; // workers, and nodes

// Where the input comes from decides whether batches have a home.
enum class From : std::uint8_t { file, file_by_records, pipe, pipe_by_records, pipe_by_bytes };
constexpr From kAll[] = {From::file, From::file_by_records, From::pipe, From::pipe_by_records,
                         From::pipe_by_bytes};

std::string text(std::size_t lines) {
    std::mt19937_64 random(7);
    std::string bytes;
    for (std::size_t i = 0; i < lines; ++i) {
        const std::size_t length = random() % 500 == 0 ? 5000 + random() % 20'000 : random() % 90;
        bytes += std::to_string(i) + " ";
        for (std::size_t k = 0; k < length; ++k)
            bytes += static_cast<char>('a' + (i + k) % 26);
        bytes += '\n';
    }
    return bytes + "the last one lacks its delimiter";
}

class NodesGrid : public ::testing::TestWithParam<Isolation> {
  protected:
    RunOptions options_of(From from, const Crew &crew) const {
        RunOptions options = in(crew);
        if (from == From::file_by_records || from == From::pipe_by_records)
            options.batch_records = 7;
        if (from == From::pipe_by_bytes)
            options.batch_bytes = 300;
        return options;
    }

    void expect_nodes_add_up(const Report &report, const Crew &crew, std::uint32_t nodes,
                             bool at_home) const {
        ASSERT_EQ(report.nodes.size(), nodes);
        NodeReport sum;
        for (const NodeReport &node : report.nodes) {
            sum.workers += node.workers;
            sum.batches += node.batches;
            sum.records += node.records;
            sum.batches_home += node.batches_home;
            sum.batches_head += node.batches_head;
            sum.batches_stolen += node.batches_stolen;
            EXPECT_LE(node.batches_home + node.batches_head + node.batches_stolen, node.batches);
            EXPECT_TRUE(crew.workers == 0 || node.workers > 0 || node.batches == 0)
                << "nobody is there to have run them";
            EXPECT_GE(node.idle_seconds, 0);
        }
        EXPECT_EQ(sum.workers, crew.workers);
        EXPECT_EQ(sum.batches, report.batches);
        EXPECT_EQ(sum.records, report.read);
        EXPECT_EQ(sum.batches_home + sum.batches_head + sum.batches_stolen,
                  at_home ? report.batches : 0);
        if (nodes == 1) {
            EXPECT_EQ(sum.batches_head + sum.batches_stolen, 0u) << "all is home";
        }
    }

    void expect_all(Engine &engine, const Crew &crew, std::uint32_t nodes, From from) {
        SCOPED_TRACE(::testing::Message() << crew << ", from " << int(from));
        const bool piped = from >= From::pipe;
        const Feeder fed(piped ? Kind::pipe : Kind::file, scratch_, data_, crew.workers + nodes);
        const Result<Results> results =
            engine.map(bundled("upper"), {fed.source()}, options_of(from, crew));
        ASSERT_TRUE(results.ok()) << results.error().message;
        const Outcome outcome = outcome_of(*results);
        ASSERT_EQ(outcome.bytes.size(), expected_.size());
        EXPECT_TRUE(outcome.bytes == expected_);
        EXPECT_EQ(outcome.records.size(), records_);
        EXPECT_EQ(outcome.report.read, records_);
        EXPECT_EQ(outcome.report.emitted, records_);
        EXPECT_EQ(outcome.report.input_bytes, data_.size());
        expect_nodes_add_up(outcome.report, crew, nodes, from != From::file);
    }

    const Scratch scratch_;
    const std::string data_ = text(kThreadSanitizer ? 300 : 1500);
    const std::string expected_ = mapped({data_}, "\n", upper);
    const std::uint64_t records_ = split(data_).size();
};

TEST_P(NodesGrid, NothingIsLostWhateverTheWorkersAndNodes) {
    const std::uint32_t step = kThreadSanitizer ? 7 : kSanitized ? 3 : 1;
    std::uint32_t number = 0;
    for (std::uint32_t workers = 0; workers <= kMost; ++workers)
        for (std::uint32_t nodes = 1; nodes <= kMost; ++nodes) {
            if (number++ % step != 0)
                continue;
            const Crew crew{workers, std::string("@").append(std::to_string(nodes)), GetParam()};
            Engine engine = make_engine(crew);
            for (const From from : kAll)
                expect_all(engine, crew, nodes, from);
            if (HasFailure())
                return;
        }
}

class NodesMemory : public ::testing::Test {
  protected:
    NodesMemory() { std::signal(SIGPIPE, SIG_IGN); } // a feeder that nobody reads from

    const Scratch scratch_;
};

// Each batch has a slot of its own: that has to fit it.
TEST_F(NodesMemory, SmallBatchesDoNotTakeLargeSlots) {
    std::string lines;
    while (lines.size() < 500'000)
        lines += "a line of some length\n";
    const Crew crew{2, "@2", Isolation::thread};
    Engine engine = make_engine(crew);
    for (const std::uint64_t batch_bytes : {100u, 5000u, 40'000u}) {
        const Feeder fed(Kind::pipe, scratch_, lines, 1);
        RunOptions options = in(crew);
        options.batch_bytes = batch_bytes;
        const Result<Results> results = engine.map(bundled("identity"), {fed.source()}, options);
        ASSERT_TRUE(results.ok()) << results.error().message;
        EXPECT_EQ(outcome_of(*results).bytes, lines);
        EXPECT_LE(results->report().spool_bytes_max, results->report().spool_slots * 64 * 1024);
    }
}

// While the spool grows: what it holds is not for others to look at.
TEST_F(NodesMemory, AReportMayBeAskedForAtAnyTime) {
    std::string lines;
    while (lines.size() < 300'000)
        lines += "a line of some length\n";
    const Crew crew{4, "@4", Isolation::thread};
    Engine engine = make_engine(crew);
    for (const bool to_the_end : {true, false}) {
        const Feeder fed(Kind::pipe, scratch_, lines, 1);
        RunOptions options = in(crew);
        options.batch_bytes = 2000;
        Result<Stream> stream = engine.stream(bundled("identity"), {fed.source()}, options);
        ASSERT_TRUE(stream) << stream.error().message;
        std::uint64_t read = 0;
        for (int taken = 0; to_the_end || taken < 20; ++taken) {
            const Result<std::optional<OutputBatch>> batch = stream->next();
            ASSERT_TRUE(batch) << batch.error().message;
            if (!*batch)
                break;
            const Report report = stream->report();
            EXPECT_GE(report.read, read);
            EXPECT_EQ(report.nodes.size(), 4u);
            read = report.read;
        }
        stream->close();
        EXPECT_GE(stream->report().read, read);
        if (to_the_end) {
            EXPECT_EQ(stream->report().input_bytes, lines.size());
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Each, NodesGrid, ::testing::Values(Isolation::thread, Isolation::process),
                         [](const auto &each) {
                             return each.param == Isolation::thread ? "threads" : "processes";
                         });

} // namespace
} // namespace gristmill::e2e
