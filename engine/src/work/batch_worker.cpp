#include "work/batch_worker.hpp"

#include <new>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "record/framing_rules.hpp"

namespace gristmill::work {

using ring::BatchInput;
using ring::BatchKind;
using ring::BatchResult;
using ring::Fault;

BatchWorker::BatchWorker(const WorkOrder &order, const WorkerIdentity &identity,
                         record::InputBuffer &input, Payload &payload, store::OutputArea &output)
    : order_(order), identity_(identity), payload_(payload), output_(output),
      reader_(input, order.framing, order.max_record_bytes, order.read_bytes,
              !payload.wants_whole_batches()),
      failures_(order.keep_notes, order.framing) {}

BatchResult BatchWorker::work(std::uint64_t sequence, std::uint32_t attempt,
                              const BatchInput &input) noexcept {
    const std::uint64_t started_ns = wall_clock_ns();
    BatchResult result;
    result.node = identity_.node;
    result.begin = result.end = input.begin;
    std::uint64_t fault_bytes = 0;
    try {
        failures_.begin(reader_.batch(), output_);
        if (read(input))
            process(sequence, attempt, result);
        else
            fail_batch(result, reader_.error().no_memory ? Fault::memory : Fault::source,
                       describe_read_error(input));
        fault_bytes = failures_.write(output_);
    } catch (const std::bad_alloc &) {
        output_.abandon();
        fault_bytes = 0;
        result.fault = Fault::memory;
    }
    result.output = output_.finish(fault_bytes);
    result.wall_ns = wall_clock_ns() - started_ns;
    return result;
}

bool BatchWorker::read(const BatchInput &input) {
    const record::OpenSource &source = order_.sources->at(input.source_slot);
    const record::FileExtent extent{source.fd, source.bytes, input.begin, input.end};
    return input.kind == BatchKind::extent
               ? reader_.read_records_starting_in(extent)
               : reader_.read_whole_records(extent, input.record_count);
}

void BatchWorker::process(std::uint64_t sequence, std::uint32_t attempt, BatchResult &result) {
    const record::BatchView &batch = reader_.batch();
    result.begin = batch.begin;
    result.end = batch.end;
    result.read = batch.record_count;
    result.delimiter_added = batch.delimiter_added;
    auto oversized = batch.oversized.begin();
    const auto fail_oversized_before = [&](std::uint64_t index) {
        for (; oversized != batch.oversized.end() && oversized->index < index; ++oversized) {
            failures_.add_oversized(*oversized, order_.max_record_bytes);
            ++result.failed;
        }
    };
    std::uint64_t before_last = 0; // bytes of output before the last segment
    for (const record::Segment &segment : batch.segments) {
        fail_oversized_before(segment.first_record);
        before_last = output_.committed().size();
        if (!process_segment(segment, sequence, attempt, result))
            return;
    }
    const bool ends_with_segment = oversized == batch.oversized.end();
    fail_oversized_before(batch.record_count);
    check_output(result);
    if (batch.delimiter_added && ends_with_segment && result.fault != Fault::plugin) {
        const ByteView last = output_.committed().subspan(before_last);
        result.last_record_gave =
            !last.empty() && !record::last_record_blank(last, order_.framing);
    }
}

bool BatchWorker::process_segment(const record::Segment &segment, std::uint64_t sequence,
                                  std::uint32_t attempt, BatchResult &result) {
    const record::BatchView &batch = reader_.batch();
    failures_.enter(segment);
    PayloadBatch given;
    given.data = batch.data.subspan(segment.begin, segment.end - segment.begin);
    given.record_count = segment.record_count;
    given.sequence = sequence;
    given.byte_offset = batch.begin + segment.begin;
    given.attempt = attempt;
    const bool last = segment.end == batch.data.size();
    given.delimiter_added = batch.delimiter_added && last;
    given.ends_open = batch.ends_open && last;
    PayloadOutcome outcome = payload_.process(given, output_, failures_);
    if (outcome.batch_failed) {
        record::FailureNote note;
        note.byte_offset = batch.begin;
        note.reason = std::move(outcome.reason);
        fail_batch(result, Fault::plugin, std::move(note));
        return false;
    }
    result.emitted += outcome.emitted;
    result.filtered += outcome.filtered;
    result.failed += outcome.failed;
    return true;
}

// Output must be framed like the input, or batches would run into each other.
void BatchWorker::check_output(BatchResult &result) {
    const bool whole = record::ends_whole(output_.committed(), order_.framing);
    result.ends_open = !whole && reader_.batch().ends_open;
    if (!whole && !result.ends_open) {
        record::FailureNote note;
        note.byte_offset = result.begin;
        note.reason = "the output of the batch does not end with a whole record; end each record "
                      "as the input's records end";
        fail_batch(result, Fault::plugin, std::move(note));
        return;
    }
    if (order_.count_output)
        result.output_records =
            record::scan_records(output_.committed(), order_.framing).count;
    if (result.failed > 0)
        result.fault = Fault::record;
}

void BatchWorker::fail_batch(BatchResult &result, Fault fault, record::FailureNote note) {
    output_.abandon();
    failures_.replace_by(std::move(note));
    result.fault = fault;
    result.emitted = result.filtered = result.output_records = 0;
    result.failed = result.read;
}

record::FailureNote BatchWorker::describe_read_error(const BatchInput &input) const {
    const record::ReadError &error = reader_.error();
    record::FailureNote note;
    note.byte_offset = error.offset;
    note.os_errno = error.os_errno;
    if (error.os_errno != 0)
        note.reason = "cannot be read at byte " + std::to_string(error.offset) + ": " +
                      std::generic_category().message(error.os_errno);
    else if (error.changed)
        note.reason = "changed while it was read (behind byte " + std::to_string(error.offset) +
                      ")";
    else
        note.reason = "shrank from " +
                      std::to_string(order_.sources->at(input.source_slot).bytes) + " to " +
                      std::to_string(error.offset) + " bytes while it was read";
    return note;
}

} // namespace gristmill::work
