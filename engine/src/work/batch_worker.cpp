#include "work/batch_worker.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "os/crash_point.hpp"
#include "os/process.hpp"
#include "record/framing_rules.hpp"

namespace gristmill::work {

using ring::BatchInput;
using ring::BatchKind;
using ring::BatchResult;
using ring::Fault;

namespace {
// How often a record is tried again whose worker was killed from outside, or by itself, who knows.
constexpr std::uint8_t kSparedMax = 4;
} // namespace

BatchWorker::BatchWorker(const WorkOrder &order, const WorkerIdentity &identity,
                         record::InputBuffer &input, Payload &payload,
                         const BatchWorkerOutput &output, std::atomic<std::uint64_t> &progress)
    : order_(order), identity_(identity), payload_(payload), outputs_(output), progress_(progress),
      reader_(input, order.framing, order.max_record_bytes, order.read_bytes,
              !payload.wants_whole_batches()),
      failures_(order.keep_notes, order.framing), output_(&output.usual) {}

BatchResult BatchWorker::work(std::uint64_t sequence, std::uint32_t attempt,
                              const BatchInput &input, ring::IsolationMark &mark) noexcept {
    const std::uint64_t started_ns = wall_clock_ns();
    const bool isolated = mark.region != ring::IsolationMark::kNoRegion && outputs_.isolation;
    BatchResult result;
    result.node = identity_.node;
    result.begin = result.end = input.begin;
    sequence_ = sequence;
    attempt_ = attempt;
    output_ = &outputs_.usual;
    OutputTail tail;
    lengths_.clear();
    knows_lengths_ = false;
    last_gave_.reset();
    isolated_lengths_ = 0;
    try {
        failures_.begin(reader_.batch(), *output_);
        const bool readable = read(input);
        os::crash_point("read");
        if (!readable)
            fail_batch(result, reader_.error().no_memory ? Fault::memory : Fault::source,
                       describe_read_error(input));
        else if (isolated)
            work_record_by_record(mark, result);
        else
            work_whole(result);
        // A batch that failed as a whole says why in one note, whatever came before; what lies in
        // its region stays as it is, another worker may have to look at it once more.
        if (result.fault == Fault::plugin)
            output_ = &outputs_.usual;
        tail = output_ == outputs_.isolation ? outputs_.isolation->append_tail(isolated_lengths_)
                                             : write_tail();
    } catch (const std::bad_alloc &) {
        output_->abandon();
        tail = {};
        result.fault = Fault::memory;
    }
    os::crash_point("before finish");
    result.output = output_->finish(tail);
    os::crash_point("finished");
    result.wall_ns = wall_clock_ns() - started_ns;
    return result;
}

bool BatchWorker::read(const BatchInput &input) {
    const record::OpenSource source = order_.sources->at(input.source_slot);
    record::FileExtent extent{source.fd, source.bytes, input.begin, input.end, input.origin};
    extent.spooled = source.bytes == record::kUnknownBytes;
    switch (input.kind) {
    case BatchKind::extent:
        return reader_.read_records_starting_in(extent);
    case BatchKind::spooled:
        extent.file_bytes = input.ends_source ? input.end : input.end + 1;
        return reader_.read_whole_records(extent, std::nullopt);
    default:
        return reader_.read_whole_records(extent, input.record_count);
    }
}

// Lengths are of use to whoever keeps the output; a stream of bytes needs none.
OutputTail BatchWorker::write_tail() {
    OutputTail tail;
    if (knows_lengths_ && order_.keep_lengths && !lengths_.empty()) {
        const auto bytes = std::as_bytes(std::span(lengths_));
        std::byte *room = output_->reserve(bytes.size());
        if (!room)
            throw std::bad_alloc();
        std::copy(bytes.begin(), bytes.end(), room);
        output_->commit(bytes.size());
        tail.length_bytes = bytes.size();
    }
    tail.fault_bytes = failures_.write(*output_);
    return tail;
}

void BatchWorker::back_to(const Mark &mark) {
    output_->shorten(mark.bytes);
    lengths_.resize(mark.lengths);
}

void BatchWorker::fail_oversized(const record::OversizedRecord &oversized) {
    failures_.add_oversized(oversized, order_.max_record_bytes);
    payload_.stand_in_for_failed(*output_);
    if (payload_.add_lengths(lengths_))
        knows_lengths_ = true;
}

// What was read, whatever becomes of it.
void BatchWorker::describe(BatchResult &result) const {
    const record::BatchView &batch = reader_.batch();
    result.begin = batch.begin;
    result.end = batch.end;
    result.read = batch.record_count;
    result.delimiter_added = batch.delimiter_added;
}

void BatchWorker::work_whole(BatchResult &result) {
    const record::BatchView &batch = reader_.batch();
    describe(result);
    auto oversized = batch.oversized.begin();
    const auto fail_oversized_before = [&](std::uint64_t index) {
        for (; oversized != batch.oversized.end() && oversized->index < index; ++oversized) {
            fail_oversized(*oversized);
            ++result.failed;
        }
    };
    Mark before_last;
    for (const record::Segment &segment : batch.segments) {
        fail_oversized_before(segment.first_record);
        before_last = here();
        if (!process_segment(segment, result))
            return;
        if (ends_at_failure() && result.failed > 0)
            break; // nothing behind it will be delivered
    }
    const bool ends_with_segment = oversized == batch.oversized.end();
    fail_oversized_before(batch.record_count);
    check_output(result);
    if (ends_with_segment)
        judge_last_record(before_last, result);
}

// Did the last record, whose delimiter was added, give anything? Then byte sinks take the delimiter
// off again.
void BatchWorker::judge_last_record(const Mark &before_it, BatchResult &result) {
    if (!result.delimiter_added || result.fault == Fault::plugin)
        return;
    if (last_gave_) {
        result.last_record_gave = *last_gave_;
        return;
    }
    if (knows_lengths_) {
        result.last_record_gave = lengths_.size() > before_it.lengths && lengths_.back() > 0;
        return;
    }
    const ByteView last = output_->committed().subspan(before_it.bytes);
    result.last_record_gave = !last.empty() && !record::last_record_blank(last, order_.framing);
}

PayloadOutcome BatchWorker::call_payload(const record::Segment &segment) {
    const record::BatchView &batch = reader_.batch();
    failures_.enter(segment);
    PayloadBatch given;
    given.data = batch.data.subspan(segment.begin, segment.end - segment.begin);
    given.record_count = segment.record_count;
    given.sequence = sequence_;
    given.byte_offset = batch.begin + segment.begin;
    given.attempt = attempt_;
    const bool last = segment.end == batch.data.size();
    given.delimiter_added = batch.delimiter_added && last;
    given.ends_open = batch.ends_open && last;
    progress_.fetch_add(1);
    os::crash_point("processing");
    const std::uint32_t forks = os::fork_count();
    PayloadOutcome outcome = payload_.process(given, *output_, failures_);
    os::crash_point("processed");
    if (os::fork_count() != forks)
        os::leave(0); // a copy of the worker, that the payload has made and let return
    progress_.fetch_add(1);
    last_gave_ = outcome.last_gave;
    if (!outcome.batch_failed && payload_.add_lengths(lengths_))
        knows_lengths_ = true;
    return outcome;
}

namespace {

record::FailureNote note_of(PayloadOutcome &outcome) {
    record::FailureNote note;
    note.type = std::move(outcome.type);
    note.reason = std::move(outcome.reason);
    note.details = std::move(outcome.details);
    return note;
}

// Each record of the batch as a segment of its own; one without bytes is too long to be fed.
std::vector<record::Segment> single_records(const record::BatchView &batch,
                                            const Framing &framing) {
    std::vector<record::Segment> records(batch.record_count);
    for (const record::Segment &segment : batch.segments) {
        const ByteView data = batch.data.subspan(segment.begin, segment.end - segment.begin);
        std::uint64_t index = segment.first_record;
        for (auto r = record::record_at(data, framing, 0); r;
             r = record::record_at(data, framing, r->next)) {
            const std::uint64_t begin = index == segment.first_record
                                            ? segment.begin
                                            : records[index - 1].end;
            records[index] = {begin, segment.begin + r->next, index, 1};
            ++index;
        }
    }
    return records;
}

// Why the record in hand when a worker died is given up.
record::FailureNote describe_death(const ring::IsolationMark &mark) {
    record::FailureNote note;
    if (mark.death == ring::Death::timed_out) {
        note.type = "PayloadTimeout";
        note.reason = "the payload made no progress for longer than timeout; its worker was ended";
    } else {
        note.type = "WorkerCrashed";
        note.reason = "the worker died of this record: " + os::describe_exit(mark.exit_status);
    }
    return note;
}

} // namespace

// False: the batch has failed as a whole.
bool BatchWorker::process_segment(const record::Segment &segment, BatchResult &result) {
    const Mark before = here();
    PayloadOutcome outcome = call_payload(segment);
    for (std::uint32_t tries = 1; outcome.batch_failed && outcome.worth_a_retry &&
                                  attempt_ + tries < order_.whole_attempts;
         ++tries) {
        back_to(before);
        outcome = call_payload(segment);
    }
    if (outcome.batch_failed && outcome.worth_a_retry && segment.record_count > 0) {
        back_to(before);
        if (segment.record_count == 1)
            fail_record(0, note_of(outcome), result);
        else
            process_one_by_one(segment, result);
        return true;
    }
    if (outcome.batch_failed) {
        record::FailureNote note = note_of(outcome);
        note.byte_offset = reader_.batch().begin;
        fail_batch(result, Fault::plugin, std::move(note));
        return false;
    }
    result.emitted += outcome.emitted;
    result.filtered += outcome.filtered;
    result.failed += outcome.failed;
    return true;
}

// Record `index` of the segment entered last fails alone.
void BatchWorker::fail_record(std::uint64_t index, record::FailureNote note, BatchResult &result) {
    failures_.record_failed(index, std::move(note));
    payload_.stand_in_for_failed(*output_);
    if (payload_.add_lengths(lengths_))
        knows_lengths_ = true;
    ++result.failed;
}

// So that a record which fails its batch costs itself alone.
void BatchWorker::process_one_by_one(const record::Segment &segment, BatchResult &result) {
    for (const record::Segment &record : single_records(reader_.batch(), order_.framing)) {
        if (record.first_record < segment.first_record || record.end == 0 ||
            record.first_record >= segment.first_record + segment.record_count)
            continue;
        const Mark before = here();
        PayloadOutcome outcome = call_payload(record);
        if (outcome.batch_failed) {
            back_to(before);
            fail_record(0, note_of(outcome), result);
            if (ends_at_failure())
                return;
            continue;
        }
        result.emitted += outcome.emitted;
        result.filtered += outcome.filtered;
        result.failed += outcome.failed;
    }
}

// What has killed its workers as a whole goes on record by record, each step counted where the next
// death cannot reach it. The record in hand at a death is given up; if somebody outside may have
// killed the worker, it gets one more chance.
void BatchWorker::work_record_by_record(ring::IsolationMark &mark, BatchResult &result) {
    const record::BatchView &batch = reader_.batch();
    describe(result);
    if (!payload_.may_be_divided()) {
        record::FailureNote note = describe_death(mark);
        note.byte_offset = batch.begin;
        fail_batch(result, Fault::plugin, std::move(note));
        return;
    }
    const ring::IsolationProgress &before = mark.progress[mark.next % 2];
    if (!outputs_.isolation->begin(mark.region, before.output_bytes, before.note_bytes)) {
        result.fault = Fault::memory;
        return;
    }
    output_ = outputs_.isolation;
    failures_.begin(batch, *output_);
    const auto records = single_records(batch, order_.framing);
    while (mark.next < batch.record_count) {
        ring::IsolationProgress progress = mark.progress[mark.next % 2];
        lengths_.clear();
        take_record(mark.next, records[mark.next], mark, progress);
        if (!step(mark, progress)) {
            result.fault = Fault::memory;
            return;
        }
    }
    const ring::IsolationProgress &all = mark.progress[mark.next % 2];
    const ring::IsolationProgress &last = mark.progress[(mark.next + 1) % 2];
    result.emitted = all.emitted;
    result.filtered = all.filtered;
    result.failed = all.failed;
    knows_lengths_ = knows_lengths_ || all.lengths > 0; // also when predecessors did all of it
    isolated_lengths_ = order_.keep_lengths ? all.lengths : 0;
    check_output(result);
    if (knows_lengths_)
        result.output_records = all.lengths;
    if (!records.empty() && records.back().end != 0)
        judge_last_record({last.output_bytes, 0}, result);
}

// One record of a batch that has killed workers.
void BatchWorker::take_record(std::uint64_t index, const record::Segment &record,
                              ring::IsolationMark &mark, ring::IsolationProgress &progress) {
    bool died_of_it = mark.in_hand == index + 1;
    if (died_of_it && mark.death == ring::Death::killed_from_outside &&
        mark.spared < kSparedMax) {
        ++mark.spared;
        died_of_it = false;
    }
    if (record.end == 0) {
        const auto &oversized = reader_.batch().oversized;
        fail_oversized(*std::find_if(oversized.begin(), oversized.end(),
                                     [&](const auto &each) { return each.index == index; }));
        ++progress.failed;
        return;
    }
    failures_.enter(record);
    const Mark before = here();
    PayloadOutcome outcome;
    if (!died_of_it) {
        mark.in_hand = index + 1;
        std::atomic_signal_fence(std::memory_order_seq_cst); // order: a death sees it in time
        outcome = call_payload(record);
    }
    if (died_of_it || outcome.batch_failed) {
        back_to(before);
        failures_.record_failed(0, died_of_it ? describe_death(mark) : note_of(outcome));
        payload_.stand_in_for_failed(*output_);
        if (payload_.add_lengths(lengths_))
            knows_lengths_ = true;
        ++progress.failed;
        return;
    }
    progress.emitted += outcome.emitted;
    progress.filtered += outcome.filtered;
    progress.failed += outcome.failed;
}

// One more record is dealt with. False: no memory for what it left.
bool BatchWorker::step(ring::IsolationMark &mark, ring::IsolationProgress progress) {
    for (const record::FailureNote &note : failures_.take()) {
        if (order_.keep_notes == KeepNotes::lowest && progress.note_bytes > 0)
            break;
        std::vector<std::byte> encoded(record::encoded_bytes(note));
        record::encode(note, encoded.data());
        if (!outputs_.isolation->add_note(encoded))
            return false;
        progress.note_bytes = outputs_.isolation->note_bytes();
    }
    for (const std::uint32_t length : lengths_)
        if (!outputs_.isolation->set_length(progress.lengths++, length))
            return false;
    progress.output_bytes = output_->committed().size();
    os::crash_point("before step");
    mark.progress[(mark.next + 1) % 2] = progress;
    std::atomic_signal_fence(std::memory_order_seq_cst); // order: all of it, then the step
    mark.spared = 0;
    mark.next = mark.next + 1;
    os::crash_point("stepped");
    return true;
}

// Output must be framed like the input, or batches would run into each other.
void BatchWorker::check_output(BatchResult &result) {
    if (result.failed > 0)
        result.fault = Fault::record;
    if (knows_lengths_) {
        result.output_records = lengths_.size();
        // Such a payload ends every record, also one that the input leaves open.
        result.delimiter_added = reader_.batch().delimiter_added || reader_.batch().ends_open;
        return;
    }
    // The last bytes alone deceive where a delimiter overlaps itself and the input ends open.
    const bool whole = reader_.batch().ends_open
                           ? record::scan_records(output_->committed(), order_.framing).whole
                           : record::ends_whole(output_->committed(), order_.framing);
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
            record::scan_records(output_->committed(), order_.framing).count;
}

void BatchWorker::fail_batch(BatchResult &result, Fault fault, record::FailureNote note) {
    output_->abandon();
    lengths_.clear();
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
