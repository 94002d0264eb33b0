// Plugins that keep to the ABI, and all the ways not to: a breach costs the batch, never more.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/collection.hpp"
#include "work/plugin_payload.hpp"

namespace gristmill::work {
namespace {

class Failures final : public FailureListener {
  public:
    void record_failed(std::uint64_t index, std::string_view reason) override {
        seen.emplace_back(index, reason);
    }
    void record_failed(std::uint64_t index, record::FailureNote note) override {
        seen.emplace_back(index, note.reason);
    }
    bool wants_note(std::uint64_t) const override { return true; }
    std::vector<std::pair<std::uint64_t, std::string>> seen;
};

// A plugin with one state, and what it did to "one\ntwo\nthree\n".
class Plugin {
  public:
    explicit Plugin(const std::string &config, const std::string &file = "broken.so",
                    Framing framing = {})
        : library_(PluginLibrary::load(TEST_PLUGINS "/" + file, "gm_plugin").value()),
          factory_(library_, config, std::move(framing)), made_(factory_.make({5, 2}, {cancelled, progress, command_group})) {}

    const Result<std::unique_ptr<Payload>> &made() const { return made_; }
    PayloadOutcome process() {
        PayloadBatch batch;
        batch.data = bytes_of(text);
        batch.record_count = 3;
        batch.sequence = 17;
        batch.byte_offset = 1000;
        batch.attempt = 1;
        batch.delimiter_added = true;
        return made_.value()->process(batch, output, failures);
    }
    void expect_failed(const std::string &expected) {
        const PayloadOutcome outcome = process();
        EXPECT_TRUE(outcome.batch_failed) << expected;
        EXPECT_NE(outcome.reason.find(expected), std::string::npos) << outcome.reason;
        EXPECT_NE(outcome.reason.find("plugin '"), std::string::npos) << outcome.reason;
    }

    const std::string text = "one\ntwo\nthree\n";
    std::atomic<std::uint32_t> cancelled{0};
    std::atomic<std::uint64_t> progress{0};
    std::atomic<std::uint32_t> command_group{0};
    store::CollectionArea output;
    Failures failures;

  private:
    PluginLibrary library_;
    PluginFactory factory_;
    Result<std::unique_ptr<Payload>> made_;
};

TEST(PluginPayload, emits_what_it_commits) {
    Plugin plugin("echo");
    const PayloadOutcome outcome = plugin.process();
    EXPECT_FALSE(outcome.batch_failed) << outcome.reason;
    EXPECT_EQ(outcome.emitted, 3u);
    EXPECT_EQ(text_of(plugin.output.committed()), plugin.text);
}

TEST(PluginPayload, sees_all_of_the_batch) {
    Plugin plugin("shows-batch");
    EXPECT_FALSE(plugin.process().batch_failed);
    gm_batch seen;
    ASSERT_EQ(plugin.output.committed().size(), sizeof seen);
    std::memcpy(&seen, plugin.output.committed().data(), sizeof seen);
    EXPECT_EQ(seen.struct_size, sizeof(gm_batch));
    EXPECT_EQ(seen.flags, GM_BATCH_DELIMITER_ADDED);
    EXPECT_EQ(seen.size, 14u);
    EXPECT_EQ(seen.record_count, 3u);
    EXPECT_EQ(seen.sequence, 17u);
    EXPECT_EQ(seen.byte_offset, 1000u);
    EXPECT_EQ(seen.attempt, 1u);
    EXPECT_EQ(seen.worker, 5u);
    EXPECT_EQ(seen.node, 2u);
    EXPECT_EQ(seen.framing, GM_FRAMING_DELIMITER);
    EXPECT_EQ(seen.delimiter_size, 1u);
    EXPECT_EQ(seen.record_bytes, 0u);
}

TEST(PluginPayload, gets_offsets_when_it_asks_for_them) {
    Plugin plugin("shows-offsets");
    EXPECT_FALSE(plugin.process().batch_failed);
    std::uint64_t offsets[4];
    ASSERT_EQ(plugin.output.committed().size(), sizeof offsets);
    std::memcpy(offsets, plugin.output.committed().data(), sizeof offsets);
    EXPECT_EQ(std::vector<std::uint64_t>(offsets, offsets + 4),
              (std::vector<std::uint64_t>{0, 4, 8, 14}));
}

TEST(PluginPayload, counts_must_add_up) {
    Plugin("counts-too-few").expect_failed("accounts for 2 emitted + 0 filtered + 0 failed records "
                                           "of a batch of 3");
    Plugin("counts-too-many").expect_failed("accounts for 3 emitted + 1 filtered");
    Plugin("counts-wrap").expect_failed("count every record exactly once");
}

TEST(PluginPayload, commits_only_what_it_reserved) {
    Plugin("commits-too-much").expect_failed("committed more bytes than it had reserved");
    Plugin("commits-unreserved").expect_failed("committed more bytes than it had reserved");
}

TEST(PluginPayload, fails_only_records_that_exist) {
    Plugin plugin("fails-beyond");
    plugin.expect_failed("index lies beyond the batch");
    EXPECT_TRUE(plugin.failures.seen.empty());
}

TEST(PluginPayload, a_failed_record_counts_by_itself) {
    Plugin plugin("fails-without-reason");
    const PayloadOutcome outcome = plugin.process();
    EXPECT_FALSE(outcome.batch_failed) << outcome.reason;
    EXPECT_EQ(outcome.failed, 1u);
    ASSERT_EQ(plugin.failures.seen.size(), 1u);
    EXPECT_EQ(plugin.failures.seen[0], (std::pair<std::uint64_t, std::string>(1, "")));
    EXPECT_EQ(Plugin("fails-in-bulk").process().failed, 3u);
}

TEST(PluginPayload, says_why_it_fails_a_batch) {
    Plugin("fails-the-batch").expect_failed("failed the batch: cannot go on");
    Plugin("odd-status").expect_failed("failed the batch");
    Plugin("wants-all-memory").expect_failed("found no memory for its output");
}

TEST(PluginPayload, hears_of_the_end_of_the_run) {
    Plugin plugin("asks-whether-cancelled");
    EXPECT_FALSE(plugin.process().batch_failed);
    plugin.cancelled.store(1);
    EXPECT_TRUE(plugin.process().batch_failed);
}

TEST(PluginPayload, create_may_fail_with_a_reason) {
    const Plugin plugin("no-state");
    ASSERT_FALSE(plugin.made());
    EXPECT_EQ(plugin.made().error().kind, ErrorKind::plugin);
    EXPECT_NE(plugin.made().error().message.find(
                  "create() failed: this configuration makes no state"),
              std::string::npos);
}

TEST(PluginPayload, exceptions_cost_the_batch_and_not_the_process) {
    Plugin plugin("usual", "throwing.so");
    plugin.expect_failed("let an exception escape: thrown by process");
    plugin.expect_failed("let an exception escape: thrown by process");
    Plugin("odd", "throwing.so").expect_failed("that is no std::exception");
    const Plugin unmade("in-create", "throwing.so");
    ASSERT_FALSE(unmade.made());
    EXPECT_NE(unmade.made().error().message.find("thrown by create"), std::string::npos);
}

TEST(PluginPayload, fixed_framing_has_no_delimiter) {
    Plugin plugin("shows-batch", "broken.so", {Framing::Kind::fixed, "", 7});
    EXPECT_FALSE(plugin.process().batch_failed);
    gm_batch seen;
    std::memcpy(&seen, plugin.output.committed().data(), sizeof seen);
    EXPECT_EQ(seen.framing, GM_FRAMING_FIXED);
    EXPECT_EQ(seen.record_bytes, 7u);
    EXPECT_EQ(seen.delimiter, nullptr);
    EXPECT_EQ(seen.delimiter_size, 0u);
}

} // namespace
} // namespace gristmill::work
