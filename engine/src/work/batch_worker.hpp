// What a worker does with one batch: read, process, account, leave the output.
#pragma once

#include <memory>

#include "record/extent_reader.hpp"
#include "ring/batch_entry.hpp"
#include "work/work_order.hpp"

namespace gristmill::work {

// Threads: the worker's.
// Keeps:   I12. Of each record framed, exactly one of emitted, filtered, failed is counted.
//          I13. Nothing is committed behind finish(): a batch's result is complete before `done`.
class BatchWorker {
  public:
    // All outlive this.
    BatchWorker(const WorkOrder &order, const WorkerIdentity &identity, record::InputBuffer &input,
                Payload &payload, store::OutputArea &output);

    // Never throws, never waits for other workers or for memory.
    ring::BatchResult work(std::uint64_t sequence, std::uint32_t attempt,
                           const ring::BatchInput &input) noexcept;

  private:
    bool read(const ring::BatchInput &input);
    void process(std::uint64_t sequence, std::uint32_t attempt, ring::BatchResult &result);
    bool process_segment(const record::Segment &segment, std::uint64_t sequence,
                         std::uint32_t attempt, ring::BatchResult &result);
    void check_output(ring::BatchResult &result);
    void fail_batch(ring::BatchResult &result, ring::Fault fault, record::FailureNote note);
    record::FailureNote describe_read_error(const ring::BatchInput &input) const;

    const WorkOrder &order_;
    const WorkerIdentity identity_;
    Payload &payload_;
    store::OutputArea &output_;
    record::ExtentReader reader_;
    FailureLog failures_;
};

} // namespace gristmill::work
