// What a worker does with one batch: read, process, account, leave the output.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "record/extent_reader.hpp"
#include "ring/batch_entry.hpp"
#include "store/isolation_area.hpp"
#include "work/work_order.hpp"

namespace gristmill::work {

struct BatchWorkerOutput {
    store::OutputArea &usual;
    store::IsolationArea *isolation = nullptr; // none where workers cannot die
};

// Threads: the worker's.
// Keeps:   I12. Of each record framed, exactly one of emitted, filtered, failed is counted.
//          I13. Nothing is committed behind finish(): a batch's result is complete before `done`.
class BatchWorker {
  public:
    // All outlive this.
    BatchWorker(const WorkOrder &order, const WorkerIdentity &identity, record::InputBuffer &input,
                Payload &payload, const BatchWorkerOutput &output,
                std::atomic<std::uint64_t> &progress);

    // Never throws, never waits for other workers or for memory.
    ring::BatchResult work(std::uint64_t sequence, std::uint32_t attempt,
                           const ring::BatchInput &input, ring::IsolationMark &mark) noexcept;

  private:
    // Will the first failure end the run? Then nothing behind it need be tried.
    bool ends_at_failure() const { return order_.keep_notes == KeepNotes::lowest; }
    bool read(const ring::BatchInput &input);
    void work_whole(ring::BatchResult &result);
    void work_record_by_record(ring::IsolationMark &mark, ring::BatchResult &result);
    void take_record(std::uint64_t index, const record::Segment &record, ring::IsolationMark &mark,
                     ring::IsolationProgress &progress);
    bool step(ring::IsolationMark &mark, ring::IsolationProgress progress);
    void fail_oversized(const record::OversizedRecord &oversized);
    OutputTail write_tail();
    void describe(ring::BatchResult &result) const;
    PayloadOutcome call_payload(const record::Segment &segment);
    bool process_segment(const record::Segment &segment, ring::BatchResult &result);
    void fail_record(std::uint64_t index, record::FailureNote note, ring::BatchResult &result);
    void process_one_by_one(const record::Segment &segment, ring::BatchResult &result);
    void check_output(ring::BatchResult &result);
    // What was committed before the last record, to see what it gave.
    struct Mark {
        std::uint64_t bytes = 0;
        std::uint64_t lengths = 0;
    };
    Mark here() const { return {output_->committed().size(), lengths_.size()}; }
    void back_to(const Mark &mark);
    void judge_last_record(const Mark &before_it, ring::BatchResult &result);
    void fail_batch(ring::BatchResult &result, ring::Fault fault, record::FailureNote note);
    record::FailureNote describe_read_error(const ring::BatchInput &input) const;

    const WorkOrder &order_;
    const WorkerIdentity identity_;
    Payload &payload_;
    const BatchWorkerOutput outputs_;
    std::atomic<std::uint64_t> &progress_;
    record::ExtentReader reader_;
    FailureLog failures_;
    // Of the batch in hand:
    store::OutputArea *output_ = nullptr;
    std::vector<std::uint32_t> lengths_; // of the output records, if the payload knows them
    bool knows_lengths_ = false;
    std::optional<bool> last_gave_; // as the last call said
    std::uint64_t isolated_lengths_ = 0; // kept in the isolation file instead
    std::uint64_t sequence_ = 0;
    std::uint32_t attempt_ = 0;
};

} // namespace gristmill::work
