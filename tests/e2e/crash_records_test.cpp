// A record that kills its worker costs itself alone, wherever it stands and whatever is around it.
#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/crash_sheet.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

struct Setting {
    std::uint32_t workers;
    Way way;
    Order order;
    std::uint64_t batch_bytes; // 0: adaptive
};

std::ostream &operator<<(std::ostream &to, const Setting &setting) {
    return to << setting.workers << (setting.way == Way::map ? "map" : "run")
              << (setting.order == Order::index ? "index" : "none")
              << (setting.batch_bytes ? "small" : "adaptive");
}

class CrashRecords : public ::testing::TestWithParam<Setting> {
  protected:
    static constexpr std::uint32_t kRetries = 2;

    Engine &engine() { return engines().get({GetParam().workers, "1"}); }
    static EnginePool &engines() { return *engines_; }
    static void SetUpTestSuite() { engines_ = new EnginePool; }
    static void TearDownTestSuite() { delete engines_; }

    RunOptions options(OnError on_error) const {
        RunOptions options;
        options.on_error = on_error;
        options.order = GetParam().order;
        options.retries = kRetries;
        if (GetParam().batch_bytes > 0)
            options.batch_bytes = GetParam().batch_bytes;
        return options;
    }

    // The run under collect: its outcome, checked against the sheet.
    Outcome expect_collected(const CrashSheet &sheet, const std::string &bytes,
                             const RunOptions &run, const std::string &config = {}) {
        const std::string path = scratch_.write("in", bytes);
        Outcome outcome =
            complete(engine(), GetParam().way, test_plugin("crasher", config), {path}, run);
        std::string expected = sheet.output;
        if (GetParam().order == Order::none) {
            outcome.bytes = sorted_lines(outcome.bytes);
            expected = sorted_lines(expected);
        }
        EXPECT_TRUE(outcome.bytes == expected)
            << outcome.bytes.size() << " bytes instead of " << expected.size();
        expect_counts(outcome.report, sheet);
        EXPECT_EQ(outcome.report.input_bytes, bytes.size());
        if (run.on_error == OnError::collect)
            expect_failures(outcome.errors, sheet, path);
        // A slow machine may have had some ended that did not leave the run in time.
        EXPECT_LE(outcome.report.retries, outcome.report.worker_deaths);
        return outcome;
    }

    // Most deaths that such a sheet may cost: each batch with poison is tried 1 + retries times,
    // then each poisonous record dies once; one killed from outside, as far as anybody can tell,
    // five times.
    std::uint64_t deaths_max(const CrashSheet &sheet, std::uint32_t retries = kRetries) const {
        std::uint64_t deaths = 0;
        for (const std::uint64_t index : sheet.poison)
            deaths += retries + 2 + 4 * sheet.records[index].starts_with("kill-self");
        return deaths;
    }

    const Scratch scratch_;
    static inline EnginePool *engines_ = nullptr;
};

TEST_P(CrashRecords, OnePoisonOfMany) {
    for (const char *word : kDeadlyWords)
        for (const OnError on_error : {OnError::collect, OnError::skip}) {
            SCOPED_TRACE(word);
            CrashSheet sheet;
            sheet.add_sound(300);
            sheet.add(std::string(word) + " here");
            sheet.add_sound(200);
            const Outcome outcome = expect_collected(sheet, sheet.bytes, options(on_error));
            EXPECT_GE(outcome.report.retries, kRetries + 2);
            EXPECT_LE(outcome.report.retries, deaths_max(sheet));
        }
}

TEST_P(CrashRecords, ManyPoison) {
    CrashSheet sheet;
    for (int i = 0; i < 12; ++i) {
        sheet.add_sound(20 + 7 * std::size_t(i));
        sheet.add(kDeadlyWords[i % 6]);
        if (i % 3 == 0)
            sheet.add("segv, too");
    }
    sheet.add_sound(50);
    const Outcome outcome = expect_collected(sheet, sheet.bytes, options(OnError::collect));
    EXPECT_LE(outcome.report.retries, deaths_max(sheet));
}

TEST_P(CrashRecords, NothingButPoison) {
    CrashSheet sheet;
    for (int i = 0; i < 8; ++i)
        sheet.add("abort");
    expect_collected(sheet, sheet.bytes, options(OnError::collect));
}

TEST_P(CrashRecords, FirstAndLast) {
    CrashSheet first;
    first.add("segv");
    first.add_sound(100);
    expect_collected(first, first.bytes, options(OnError::collect));
    CrashSheet last;
    last.add_sound(100);
    last.add("abort");
    expect_collected(last, last.bytes, options(OnError::collect));
    CrashSheet only;
    only.add("exit");
    expect_collected(only, only.bytes, options(OnError::collect));
}

// The last record lacks its delimiter: poison itself, or a neighbour of poison.
TEST_P(CrashRecords, UnterminatedLastRecord) {
    CrashSheet poison;
    poison.add_sound(40);
    poison.add("segv and no delimiter");
    expect_collected(poison, poison.bytes.substr(0, poison.bytes.size() - 1),
                     options(OnError::collect));
    CrashSheet sound;
    sound.add_sound(40);
    sound.add("segv");
    sound.add("no delimiter");
    const std::string bytes = sound.bytes.substr(0, sound.bytes.size() - 1);
    if (GetParam().order == Order::index)
        sound.output.pop_back();
    expect_collected(sound, bytes, options(OnError::collect));
}

TEST_P(CrashRecords, AmongFailingAndFilteredRecords) {
    CrashSheet sheet;
    for (int i = 0; i < 30; ++i) {
        sheet.add("fail" + std::to_string(i));
        sheet.add_sound(3);
        sheet.add("drop" + std::to_string(i));
        if (i % 10 == 4)
            sheet.add("trap");
        sheet.add("fail again");
        sheet.add(""); // a record, too
    }
    expect_collected(sheet, sheet.bytes, options(OnError::collect));
}

// Records that are too long to be fed fail beside those that kill.
TEST_P(CrashRecords, AmongOversizedRecords) {
    CrashSheet sheet;
    std::vector<std::uint64_t> oversized;
    const auto add_oversized = [&] {
        oversized.push_back(sheet.records.size());
        sheet.add("fail" + std::string(3000, 'x'));
    };
    add_oversized();
    sheet.add("segv");
    add_oversized();
    sheet.add_sound(20);
    add_oversized();
    sheet.add("abort");
    sheet.add_sound(2);
    add_oversized();
    RunOptions run = options(OnError::skip);
    run.max_record_bytes = 1000;
    expect_collected(sheet, sheet.bytes, run);
    run.on_error = OnError::collect;
    const std::string path = scratch_.write("in", sheet.bytes);
    Outcome outcome = complete(engine(), GetParam().way, test_plugin("crasher"), {path}, run);
    ASSERT_EQ(outcome.errors.size(), sheet.failing.size());
    for (const RecordFailure &failure : outcome.errors) {
        const bool too_long = std::count(oversized.begin(), oversized.end(), failure.record_index);
        EXPECT_EQ(failure.reason.find("longer than max_record") != std::string::npos, too_long)
            << failure.reason;
        EXPECT_EQ(failure.byte_offset, sheet.offsets[failure.record_index]);
    }
}

TEST_P(CrashRecords, WithoutRetries) {
    CrashSheet sheet;
    sheet.add_sound(50);
    sheet.add("segv");
    sheet.add_sound(50);
    RunOptions run = options(OnError::collect);
    run.retries = 0;
    const Outcome outcome = expect_collected(sheet, sheet.bytes, run);
    EXPECT_EQ(outcome.report.retries, 2u);
}

// A worker that dies once, of nothing that stays, costs nobody anything.
TEST_P(CrashRecords, PassingTrouble) {
    for (const char *word : {"segv", "exit", "kill-self"}) {
        CrashSheet sheet;
        sheet.add_sound(60);
        sheet.add(std::string("rec ") + word);
        sheet.add_sound(60);
        std::string bytes = sheet.bytes, expected = sheet.output;
        bytes.erase(sheet.offsets[60], 4);
        expected.erase(sheet.offsets[60], 4);
        const std::string trigger = scratch_.write("trigger", "");
        const std::string path = scratch_.write("once", bytes);
        const Outcome outcome =
            complete(engine(), GetParam().way, test_plugin("crasher", "once:" + trigger), {path},
                     options(OnError::raise));
        EXPECT_EQ(sorted_lines(outcome.bytes), sorted_lines(expected));
        EXPECT_EQ(outcome.report.retries, 1u);
        expect_counts(outcome.report, sheet);
    }
}

// Output larger than its ring, of a batch that is worked on record by record.
TEST_P(CrashRecords, MuchOutputAroundIt) {
    CrashSheet sheet;
    sheet.add("flood of much output");
    sheet.add("segv");
    sheet.add("flood again");
    sheet.output.clear();
    for (const char *word : {"flood of much output\n", "flood again\n"})
        for (int i = 0; i < 40'000; ++i)
            sheet.output += word;
    expect_collected(sheet, sheet.bytes, options(OnError::collect));
}

TEST_P(CrashRecords, RaiseDeliversWhatStandsBeforeIt) {
    if (GetParam().order == Order::none)
        return; // the first seen; what was delivered before is anybody's guess
    CrashSheet sheet;
    sheet.add_sound(250);
    sheet.add("segv");
    sheet.add_sound(40);
    sheet.add("abort");
    sheet.add_sound(400);
    const std::string path = scratch_.write("in", sheet.bytes);
    const std::string out = scratch_.write("out", "");
    const std::uint64_t poison = sheet.poison[0];
    Error error;
    if (GetParam().way == Way::run) { // in place, so that it can be seen
        ASSERT_EQ(::unlink(out.c_str()), 0);
        FILE *file = std::fopen(out.c_str(), "wb");
        Result<RunOutcome> ran =
            engine().run(test_plugin("crasher"), {path},
                         {OutputTarget::Kind::descriptor, "", ::fileno(file)},
                         options(OnError::raise));
        std::fclose(file);
        ASSERT_FALSE(ran.ok());
        error = ran.error();
        EXPECT_TRUE(read_file(out) == sheet.output_before(poison));
    } else {
        error = failing(engine(), Way::map, test_plugin("crasher"), {path},
                        options(OnError::raise));
    }
    EXPECT_EQ(error.kind, ErrorKind::crashed) << error.message;
    EXPECT_NE(error.message.find("SIGSEGV"), std::string::npos) << error.message;
    ASSERT_TRUE(error.record.has_value());
    expect_failure(*error.record, sheet, poison, path);
}

// Output that breaks its framing, found when the batch has already cost its workers.
TEST_P(CrashRecords, BrokenOutputBehindPoison) {
    const std::string path = scratch_.write("in", "one\nsegv\nfail\ntail\n");
    RunOptions run = options(OnError::raise);
    run.batch_bytes = 1000;
    const Error error =
        failing(engine(), GetParam().way, test_plugin("crasher"), {path}, run);
    EXPECT_EQ(error.kind, ErrorKind::plugin) << error.message;
    EXPECT_NE(error.message.find("does not end with a whole record"), std::string::npos)
        << error.message;
    run.on_error = OnError::collect;
    const Outcome outcome =
        complete(engine(), GetParam().way, test_plugin("crasher"), {path}, run);
    EXPECT_EQ(outcome.report.failed, 4u);
    ASSERT_EQ(outcome.errors.size(), 1u);
    EXPECT_EQ(outcome.errors[0].type, "PluginError");
}

std::vector<Setting> settings() {
    std::vector<Setting> all;
    for (const std::uint32_t workers : {1u, 2u, 7u})
        for (const Way way : {Way::map, Way::run})
            for (const Order order : {Order::index, Order::none})
                for (const std::uint64_t batch_bytes : {std::uint64_t{0}, std::uint64_t{200}})
                    all.push_back({workers, way, order, batch_bytes});
    return all;
}

INSTANTIATE_TEST_SUITE_P(Everywhere, CrashRecords, ::testing::ValuesIn(settings()),
                         ::testing::PrintToStringParamName());

} // namespace
} // namespace gristmill::e2e
