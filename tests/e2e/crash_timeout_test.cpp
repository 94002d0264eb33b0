// A payload that makes no progress is ended, and costs the record that it was given.
#include <chrono>

#include <gtest/gtest.h>

#include "support/crash_sheet.hpp"
#include "support/processes.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint64_t kMs = 1'000'000;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

class CrashTimeout : public ::testing::TestWithParam<Way> {
  protected:
    Outcome collect(const CrashSheet &sheet, const RunOptions &run, std::uint32_t workers = 2) {
        Engine engine = make_engine({workers, "1"});
        const std::string path = scratch_.write("in", sheet.bytes);
        const auto start = Clock::now();
        Outcome outcome = complete(engine, GetParam(), test_plugin("crasher"), {path}, run);
        EXPECT_LT(seconds_since(start), 20.0) << "liveness";
        EXPECT_TRUE(outcome.bytes == sheet.output);
        expect_counts(outcome.report, sheet);
        expect_failures(outcome.errors, sheet, path);
        return outcome;
    }

    static RunOptions options(std::uint64_t timeout_ns, std::uint32_t retries) {
        RunOptions run;
        run.on_error = OnError::collect;
        run.timeout_ns = timeout_ns;
        run.retries = retries;
        return run;
    }

    const Scratch scratch_;
};

TEST_P(CrashTimeout, CostsTheRecordInHand) {
    for (const char *word : {"hang", "stop-self"}) {
        CrashSheet sheet;
        sheet.add_sound(100);
        sheet.add(word);
        sheet.add_sound(100);
        const Outcome outcome = collect(sheet, options(60 * kMs, 1));
        EXPECT_EQ(outcome.report.retries, 3u); // 1 + retries, and by itself
    }
}

TEST_P(CrashTimeout, ManyThatHangAmongOthersThatDie) {
    CrashSheet sheet;
    for (const char *word : {"hang", "segv", "fail", "stop-self", "hang"}) {
        sheet.add_sound(30);
        sheet.add(word);
    }
    for (const std::uint32_t workers : {1u, 3u})
        collect(sheet, options(40 * kMs, 0), workers);
}

TEST_P(CrashTimeout, RaiseIsAnErrorOfItsOwnKind) {
    CrashSheet sheet;
    sheet.add_sound(10);
    sheet.add("hang");
    sheet.add_sound(10);
    const std::string path = scratch_.write("in", sheet.bytes);
    Engine engine = make_engine({2, "1"});
    RunOptions run = options(50 * kMs, 0);
    run.on_error = OnError::raise;
    const Error error = failing(engine, GetParam(), test_plugin("crasher"), {path}, run);
    EXPECT_EQ(error.kind, ErrorKind::timeout) << error.message;
    ASSERT_TRUE(error.record.has_value());
    expect_failure(*error.record, sheet, 10, path);
}

// A limit that nobody reaches changes nothing; idle workers do not count as stuck.
TEST_P(CrashTimeout, NobodyIsEndedWhoWorks) {
    CrashSheet sheet;
    sheet.add_sound(20'000);
    RunOptions run = options(2000 * kMs, 2);
    run.batch_bytes = 3000;
    const Outcome outcome = collect(sheet, run, 3);
    EXPECT_EQ(outcome.report.retries, 0u);
}

// Attempts are counted in eight bits; asking for more retries is no way to try for ever.
TEST(CrashRetries, HaveAnEnd) {
    const Scratch scratch;
    CrashSheet sheet;
    sheet.add_sound(3);
    sheet.add("exit");
    const std::string path = scratch.write("in", sheet.bytes);
    Engine engine = make_engine({1});
    RunOptions run;
    run.on_error = OnError::collect;
    for (const std::uint32_t retries : {300u, ~0u}) {
        run.retries = retries;
        int asked = 0;
        run.interrupted = [&] { return ++asked > 200; };
        const Outcome outcome = complete(engine, Way::map, test_plugin("crasher"), {path}, run);
        expect_failures(outcome.errors, sheet, path);
        EXPECT_EQ(outcome.report.retries, 256u);
    }
}

// Once given up, whatever the workers are in.
TEST_P(CrashTimeout, CancelWhileWorkersHang) {
    Engine engine = make_engine({3, "1"});
    for (const char *word : {"hang", "stop-self"})
        for (const char *config : {"", "create-hangs"}) {
            SCOPED_TRACE(::testing::Message() << word << ' ' << config);
            CrashSheet sheet;
            for (int i = 0; i < 5; ++i)
                sheet.add(word);
            const std::string path = scratch_.write("in", sheet.bytes);
            RunOptions run;
            run.batch_records = 1;
            const auto start = Clock::now();
            run.interrupted = [&] { return seconds_since(start) > 0.25; };
            const Error error =
                failing(engine, GetParam(), test_plugin("crasher", config), {path}, run);
            EXPECT_EQ(error.kind, ErrorKind::interrupted) << error.message;
            EXPECT_LT(seconds_since(start), 0.25 + 1.0); // what is promised of Ctrl-C
            CrashSheet sound;
            sound.add_sound(1000);
            const std::string other = scratch_.write("sound", sound.bytes);
            const Outcome outcome =
                complete(engine, GetParam(), test_plugin("crasher"), {other}, {});
            EXPECT_TRUE(outcome.bytes == sound.output);
        }
}

INSTANTIATE_TEST_SUITE_P(BothWays, CrashTimeout, ::testing::Values(Way::map, Way::run),
                         [](const auto &given) {
                             return given.param == Way::map ? "map" : "run";
                         });

} // namespace
} // namespace gristmill::e2e
