// One batch from the claim to its result: every record counts exactly once (invariant I12).
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/failure_note.hpp"
#include "store/collection.hpp"
#include "support/test_file.hpp"
#include "work/batch_worker.hpp"

namespace gristmill::work {
namespace {

using ring::BatchInput;
using ring::BatchKind;
using ring::BatchResult;
using ring::Fault;

void put(store::OutputArea &output, std::string_view text) {
    std::byte *room = output.reserve(text.size());
    std::copy_n(bytes_of(text).data(), text.size(), room);
    output.commit(text.size());
}

// Records that begin with 'f' fail, with 'x' are left out, with '!' fail the batch, with '?' lose
// their delimiter, with 'm' find no memory; all others are echoed.
class Echo final : public Payload {
  public:
    PayloadOutcome process(const PayloadBatch &batch, store::OutputArea &output,
                           FailureListener &failures) override {
        calls.push_back(std::string(text_of(batch.data)));
        PayloadOutcome outcome;
        std::string_view rest = text_of(batch.data);
        for (std::uint64_t index = 0; !rest.empty(); ++index) {
            const std::string_view record = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(record.size() + 1);
            const char first = record.empty() ? ' ' : record[0];
            if (first == '!')
                return {.batch_failed = true, .reason = "the payload says no"};
            if (first == 'm') {
                thrown = true;
                throw std::bad_alloc();
            }
            if (first == 'f') {
                failures.record_failed(index, "begins with f");
                ++outcome.failed;
            } else if (first == 'x') {
                ++outcome.filtered;
            } else {
                put(output, std::string(record) + (first == '?' ? "" : "\n"));
                ++outcome.emitted;
            }
        }
        return outcome;
    }
    std::vector<std::string> calls;
    bool thrown = false;
};

struct Worked {
    BatchResult result;
    std::string output;
    std::vector<record::FailureNote> notes;
};

class Bench {
  public:
    explicit Bench(const std::string &data, KeepNotes keep = KeepNotes::all,
                   std::uint64_t max_record = 1000)
        : file_(data), bytes_(data.size()) {
        sources_.set(0, file_.fd(), bytes_);
        order_.max_record_bytes = max_record;
        order_.keep_notes = keep;
        order_.sources = &sources_;
    }

    Worked work(BatchInput input) {
        std::atomic<std::uint64_t> progress{0};
        BatchWorker worker(order_, {3, 1}, input_, payload, {output_}, progress);
        ring::IsolationMark mark;
        Worked worked;
        worked.result = worker.work(9, 0, input, mark);
        EXPECT_EQ(progress.load() % 2, payload.thrown) << "odd while inside the payload";
        const OutputLocation &at = worked.result.output;
        const auto *data = reinterpret_cast<const char *>(at.data);
        worked.output.assign(data, data + at.bytes);
        worked.notes =
            record::decode_notes(bytes_of({data + at.bytes, at.fault_bytes})).value();
        return worked;
    }
    Worked work_all() { return work({.kind = BatchKind::extent, .begin = 0, .end = bytes_}); }

    Echo payload;

  private:
    test::MemoryFile file_;
    std::uint64_t bytes_;
    std::vector<record::OpenSource> slots_{1};
    record::SourceTable sources_{slots_};
    WorkOrder order_;
    record::InputBuffer input_;
    store::CollectionArea output_;
};

void expect_counts(const BatchResult &result, std::uint64_t read, std::uint64_t emitted,
                   std::uint64_t filtered, std::uint64_t failed) {
    EXPECT_EQ(result.read, read);
    EXPECT_EQ(result.emitted, emitted);
    EXPECT_EQ(result.filtered, filtered);
    EXPECT_EQ(result.failed, failed);
}

TEST(BatchWorker, echoes_and_accounts) {
    Bench bench("one\nxtwo\n\nlast");
    const Worked worked = bench.work_all();
    expect_counts(worked.result, 4, 3, 1, 0);
    EXPECT_EQ(worked.output, "one\n\nlast\n");
    EXPECT_EQ(worked.result.output_records, 3u);
    EXPECT_EQ(worked.result.fault, Fault::none);
    EXPECT_TRUE(worked.result.delimiter_added);
    EXPECT_TRUE(worked.result.last_record_gave);
    EXPECT_EQ(worked.result.begin, 0u);
    EXPECT_EQ(worked.result.end, 14u);
    EXPECT_EQ(worked.result.node, 1u);
}

TEST(BatchWorker, an_extent_without_a_record_calls_nobody) {
    Bench bench("a long record");
    const Worked worked = bench.work({.kind = BatchKind::extent, .begin = 5, .end = 9});
    EXPECT_TRUE(bench.payload.calls.empty());
    expect_counts(worked.result, 0, 0, 0, 0);
    EXPECT_EQ(worked.result.fault, Fault::none);
    EXPECT_EQ(worked.result.begin, worked.result.end);
}

TEST(BatchWorker, failed_records_are_described_in_order) {
    Bench bench("one\nfirst\nok\nfxx\n");
    const Worked worked = bench.work_all();
    expect_counts(worked.result, 4, 2, 0, 2);
    EXPECT_EQ(worked.result.fault, Fault::record);
    EXPECT_EQ(worked.output, "one\nok\n");
    ASSERT_EQ(worked.notes.size(), 2u);
    EXPECT_EQ(worked.notes[0].index, 1u);
    EXPECT_EQ(worked.notes[0].byte_offset, 4u);
    EXPECT_EQ(worked.notes[0].record_bytes, 5u);
    EXPECT_EQ(worked.notes[0].excerpt, "first");
    EXPECT_EQ(worked.notes[0].reason, "begins with f");
    EXPECT_EQ(worked.notes[0].output_before, 4u);
    EXPECT_EQ(worked.notes[1].index, 3u);
    EXPECT_EQ(worked.notes[1].output_before, 7u);
}

TEST(BatchWorker, only_the_lowest_failure_when_that_is_enough) {
    const Worked lowest = Bench("one\nf1\nf2\n", KeepNotes::lowest).work_all();
    ASSERT_EQ(lowest.notes.size(), 1u);
    EXPECT_EQ(lowest.notes[0].excerpt, "f1");
    const Worked none = Bench("one\nf1\nf2\n", KeepNotes::none).work_all();
    EXPECT_TRUE(none.notes.empty());
    EXPECT_EQ(none.result.failed, 2u);
    EXPECT_EQ(none.result.fault, Fault::record);
}

TEST(BatchWorker, oversized_records_fail_alone_and_in_their_place) {
    Bench bench("one\nlonger than ten\nnext\nalso longer than ten\nf\n", KeepNotes::all, 10);
    const Worked worked = bench.work_all();
    expect_counts(worked.result, 5, 2, 0, 3);
    EXPECT_EQ(worked.output, "one\nnext\n");
    EXPECT_EQ(bench.payload.calls, (std::vector<std::string>{"one\n", "next\n", "f\n"}));
    ASSERT_EQ(worked.notes.size(), 3u);
    EXPECT_EQ(worked.notes[0].index, 1u);
    EXPECT_EQ(worked.notes[0].byte_offset, 4u);
    EXPECT_EQ(worked.notes[0].record_bytes, 15u);
    EXPECT_EQ(worked.notes[0].output_before, 4u);
    EXPECT_NE(worked.notes[0].reason.find("longer than max_record (10 bytes)"),
              std::string::npos);
    EXPECT_EQ(worked.notes[1].index, 3u);
    EXPECT_EQ(worked.notes[2].index, 4u);
    EXPECT_EQ(worked.notes[2].byte_offset, 46u);
}

TEST(BatchWorker, the_lowest_failure_may_be_the_oversized_one) {
    Bench bench("f\nlonger than ten\n", KeepNotes::lowest, 10);
    EXPECT_EQ(bench.work_all().notes.at(0).index, 0u);
    Bench other("longer than ten\nf\n", KeepNotes::lowest, 10);
    EXPECT_EQ(other.work_all().notes.at(0).index, 0u);
}

TEST(BatchWorker, a_failed_batch_leaves_no_output) {
    const Worked worked = Bench("one\n!\nthree\n").work_all();
    expect_counts(worked.result, 3, 0, 0, 3);
    EXPECT_EQ(worked.result.fault, Fault::plugin);
    EXPECT_EQ(worked.output, "");
    EXPECT_EQ(worked.result.output_records, 0u);
    ASSERT_EQ(worked.notes.size(), 1u);
    EXPECT_EQ(worked.notes[0].reason, "the payload says no");
}

TEST(BatchWorker, a_batch_that_fails_behind_failed_records_counts_each_once) {
    const Worked worked = Bench("f\nlonger than ten\nx\n!\n", KeepNotes::all, 10).work_all();
    expect_counts(worked.result, 4, 0, 0, 4);
    EXPECT_EQ(worked.result.fault, Fault::plugin);
    EXPECT_EQ(worked.notes.size(), 1u);
}

TEST(BatchWorker, output_must_end_with_a_whole_record) {
    const Worked worked = Bench("one\n?two\n").work_all();
    expect_counts(worked.result, 2, 0, 0, 2);
    EXPECT_EQ(worked.result.fault, Fault::plugin);
    EXPECT_EQ(worked.output, "");
    EXPECT_NE(worked.notes.at(0).reason.find("does not end with a whole record"),
              std::string::npos);
}

TEST(BatchWorker, knows_whether_the_last_record_gave_output) {
    EXPECT_TRUE(Bench("one\n ").work_all().result.last_record_gave);
    EXPECT_FALSE(Bench("one\nx").work_all().result.last_record_gave) << "left out";
    EXPECT_FALSE(Bench("one\nf").work_all().result.last_record_gave) << "failed";
}

TEST(BatchWorker, no_memory_is_a_fault_of_its_own) {
    const Worked worked = Bench("one\nmore\n").work_all();
    EXPECT_EQ(worked.result.fault, Fault::memory);
    EXPECT_EQ(worked.output, "");
    const std::uint64_t settled =
        worked.result.emitted + worked.result.filtered + worked.result.failed;
    EXPECT_LE(settled, worked.result.read);
}

TEST(BatchWorker, what_cannot_be_read_says_why) {
    Bench shrunk("one\n");
    const Worked worked = shrunk.work({.kind = BatchKind::exact, .begin = 0, .end = 4,
                                       .record_count = 2});
    EXPECT_EQ(worked.result.fault, Fault::source);
    EXPECT_NE(worked.notes.at(0).reason.find("changed while it was read"), std::string::npos);
    expect_counts(worked.result, 0, 0, 0, 0);
    EXPECT_TRUE(shrunk.payload.calls.empty());
}

} // namespace
} // namespace gristmill::work
