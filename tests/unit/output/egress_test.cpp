// What becomes of done batches: delivered, failed, or the end of the run (invariant I16).
#include <list>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "os/memory.hpp"
#include "output/egress.hpp"
#include "ring/publisher.hpp"
#include "support/test_file.hpp"
#include "unit/output/json_check.hpp"

namespace gristmill::output {
namespace {

using ring::BatchInput;
using ring::BatchKind;
using ring::BatchResult;
using ring::Fault;

class Names final : public SourceNames {
  public:
    std::string name(std::uint32_t source) const override {
        return "source" + std::to_string(source);
    }
    Error failure(std::uint32_t source) const override {
        return {ErrorKind::source, "cannot open " + name(source)};
    }
    std::vector<std::byte> bytes_of(const ring::BatchInput &, std::uint64_t offset,
                                    std::uint64_t bytes) const override {
        const std::string text = "<" + std::to_string(offset) + "+" + std::to_string(bytes) + ">";
        const ByteView view = gristmill::bytes_of(text);
        return {view.begin(), view.end()};
    }
};

class TextSink final : public Sink {
  public:
    Result<void> deliver(const RetiredBatch &batch) override {
        if (refuses)
            return Error{ErrorKind::output, "no room on the disk"};
        text += text_of(batch.output.data);
        return {};
    }
    std::string text;
    bool refuses = false;
};

// Batches of ten bytes that some worker has done, and egress behind them.
class Rig {
  public:
    explicit Rig(RunOptions given = {})
        : options(std::move(given)),
          block_(std::move(
              os::map_anonymous(RunState::block_bytes(1, 1, 64), os::Pages::normal).value())),
          state_(RunState::create(block_.data(), 1, 1, 64)), publisher_(state_, {64, 0}) {
        plan_.nodes.resize(1);
        if (!options.errors_to.empty())
            letters_.emplace(std::move(DeadLetters::create(options.errors_to).value()));
        egress.emplace(state_, EgressParts{options, plan_, sink, names_, outputs_,
                                           std::move(letters_)});
    }

    // A batch of `read` records, `notes.size()` of them failed.
    void add(const std::string &output, std::uint64_t read,
             std::vector<record::FailureNote> notes = {}, Fault fault = Fault::none) {
        std::string &text = texts_.emplace_back(output);
        for (const record::FailureNote &note : notes) {
            std::string bytes(record::encoded_bytes(note), '\0');
            record::encode(note, reinterpret_cast<std::byte *>(bytes.data()));
            text += bytes;
        }
        BatchResult result;
        result.read = read;
        result.failed = fault == Fault::plugin ? read : notes.size();
        result.emitted = read - result.failed;
        result.fault = fault != Fault::none ? fault : notes.empty() ? Fault::none : Fault::record;
        if (fault == Fault::source)
            result.read = result.emitted = result.failed = 0;
        result.output_records = result.emitted;
        result.output.place = text.empty() ? OutputPlace::none : OutputPlace::collection;
        result.output.data = reinterpret_cast<std::uintptr_t>(text.data());
        result.output.bytes = output.size();
        result.output.fault_bytes = text.size() - output.size();
        publish({}, result);
    }
    void publish(BatchInput input, BatchResult result) {
        input.begin = result.begin = 10 * publisher_.published();
        input.end = result.end = input.begin + 10;
        publisher_.publish_done(input, result);
    }
    // Retires all there is; the error, if the run ended with one.
    const std::optional<Error> &run() {
        publisher_.end();
        while (egress->retire() > 0) {
        }
        return egress->error();
    }
    void expect_checked(bool complete) {
        const Result<void> checked =
            egress->check({complete ? 10 * publisher_.published() : 0}, complete);
        EXPECT_TRUE(checked) << checked.error().message;
    }

    const RunOptions options;
    TextSink sink;
    std::optional<Egress> egress;

  private:
    Plan plan_;
    const Names names_;
    os::Mapping block_;
    RunState state_;
    ring::Publisher<ring::SystemAtomics> publisher_;
    std::atomic<std::uint64_t> released_[2]{};
    store::OutputReader outputs_{{}, {{&released_[0], &released_[1]}}};
    std::optional<DeadLetters> letters_;
    std::list<std::string> texts_;
};

record::FailureNote note(std::uint64_t index, std::uint64_t before = 0) {
    record::FailureNote made;
    made.index = index;
    made.byte_offset = 100 + index;
    made.record_bytes = 6;
    made.output_before = before;
    made.reason = "bad record " + std::to_string(index);
    made.excerpt = "record";
    return made;
}

RunOptions with(OnError on_error, Order order = Order::index) {
    RunOptions options;
    options.on_error = on_error;
    options.order = order;
    return options;
}

TEST(Egress, delivers_in_order_and_counts) {
    Rig rig;
    rig.add("a\n", 1);
    rig.add("", 0);
    rig.add("b\nc\n", 2);
    EXPECT_FALSE(rig.run());
    EXPECT_TRUE(rig.egress->finished());
    EXPECT_EQ(rig.sink.text, "a\nb\nc\n");
    rig.expect_checked(true);
    EXPECT_EQ(rig.egress->report().emitted, 3u);
}

TEST(Egress, raise_delivers_what_stands_before_the_failing_record) {
    Rig rig;
    rig.add("a\n", 1);
    rig.add("b\nc\n", 5, {note(1, 2), note(3, 4)});
    rig.add("d\n", 1);
    const auto &error = rig.run();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, ErrorKind::record);
    EXPECT_EQ(rig.sink.text, "a\nb\n");
    ASSERT_TRUE(error->record);
    EXPECT_EQ(error->record->record_index, 2u) << "one in the batch before, one before it";
    EXPECT_EQ(error->record->byte_offset, 101u);
    EXPECT_EQ(error->record->source, "source0");
    rig.egress->discard_rest();
    rig.expect_checked(false);
    const Report report = rig.egress->report();
    EXPECT_EQ(report.read, 7u);
    EXPECT_EQ(report.failed, 1u);
    EXPECT_EQ(report.discarded, 5u);
}

TEST(Egress, raise_without_a_description) {
    Rig rig;
    BatchResult result;
    result.read = result.failed = 1;
    result.fault = Fault::record;
    rig.publish({}, result);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.egress->error()->kind, ErrorKind::record);
    rig.expect_checked(false);
}

TEST(Egress, skip_counts_failures_only) {
    Rig rig(with(OnError::skip));
    rig.add("a\n", 3, {note(0), note(2)});
    rig.add("b\n", 1);
    EXPECT_FALSE(rig.run());
    EXPECT_EQ(rig.sink.text, "a\nb\n");
    EXPECT_EQ(rig.egress->report().failed, 2u);
    EXPECT_TRUE(rig.egress->take_failures().empty());
    rig.expect_checked(true);
}

TEST(Egress, collect_knows_indices_in_the_run) {
    for (const Order order : {Order::index, Order::none}) {
        Rig rig(with(OnError::collect, order));
        rig.add("a\n", 4, {note(1), note(3)});
        rig.add("b\n", 2);
        rig.add("", 1, {note(0)});
        EXPECT_FALSE(rig.run());
        const auto failures = rig.egress->take_failures();
        ASSERT_EQ(failures.size(), 3u);
        EXPECT_EQ(failures[0].record_index, 1u);
        EXPECT_EQ(failures[1].record_index, 3u);
        EXPECT_EQ(failures[2].record_index, 6u);
        for (const RecordFailure &failure : failures)
            EXPECT_TRUE(failure.index_known);
        EXPECT_EQ(failures[0].reason, "bad record 1");
        EXPECT_EQ(failures[0].type, "RecordError");
    }
}

TEST(Egress, max_errors_is_the_number_that_may_fail) {
    for (const std::uint64_t limit : {1u, 2u}) {
        RunOptions options = with(OnError::skip);
        options.max_errors = limit;
        Rig rig(options);
        rig.add("a\n", 2, {note(0)});
        rig.add("b\n", 2, {note(1)});
        rig.add("c\n", 1);
        const auto &error = rig.run();
        EXPECT_EQ(error.has_value(), limit == 1);
        if (error) {
            EXPECT_EQ(error->kind, ErrorKind::too_many_errors);
        }
        rig.egress->discard_rest();
        rig.expect_checked(false);
    }
}

TEST(Egress, a_source_error_ends_the_run_behind_what_was_before) {
    Rig rig;
    rig.add("a\n", 1);
    rig.publish({.kind = BatchKind::source_error, .source = 4}, {});
    const auto &error = rig.run();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->message, "cannot open source4");
    EXPECT_EQ(rig.sink.text, "a\n");
}

TEST(Egress, what_a_worker_could_not_read_is_a_source_error) {
    Rig rig(with(OnError::skip));
    record::FailureNote why = note(0);
    why.reason = "shrank from 10 to 3 bytes while it was read";
    rig.add("", 0, {why}, Fault::source);
    const auto &error = rig.run();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, ErrorKind::source);
    EXPECT_EQ(error->message, "'source0' shrank from 10 to 3 bytes while it was read");
}

TEST(Egress, no_memory_for_a_batch_ends_the_run) {
    Rig rig(with(OnError::skip));
    rig.add("", 2, {}, Fault::memory);
    const auto &error = rig.run();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, ErrorKind::memory);
    rig.expect_checked(false);
}

TEST(Egress, a_failed_batch_ends_the_run_or_counts_its_records) {
    Rig raised;
    raised.add("", 3, {note(0)}, Fault::plugin);
    const auto &error = raised.run();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, ErrorKind::plugin);
    EXPECT_NE(error->message.find("batch 0 (3 records, bytes 0 to 10 of 'source0')"),
              std::string::npos)
        << error->message;
    raised.expect_checked(false);

    Rig collected(with(OnError::collect));
    collected.add("", 3, {note(0)}, Fault::plugin);
    collected.add("b\n", 1);
    EXPECT_FALSE(collected.run());
    EXPECT_EQ(collected.egress->report().failed, 3u);
    EXPECT_EQ(collected.egress->take_failures().at(0).type, "PluginError");
    collected.expect_checked(true);
}

TEST(Egress, an_oversized_record_of_the_cutter) {
    Rig rig(with(OnError::collect));
    BatchResult result;
    result.read = result.failed = 1;
    result.fault = Fault::record;
    rig.add("a\n", 1);
    rig.publish({.kind = BatchKind::oversized, .record_bytes = 9}, result);
    EXPECT_FALSE(rig.run());
    const auto failures = rig.egress->take_failures();
    ASSERT_EQ(failures.size(), 1u);
    EXPECT_EQ(failures[0].record_index, 1u);
    EXPECT_EQ(failures[0].byte_offset, 10u);
    EXPECT_EQ(failures[0].excerpt, "<10+9>") << "read again: no worker has seen it";
    EXPECT_NE(failures[0].reason.find("record of 9 bytes is longer than max_record"),
              std::string::npos);
}

TEST(Egress, a_sink_that_refuses_ends_the_run) {
    Rig rig;
    rig.add("a\n", 2);
    rig.add("b\n", 1);
    rig.sink.refuses = true;
    const auto &error = rig.run();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, ErrorKind::output);
    rig.egress->discard_rest();
    rig.expect_checked(false);
    EXPECT_EQ(rig.egress->report().discarded, 3u);
}

TEST(Egress, dead_letters_hold_whole_records) {
    const test::TestFolder folder;
    RunOptions options = with(OnError::skip);
    options.errors_to = folder.file("dead.jsonl");
    {
        Rig rig(options);
        record::FailureNote cut = note(1);
        cut.record_bytes = 5000; // the excerpt is not all of it
        rig.add("a\n", 3, {note(0), cut});
        rig.add("", 2, {note(0)}, Fault::plugin);
        EXPECT_FALSE(rig.run());
    }
    std::string text = test::TestFolder::read(options.errors_to);
    std::vector<std::string> records;
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;
         text.erase(0, end + 1)) {
        const auto letter = test::JsonReader(text.substr(0, end)).object();
        ASSERT_TRUE(letter) << text;
        records.push_back(test::decode_base64(letter->at("record_b64")).value());
    }
    EXPECT_EQ(records, (std::vector<std::string>{"record", "<101+5000>", "<100+10>"}));
}

TEST(Egress, a_gap_in_the_coverage_is_an_accounting_error) {
    Rig rig;
    rig.add("a\n", 1);
    EXPECT_FALSE(rig.run());
    EXPECT_TRUE(rig.egress->check({10}, true));
    for (const std::uint64_t bytes : {9u, 11u}) {
        const Result<void> checked = rig.egress->check({bytes}, true);
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().kind, ErrorKind::accounting);
    }
    EXPECT_TRUE(rig.egress->check({11}, false)) << "a run that ended early may have gaps";
}

} // namespace
} // namespace gristmill::output
