// Programs as payloads: the same bytes wherever they run, and typed errors when they fail.
#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

class Command : public ::testing::TestWithParam<Crew> {
  protected:
    Result<Results> map(const std::vector<std::string> &arguments, RunOptions options) {
        return engine_.map(CommandSpec{arguments}, {path_}, in(GetParam(), std::move(options)));
    }
    void set_input(const std::string &bytes) { path_ = scratch_.write("in", bytes); }

    const Scratch scratch_;
    std::string path_;
    Engine engine_ = make_engine(GetParam());
};

std::string numbers(int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
        text += "line " + std::to_string(i) + "\n";
    return text;
}

TEST_P(Command, GivesItsOutputInOrder) {
    set_input(numbers(4000) + "no delimiter");
    for (const std::uint64_t batch_bytes : {2000u, 1'000'000u}) {
        const Result<Results> results = map({"tr", "a-z", "A-Z"}, with_batch_bytes(batch_bytes));
        ASSERT_TRUE(results.ok()) << results.error().message;
        const Outcome outcome = outcome_of(*results);
        EXPECT_TRUE(outcome.bytes == upper(numbers(4000) + "no delimiter"));
        EXPECT_EQ(outcome.report.emitted, 4001u);
        Result<RunOutcome> ran = engine_.run(
            CommandSpec{{"tr", "a-z", "A-Z"}}, {path_},
            {OutputTarget::Kind::path, scratch_.path("out"), -1},
            in(GetParam(), with_batch_bytes(batch_bytes)));
        ASSERT_TRUE(ran.ok()) << ran.error().message;
        EXPECT_TRUE(read_file(scratch_.path("out")) == outcome.bytes);
    }
}

TEST_P(Command, MuchMoreOutputThanInput) {
    set_input("a\nb\n");
    const Result<Results> results =
        map({"sh", "-c", "cat; yes some line | head -n 500000"}, with_batch_records(1));
    ASSERT_TRUE(results.ok()) << results.error().message;
    EXPECT_EQ(results->size(), 1'000'002u);
}

TEST_P(Command, ThatFailsSaysHow) {
    set_input(numbers(3));
    const Result<Results> results = map({"sh", "-c", "echo no luck today >&2; exit 7"}, {});
    ASSERT_FALSE(results.ok());
    EXPECT_NE(results.error().message.find("exit status 7"), std::string::npos)
        << results.error().message;
    EXPECT_NE(results.error().message.find("no luck today"), std::string::npos);
}

TEST_P(Command, ThatIsMissing) {
    set_input(numbers(3));
    const Result<Results> results = map({"no-such-program-anywhere"}, {});
    ASSERT_FALSE(results.ok());
    EXPECT_EQ(results.error().kind, ErrorKind::plugin);
    EXPECT_NE(results.error().message.find("no-such-program-anywhere"), std::string::npos);
}

// A record that it cannot bear costs itself, after the whole batch was tried.
TEST_P(Command, FailsOneRecordOfMany) {
    std::string text = numbers(20);
    text += "bad\n" + numbers(15);
    set_input(text);
    RunOptions options = with_batch_bytes(100'000);
    options.on_error = OnError::collect;
    options.retries = 1;
    const Result<Results> results =
        map({"sh", "-c", "text=$(cat; echo x); case \"$text\" in *bad*) echo bad >&2; exit 1;; esac; "
                         "printf %s \"${text%x}\""},
            options);
    ASSERT_TRUE(results.ok()) << results.error().message;
    const Outcome outcome = outcome_of(*results);
    EXPECT_EQ(outcome.bytes, numbers(20) + numbers(15));
    EXPECT_EQ(outcome.report.failed, 1u);
    ASSERT_EQ(outcome.errors.size(), 1u);
    EXPECT_EQ(outcome.errors[0].record_index, 20u);
    EXPECT_EQ(outcome.errors[0].byte_offset, numbers(20).size());
    EXPECT_EQ(outcome.errors[0].excerpt, "bad");
    EXPECT_NE(outcome.errors[0].reason.find("exit status 1: bad"), std::string::npos)
        << outcome.errors[0].reason;
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Command,
                         ::testing::Values(Crew{0, "1", Isolation::thread},
                                           Crew{2, "1", Isolation::thread},
                                           Crew{1, "1", Isolation::process},
                                           Crew{3, "@2", Isolation::process}),
                         [](const auto &given) {
                             return "Workers" + std::to_string(given.param.workers) +
                                    (given.param.isolation == Isolation::thread ? "Threads"
                                                                                : "Processes");
                         });

} // namespace
} // namespace gristmill::e2e
