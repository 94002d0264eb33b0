#include "output/egress.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "record/failure_note.hpp"
#include "record/framing_rules.hpp"

namespace gristmill::output {

using ring::BatchInput;
using ring::BatchKind;
using ring::BatchResult;
using ring::Fault;

namespace {

ring::RetireOrder retire_order(Order order) {
    return order == Order::index ? ring::RetireOrder::index : ring::RetireOrder::none;
}

constexpr std::size_t kExcerptShown = 256;
constexpr std::uint64_t kWorthAWakeNs = 2'000'000;
constexpr std::uint64_t kAheadMax = 8;
constexpr std::uint64_t kDeadLetterBytesMax = std::uint64_t{1} << 31;

// Deaths and timeouts are errors of their own kind; everything else is `otherwise`.
ErrorKind kind_of(const std::string &type, ErrorKind otherwise) {
    if (type == "WorkerCrashed")
        return ErrorKind::crashed;
    return type == "PayloadTimeout" ? ErrorKind::timeout : otherwise;
}

// Of the records in the first `bytes` of a batch's output.
ByteView lengths_within(std::uint64_t bytes, ByteView lengths, const Framing &framing) {
    std::uint64_t frame_bytes = 0;
    if (framing.kind == Framing::Kind::delimiter)
        frame_bytes = framing.delimiter.size();
    else if (framing.kind == Framing::Kind::u32le)
        frame_bytes = record::kFrameHeaderBytes;
    std::uint64_t at = 0;
    std::size_t end = 0;
    for (std::uint32_t length = 0; end < lengths.size(); end += sizeof length) {
        std::memcpy(&length, lengths.data() + end, sizeof length);
        if (at + length + frame_bytes > bytes)
            break;
        at += length + frame_bytes;
    }
    return lengths.first(end);
}

} // namespace

Egress::Egress(RunState state, EgressParts parts)
    : state_(state), parts_(std::move(parts)),
      retirer_(state, retire_order(parts_.options.order), parts_.one_by_one), report_(parts_.plan) {}

// The output of the batch delivered last goes back to its worker.
void Egress::let_go() {
    if (held_)
        parts_.outputs.release(held_->worker, held_->output);
    held_.reset();
}

std::uint64_t Egress::retire() {
    let_go();
    if (error_)
        return 0;
    return retirer_.retire([this](std::uint64_t sequence, RunState::Entry &entry) {
        return deliver(sequence, entry);
    });
}

// Batches that take long are worth a wake each.
bool Egress::prepare_target(bool impatient) {
    const std::uint64_t ahead = kWorthAWakeNs / std::max<std::uint64_t>(batch_wall_ns_, 1);
    retirer_.set_ahead(impatient ? 0 : std::min<std::uint64_t>(ahead, kAheadMax));
    return retirer_.prepare_target();
}

// One batch leaves. False: the run ends behind it.
bool Egress::deliver(std::uint64_t sequence, const RunState::Entry &in_ring) {
    const std::uint32_t worker = ring::StateWord::unpack(in_ring.state.load()).worker;
    const Taken entry{in_ring.input, in_ring.result};
    const BatchResult &result = entry.result;
    const auto view = parts_.outputs.view(worker, result.output);
    if (!view) {
        report_.add_discarded(result);
        return stop(lost_output_error(sequence, result.output.place));
    }
    if (parts_.options.order == Order::none) {
        records_of_batch_.resize(std::max(records_of_batch_.size(), sequence + 1));
        records_of_batch_[sequence] = result.read;
    }
    if (!coverage_.add(entry.input.source, result.begin, result.end))
        covered_twice_ = true;
    const bool goes_on = judge(sequence, entry, *view);
    batch_wall_ns_ = (3 * batch_wall_ns_ + result.wall_ns) / 4;
    held_ = Held{worker, result.output};
    if (!parts_.one_by_one)
        let_go();
    if (parts_.listener)
        parts_.listener(entry.input, result);
    return goes_on && !parts_.one_by_one;
}

Error Egress::lost_output_error(std::uint64_t sequence, OutputPlace place) const {
    Error error;
    const std::string batch = "the output of batch " + std::to_string(sequence);
    if (place == OutputPlace::lost || place == OutputPlace::collection) {
        error.kind = ErrorKind::memory;
        error.message = batch + " found no memory; write it to a file with gm.run(output=...)";
    } else {
        error.kind = ErrorKind::crashed;
        error.message = batch + " cannot be reached: its worker's memory is spoilt, or there is no "
                                "memory to map it";
    }
    return error;
}

// What became of the batch decides what is delivered, and whether the run goes on.
bool Egress::judge(std::uint64_t sequence, const Taken &entry,
                   const store::OutputView &view) {
    const BatchInput &input = entry.input;
    const BatchResult &result = entry.result;
    if (input.kind == BatchKind::source_error)
        return stop(parts_.sources.failure(input.source));
    if (result.fault == Fault::none)
        return hand_over(sequence, entry, view);
    if (result.fault == Fault::record)
        return judge_records(sequence, entry, view);

    const auto notes = record::decode_notes(view.faults);
    const record::FailureNote note = notes && !notes->empty() ? notes->front()
                                                              : record::FailureNote{};
    if (result.fault == Fault::source) {
        report_.add_discarded(result);
        return stop(source_error(input, note));
    }
    if (result.fault == Fault::memory) {
        report_.add_discarded(result);
        Error error;
        error.kind = ErrorKind::memory;
        error.message = "no memory for batch " + std::to_string(sequence) + " of '" +
                        parts_.sources.name(input.source) +
                        "'; use fewer workers, or smaller batches (batch_bytes=)";
        return stop(std::move(error));
    }
    if (parts_.options.on_error == OnError::raise) {
        report_.add_discarded(result);
        return stop(plugin_error(sequence, input, result, note));
    }
    return add_failure(sequence, input, note, true) && hand_over(sequence, entry, {});
}

// Descriptions of the failed records: the worker's, or one made here for what no worker saw.
std::vector<record::FailureNote> Egress::notes_of(const Taken &entry,
                                                  const store::OutputView &view) const {
    if (entry.input.kind != BatchKind::oversized)
        return record::decode_notes(view.faults).value_or(std::vector<record::FailureNote>{});
    record::FailureNote note;
    note.byte_offset = entry.input.begin;
    note.record_bytes = entry.input.record_bytes;
    note.reason = "record of " + std::to_string(note.record_bytes) +
                  " bytes is longer than max_record (" +
                  std::to_string(parts_.options.max_record_bytes) + " bytes)";
    return {note};
}

bool Egress::judge_records(std::uint64_t sequence, const Taken &entry,
                           const store::OutputView &view) {
    const std::vector<record::FailureNote> notes = notes_of(entry, view);
    if (parts_.options.on_error != OnError::raise) {
        for (const record::FailureNote &note : notes)
            if (!add_failure(sequence, entry.input, note, false))
                return false;
        return hand_over(sequence, entry, view);
    }
    record::FailureNote lowest;
    if (!notes.empty())
        lowest = notes.front();
    else // a plugin may count failures without naming them
        lowest.reason = "the plugin failed records of this batch without naming them";
    const std::uint64_t before = std::min<std::uint64_t>(lowest.output_before, view.output.size());
    RecordFailure failure = describe(entry.input, lowest);
    RetiredBatch retired;
    retired.output.sequence = sequence;
    retired.output.source = entry.input.source;
    retired.output.byte_offset = entry.result.begin;
    retired.output.data = view.output.first(before);
    retired.output.lengths = lengths_within(before, view.lengths, parts_.options.framing);
    if (Result<void> delivered = parts_.sink.deliver(retired); !delivered) {
        report_.add_discarded(entry.result);
        return stop(delivered.error());
    }
    report_.add_partly_delivered(entry.result, before);
    Error error = record_error(failure);
    error.record = std::move(failure);
    return stop(std::move(error));
}

bool Egress::hand_over(std::uint64_t sequence, const Taken &entry,
                       const store::OutputView &view) {
    const BatchResult &result = entry.result;
    RetiredBatch retired;
    retired.output.sequence = sequence;
    retired.output.source = entry.input.source;
    retired.output.byte_offset = result.begin;
    retired.output.data = view.output;
    retired.output.lengths = view.lengths;
    retired.output.record_count = result.output_records;
    retired.output.ends_open = result.ends_open;
    retired.read = result.read;
    retired.delimiter_added = result.delimiter_added;
    retired.last_record_gave = result.last_record_gave;
    if (Result<void> delivered = parts_.sink.deliver(retired); !delivered) {
        report_.add_discarded(result);
        return stop(delivered.error());
    }
    report_.add_delivered(result);
    const auto &limit = parts_.options.max_errors;
    if (!limit || report_.failed() <= *limit)
        return true;
    Error error;
    error.kind = ErrorKind::too_many_errors;
    error.message = std::to_string(report_.failed()) +
                    " records failed, more than max_errors=" + std::to_string(*limit);
    return stop(std::move(error));
}

bool Egress::stop(Error error) {
    error_ = std::move(error);
    return false;
}

bool Egress::add_failure(std::uint64_t sequence, const BatchInput &input,
                         const record::FailureNote &note, bool whole_batch) {
    RecordFailure failure = describe(input, note);
    if (whole_batch && note.type.empty())
        failure.type = "PluginError";
    if (parts_.dead_letters) {
        std::vector<std::byte> record;
        // What a worker says is believed no further than memory goes.
        const std::uint64_t said = whole_batch ? input.end - input.begin : note.record_bytes;
        const std::uint64_t bytes = std::min(said, kDeadLetterBytesMax);
        ByteView whole = bytes_of(note.excerpt);
        if (whole.size() < bytes) {
            record = parts_.sources.bytes_of(input, note.byte_offset, bytes);
            whole = record;
        }
        if (Result<void> added = parts_.dead_letters->add(failure, whole); !added)
            return stop(added.error());
    }
    if (parts_.options.on_error == OnError::collect) {
        failures_.push_back(std::move(failure));
        if (parts_.options.order == Order::none)
            failure_batches_.push_back(sequence);
    }
    return true;
}

// Under order="none" the index within the batch is all there is until the run is complete.
RecordFailure Egress::describe(const BatchInput &input,
                               const record::FailureNote &note) const {
    const bool known = parts_.options.order == Order::index;
    RecordFailure failure;
    failure.source = parts_.sources.name(input.source);
    failure.byte_offset = note.byte_offset;
    failure.record_index = note.index + (known ? report_.read() : 0);
    failure.index_known = known;
    failure.type = note.type.empty() ? "RecordError" : note.type;
    failure.details = note.details;
    failure.original = note.original;
    failure.reason = note.reason;
    failure.excerpt = note.excerpt.substr(0, kExcerptShown);
    if (failure.excerpt.empty() && note.record_bytes > 0) // too long for any worker to hold
        failure.excerpt = text_of(parts_.sources.bytes_of(
            input, note.byte_offset,
            std::min<std::uint64_t>(note.record_bytes, kExcerptShown)));
    return failure;
}

Error Egress::record_error(const RecordFailure &failure) const {
    Error error;
    error.kind = kind_of(failure.type, ErrorKind::record);
    error.details = failure.details;
    error.path = failure.source;
    error.message = "record ";
    if (failure.index_known)
        error.message += std::to_string(failure.record_index) + " ";
    error.message += "of '" + failure.source + "' (byte " + std::to_string(failure.byte_offset) +
                     ") failed: " + (failure.reason.empty() ? "no reason given" : failure.reason);
    return error;
}

Error Egress::source_error(const BatchInput &input, const record::FailureNote &note) const {
    Error error;
    error.kind = ErrorKind::source;
    error.path = parts_.sources.name(input.source);
    error.os_errno = note.os_errno;
    error.message = "'" + error.path + "' " + note.reason;
    return error;
}

Error Egress::plugin_error(std::uint64_t sequence, const BatchInput &input,
                           const BatchResult &result, const record::FailureNote &note) const {
    Error error;
    error.kind = kind_of(note.type, ErrorKind::plugin);
    error.details = note.details;
    error.path = parts_.sources.name(input.source);
    error.message = "batch " + std::to_string(sequence) + " (" + std::to_string(result.read) +
                    " records, bytes " + std::to_string(result.begin) + " to " +
                    std::to_string(result.end) + " of '" + error.path + "'): " + note.reason;
    return error;
}

void Egress::discard_rest() {
    retirer_.discard([this](std::uint64_t, RunState::Entry &entry) {
        if (entry.input.kind != BatchKind::source_error)
            report_.add_discarded(entry.result);
    });
}

Result<void> Egress::check(const std::vector<std::uint64_t> &source_bytes, bool complete) const {
    if (Result<void> counts = report_.check(complete); !counts)
        return counts;
    bool covered = !covered_twice_;
    for (std::uint32_t i = 0; complete && i < source_bytes.size(); ++i)
        covered = covered && coverage_.complete(i, source_bytes[i]);
    if (covered)
        return {};
    Error error;
    error.kind = ErrorKind::accounting;
    error.message = "the batches of this run do not cover every byte of the input exactly once; "
                    "this is a bug of gristmill, please report it";
    return error;
}

std::vector<RecordFailure> Egress::take_failures() {
    // Now that all batches are known, so are the indices.
    std::vector<std::uint64_t> first(records_of_batch_.size() + 1, 0);
    for (std::size_t i = 0; i < records_of_batch_.size(); ++i)
        first[i + 1] = first[i] + records_of_batch_[i];
    for (std::size_t i = 0; i < failure_batches_.size(); ++i) {
        failures_[i].record_index += first[failure_batches_[i]];
        failures_[i].index_known = true;
    }
    return std::move(failures_);
}

} // namespace gristmill::output
