// Records that fail: under raise the lowest one ends the run, under skip and collect it alone is
// missing.
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/intake.hpp"
#include "support/oracle.hpp"
#include "support/runs.hpp"
#include "support/sheet.hpp"

namespace gristmill::e2e {
namespace {

const std::vector<Crew> kCrews{{0, "1"}, {1, "1"}, {2, "@2"}, {7, "@4"}};

std::vector<RunOptions> batchings(std::uint64_t whole) {
    return {with_batch_records(1), with_batch_records(100), RunOptions{}, with_batch_bytes(1000),
            with_batch_bytes(whole)};
}

class RecordErrors : public ::testing::Test {
  protected:
    const Scratch scratch_;
    EnginePool engines_;
    const Sheet sheet_ = random_sheet(5, kSanitized ? 800 : 3000, 300);
    const std::string path_ = scratch_.write("records", sheet_.bytes);
    const PluginSpec picky_ = test_plugin("picky");

    template <class Body>
    void everywhere(Body &&body) {
        for (const Crew &crew : kCrews)
            for (RunOptions options : batchings(sheet_.bytes.size())) {
                SCOPED_TRACE(::testing::Message()
                             << crew << ", batch_records " << options.batch_records.value_or(0)
                             << ", batch_bytes " << options.batch_bytes.value_or(0));
                body(engines_.get(crew), options);
                if (::testing::Test::HasFailure())
                    return;
            }
    }
};

TEST_F(RecordErrors, RaiseNamesTheLowestAndDeliversWhatStandsBefore) {
    const std::uint64_t lowest = sheet_.failing.at(0);
    everywhere([&](Engine &engine, const RunOptions &options) {
        const Intake intake;
        const Result<RunOutcome> ran = engine.run(picky_, {path_}, intake.target(), options);
        ASSERT_FALSE(ran.ok());
        const Error &error = ran.error();
        EXPECT_EQ(error.kind, ErrorKind::record);
        EXPECT_EQ(error.path, path_);
        ASSERT_TRUE(error.record);
        expect_failure(*error.record, sheet_, lowest, path_);
        EXPECT_TRUE(error.record->index_known);
        for (const std::string &part :
             {path_, std::to_string(lowest), std::to_string(sheet_.offsets[lowest])})
            EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
        EXPECT_EQ(intake.bytes(), sheet_.output_before(lowest));
    });
}

TEST_F(RecordErrors, RaiseLeavesNoFile) {
    everywhere([&](Engine &engine, const RunOptions &options) {
        for (const Way way : {Way::map, Way::run}) {
            const Error error = failing(engine, way, picky_, {path_}, options);
            EXPECT_EQ(error.kind, ErrorKind::record);
            ASSERT_TRUE(error.record);
            EXPECT_EQ(error.record->record_index, sheet_.failing[0]);
        }
    });
}

TEST_F(RecordErrors, RaiseInTheSecondSourceCountsOn) {
    const std::string sound = scratch_.write("sound", "one\ntwo\nthree");
    everywhere([&](Engine &engine, const RunOptions &options) {
        const Error error = failing(engine, Way::map, picky_, {sound, path_}, options);
        ASSERT_TRUE(error.record);
        EXPECT_EQ(error.record->record_index, sheet_.failing[0] + 3);
        EXPECT_EQ(error.record->byte_offset, sheet_.offsets[sheet_.failing[0]]);
        EXPECT_EQ(error.record->source, path_);
    });
}

// Through a pipe, that somebody reads while the engine writes.
TEST_F(RecordErrors, RaiseThroughAPipe) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::string got;
    std::thread reader([&] {
        got = read_file("/proc/self/fd/" + std::to_string(ends[0]));
    });
    Result<RunOutcome> ran = engines_.get({2, "1"}).run(
        picky_, {path_}, {OutputTarget::Kind::descriptor, {}, ends[1]}, with_batch_records(7));
    ::close(ends[1]);
    reader.join();
    ::close(ends[0]);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(got, sheet_.output_before(sheet_.failing[0]));
}

TEST_F(RecordErrors, SkipCostsTheRecordAlone) {
    everywhere([&](Engine &engine, RunOptions options) {
        options.on_error = OnError::skip;
        for (const Way way : {Way::map, Way::run}) {
            const Outcome outcome = complete(engine, way, picky_, {path_}, options);
            EXPECT_TRUE(outcome.bytes == sheet_.output);
            EXPECT_TRUE(outcome.errors.empty());
            expect_accounted(outcome.report, {path_}, sheet_.records.size());
            EXPECT_EQ(outcome.report.emitted, sheet_.emitted);
            EXPECT_EQ(outcome.report.filtered, sheet_.filtered);
            EXPECT_EQ(outcome.report.failed, sheet_.failing.size());
            EXPECT_EQ(outcome.report.output_bytes, sheet_.output.size());
        }
    });
}

TEST_F(RecordErrors, CollectDescribesEachInOrder) {
    everywhere([&](Engine &engine, RunOptions options) {
        options.on_error = OnError::collect;
        for (const Way way : {Way::map, Way::run}) {
            const Outcome outcome = complete(engine, way, picky_, {path_}, options);
            EXPECT_TRUE(outcome.bytes == sheet_.output);
            ASSERT_EQ(outcome.errors.size(), sheet_.failing.size());
            for (std::size_t i = 0; i < outcome.errors.size(); ++i)
                expect_failure(outcome.errors[i], sheet_, sheet_.failing[i], path_);
        }
    });
}

TEST_F(RecordErrors, CollectWithoutOrderFindsTheSame) {
    everywhere([&](Engine &engine, RunOptions options) {
        options.on_error = OnError::collect;
        options.order = Order::none;
        Outcome outcome = complete(engine, Way::map, picky_, {path_}, options);
        EXPECT_EQ(sorted_lines(outcome.bytes), sorted_lines(sheet_.output));
        std::sort(outcome.errors.begin(), outcome.errors.end(),
                  [](const RecordFailure &a, const RecordFailure &b) {
                      return a.record_index < b.record_index;
                  });
        ASSERT_EQ(outcome.errors.size(), sheet_.failing.size());
        for (std::size_t i = 0; i < outcome.errors.size(); ++i) {
            EXPECT_TRUE(outcome.errors[i].index_known);
            expect_failure(outcome.errors[i], sheet_, sheet_.failing[i], path_);
        }
    });
}

// Without order `raise` means the first that is seen: one of them.
TEST_F(RecordErrors, RaiseWithoutOrderNamesOne) {
    everywhere([&](Engine &engine, RunOptions options) {
        options.order = Order::none;
        const Error error = failing(engine, Way::map, picky_, {path_}, options);
        EXPECT_EQ(error.kind, ErrorKind::record);
        ASSERT_TRUE(error.record);
        EXPECT_TRUE(error.record->reason == "" || error.record->reason.starts_with("no good: "));
        bool found = false;
        for (const std::uint64_t index : sheet_.failing)
            found = found || sheet_.offsets[index] == error.record->byte_offset;
        EXPECT_TRUE(found) << error.record->byte_offset;
    });
}

TEST_F(RecordErrors, MaxErrors) {
    const std::uint64_t failures = sheet_.failing.size();
    everywhere([&](Engine &engine, RunOptions options) {
        options.on_error = OnError::skip;
        options.max_errors = failures;
        const Outcome enough = complete(engine, Way::map, picky_, {path_}, options);
        EXPECT_EQ(enough.report.failed, failures);
        for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{5}, failures - 1}) {
            options.max_errors = limit;
            for (const Way way : {Way::map, Way::run}) {
                const Error error = failing(engine, way, picky_, {path_}, options);
                EXPECT_EQ(error.kind, ErrorKind::too_many_errors);
                EXPECT_NE(error.message.find("max_errors"), std::string::npos) << error.message;
            }
        }
    });
}

// What a plugin leaves for a failed record is its own choice; the accounts do not change.
TEST_F(RecordErrors, FailedRecordsMayLeaveABlankOne) {
    RunOptions options = with_batch_records(3);
    options.on_error = OnError::skip;
    const std::string path = scratch_.write("few", "a\nbad\nb\nbad\nbad\nc");
    for (const Crew &crew : kCrews) {
        const Outcome outcome = complete(engines_.get(crew), Way::map,
                                         test_plugin("picky", "trace"), {path}, options);
        EXPECT_EQ(outcome.bytes, "a\n\nb\n\n\nc");
        EXPECT_EQ(outcome.report.failed, 3u);
        EXPECT_EQ(outcome.report.output_records, 6u);
    }
}

// The very last delimiter, which the input lacks: taken off when the last record gave something,
// however the batches are cut.
TEST_F(RecordErrors, LastDelimiterDependsOnTheLastRecordAlone) {
    const std::pair<const char *, const char *> cases[] = {
        {"a\nb", "a\nb"},       {"a\ndrop", "a\n"},        {"a\nblank", "a\n\n"},
        {"a\nbad", "a\n"},      {"drop\na", "a"},          {"drop", ""},
        {"a\ndrop\nbad", "a\n"}, {"blank\nblank", "\n\n"}, {"a\n\ndrop", "a\n\n"}};
    for (const auto &[input, expected] : cases) {
        const std::string path = scratch_.write("tail", input);
        everywhere([&](Engine &engine, RunOptions options) {
            options.on_error = OnError::skip;
            for (const Way way : {Way::map, Way::run})
                EXPECT_EQ(complete(engine, way, picky_, {path}, options).bytes, expected)
                    << "input '" << input << "'";
        });
    }
}

} // namespace
} // namespace gristmill::e2e
