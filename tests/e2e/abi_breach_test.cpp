// Plugins that break the rules of the ABI: it costs the batch, never the process, and nothing of
// what the plugin did not write comes out. One that fails its batch, or throws, costs the record that
// made it do so. Cases A58 and A59.
#include <gtest/gtest.h>

#include "support/intake.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

const std::vector<Crew> kCrews{{0, "1"}, {1, "1"}, {2, "@2"}, {7, "@4"}};

struct Breach {
    const char *name;   // the record at which "unruly" commits it
    const char *reason; // part of what is said about it
};

void PrintTo(const Breach &breach, std::ostream *to) { *to << breach.name; }

// The plugin fails the batch, which one record may have caused: that record alone is to pay.
const Breach kFailures[] = {
    {"throw-std", "the plugin let an exception escape: plugin says no"},
    {"throw-int", "an exception escape that is no std::exception"},
    {"throw-oom", "std::bad_alloc"},
    {"status", "failed the batch"}};

const Breach kBreaches[] = {
    {"reserve-all", "found no memory for its output"},
    {"count-more", "count every record exactly once"},
    {"count-less", "count every record exactly once"},
    {"count-huge", "count every record exactly once"},
    {"commit-beyond", "committed more bytes than it had reserved"},
    {"commit-more", "committed more bytes than it had reserved"},
    {"commit-u32", "committed more bytes than it had reserved"},
    {"commit-min", "committed more bytes than it had reserved"},
    {"commit-minus-1", "committed more bytes than it had reserved"},
    {"commit-twice", "committed more bytes than it had reserved"},
    {"fail-beyond", "index lies beyond the batch"},
    {"half-record", "does not end with a whole record"}};

constexpr std::uint64_t kRecords = 200;
constexpr std::uint64_t kBatch = 10;
constexpr std::uint64_t kBroken = 50; // first record of the batch that breaks the rule

class AbiBreach : public ::testing::TestWithParam<Breach> {
  protected:
    AbiBreach() {
        std::string input;
        for (std::uint64_t i = 0; i < kRecords; ++i) {
            const bool at_fault = i == kBroken + 5;
            const std::string record = std::to_string(i) + (at_fault ? GetParam().name : "") + "\n";
            input += record;
            if (i < kBroken)
                before_ += record;
            else if (i >= kBroken + kBatch)
                after_ += record;
            if (i < kBroken + 5)
                before_record_ += record;
            else if (!at_fault)
                after_record_ += record;
        }
        path_ = scratch_.write("records", input);
    }

    RunOptions options(OnError on_error) const {
        RunOptions run = with_batch_records(kBatch);
        run.on_error = on_error;
        return run;
    }

    template <class Body>
    void everywhere(Body &&body) {
        for (const Crew &crew : kCrews) {
            SCOPED_TRACE(::testing::Message() << crew);
            body(engines_.get(crew));
            expect_usable(engines_.get(crew));
        }
    }

    // The engine, its workers and the plugin, after what happened to them.
    void expect_usable(Engine &engine) {
        const std::string path = scratch_.write("sound", before_);
        EXPECT_EQ(complete(engine, Way::run, unruly_, {path}, options(OnError::raise)).bytes,
                  before_);
    }

    const PluginSpec unruly_ = test_plugin("unruly");
    const Scratch scratch_;
    EnginePool engines_;
    std::string before_; // the records before that batch
    std::string after_;
    std::string before_record_; // the records before the one at fault
    std::string after_record_;
    std::string path_;
};

class PluginFailure : public AbiBreach {};

TEST_P(PluginFailure, RaiseEndsTheRunBeforeTheRecord) {
    everywhere([&](Engine &engine) {
        const Intake intake;
        const Result<RunOutcome> ran =
            engine.run(unruly_, {path_}, intake.target(), options(OnError::raise));
        ASSERT_FALSE(ran.ok());
        EXPECT_EQ(ran.error().kind, ErrorKind::record) << ran.error().message;
        EXPECT_NE(ran.error().message.find(GetParam().reason), std::string::npos)
            << ran.error().message;
        EXPECT_EQ(intake.bytes(), before_record_);
    });
}

TEST_P(PluginFailure, CollectNamesTheRecord) {
    everywhere([&](Engine &engine) {
        for (const Way way : {Way::map, Way::run}) {
            const Outcome outcome =
                complete(engine, way, unruly_, {path_}, options(OnError::collect));
            EXPECT_EQ(outcome.bytes, before_record_ + after_record_);
            EXPECT_EQ(outcome.report.failed, 1u);
            expect_accounted(outcome.report, {path_}, kRecords);
            ASSERT_EQ(outcome.errors.size(), 1u);
            const RecordFailure &error = outcome.errors[0];
            EXPECT_EQ(error.record_index, kBroken + 5);
            EXPECT_EQ(error.byte_offset, before_record_.size());
            EXPECT_EQ(error.excerpt, std::to_string(kBroken + 5) + GetParam().name);
            EXPECT_NE(error.reason.find(GetParam().reason), std::string::npos) << error.reason;
        }
    });
}

TEST_P(AbiBreach, RaiseEndsTheRunBeforeTheBatch) {
    everywhere([&](Engine &engine) {
        const Intake intake;
        const Result<RunOutcome> ran =
            engine.run(unruly_, {path_}, intake.target(), options(OnError::raise));
        ASSERT_FALSE(ran.ok());
        EXPECT_EQ(ran.error().kind, ErrorKind::plugin) << ran.error().message;
        EXPECT_NE(ran.error().message.find(GetParam().reason), std::string::npos)
            << ran.error().message;
        EXPECT_EQ(intake.bytes(), before_);
        EXPECT_EQ(failing(engine, Way::map, unruly_, {path_}, options(OnError::raise)).kind,
                  ErrorKind::plugin);
    });
}

TEST_P(AbiBreach, SkipCostsTheBatchAlone) {
    everywhere([&](Engine &engine) {
        for (const Way way : {Way::map, Way::run}) {
            const Outcome outcome =
                complete(engine, way, unruly_, {path_}, options(OnError::skip));
            EXPECT_EQ(outcome.bytes, before_ + after_);
            EXPECT_EQ(outcome.report.failed, kBatch);
            EXPECT_EQ(outcome.report.emitted, kRecords - kBatch);
            expect_accounted(outcome.report, {path_}, kRecords);
        }
    });
}

// One error for the batch: which of its records is to blame nobody knows.
TEST_P(AbiBreach, CollectNamesTheBatchByItsFirstRecord) {
    everywhere([&](Engine &engine) {
        const Outcome outcome =
            complete(engine, Way::map, unruly_, {path_}, options(OnError::collect));
        EXPECT_EQ(outcome.bytes, before_ + after_);
        EXPECT_EQ(outcome.report.failed, kBatch);
        ASSERT_EQ(outcome.errors.size(), 1u);
        const RecordFailure &error = outcome.errors[0];
        EXPECT_EQ(error.record_index, kBroken);
        EXPECT_EQ(error.byte_offset, before_.size());
        EXPECT_EQ(error.type, "PluginError");
        EXPECT_NE(error.reason.find(GetParam().reason), std::string::npos) << error.reason;
    });
}

std::string as_identifier(const ::testing::TestParamInfo<Breach> &given) {
    std::string name = given.param.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Each, AbiBreach, ::testing::ValuesIn(kBreaches), as_identifier);
INSTANTIATE_TEST_SUITE_P(Each, PluginFailure, ::testing::ValuesIn(kFailures), as_identifier);

struct Refusal {
    const char *symbol;
    const char *config;
    const char *reason;
};

// Plugins that do not start: the run ends before a record is read, whoever would have worked.
TEST(AbiRefusal, SaysWhyInTheCaller) {
    const Refusal refusals[] = {
        {"gm_plugin", "throw", "the plugin let an exception escape: create says no"},
        {"gm_plugin", "null", "create() failed"},
        {"gm_plugin", "explain", "no licence for this moon"},
        {"from_the_future", "", "speaks plugin ABI 2"},
        {"without_process", "", "struct_size, name and process must be set"},
        {"nowhere", "", "exports no symbol 'nowhere'"}};
    const Scratch scratch;
    EnginePool engines;
    const std::string path = scratch.write("records", "a\nb\nc\n");
    for (const Crew &crew : kCrews)
        for (const Refusal &refusal : refusals) {
            SCOPED_TRACE(::testing::Message() << crew << ", " << refusal.reason);
            PluginSpec plugin = test_plugin("unruly", refusal.config);
            plugin.symbol = refusal.symbol;
            for (const Way way : {Way::map, Way::run}) {
                const Error error = failing(engines.get(crew), way, plugin, {path}, {});
                EXPECT_EQ(error.kind, ErrorKind::plugin);
                EXPECT_NE(error.message.find(plugin.path), std::string::npos) << error.message;
                EXPECT_NE(error.message.find(refusal.reason), std::string::npos) << error.message;
            }
            const PluginSpec sound = test_plugin("unruly");
            EXPECT_EQ(complete(engines.get(crew), Way::map, sound, {path}, {}).bytes,
                      "a\nb\nc\n");
        }
}

} // namespace
} // namespace gristmill::e2e
