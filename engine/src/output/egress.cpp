#include "output/egress.hpp"

#include <algorithm>
#include <utility>

#include "record/failure_note.hpp"

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

} // namespace

Egress::Egress(RunState state, EgressParts parts)
    : state_(state), parts_(std::move(parts)),
      retirer_(state, retire_order(parts_.options.order), false), report_(parts_.plan) {}

std::uint64_t Egress::retire() {
    if (error_)
        return 0;
    return retirer_.retire([this](std::uint64_t sequence, RunState::Entry &entry) {
        return deliver(sequence, entry);
    });
}

// One batch leaves. False: the run ends behind it.
bool Egress::deliver(std::uint64_t sequence, RunState::Entry &entry) {
    const std::uint32_t worker = ring::StateWord::unpack(entry.state.load()).worker;
    const BatchResult &result = entry.result;
    const auto view = parts_.outputs.view(worker, result.output);
    if (!view) {
        Error error;
        error.kind = ErrorKind::memory;
        error.message = "the output of batch " + std::to_string(sequence) + " cannot be reached";
        return stop(std::move(error));
    }
    if (parts_.options.order == Order::none) {
        records_of_batch_.resize(std::max(records_of_batch_.size(), sequence + 1));
        records_of_batch_[sequence] = result.read;
    }
    if (!coverage_.add(entry.input.source, result.begin, result.end))
        covered_twice_ = true;
    const bool goes_on = judge(sequence, entry, *view);
    parts_.outputs.release(worker, result.output);
    if (parts_.listener)
        parts_.listener(entry.input, result);
    return goes_on;
}

// What became of the batch decides what is delivered, and whether the run goes on.
bool Egress::judge(std::uint64_t sequence, RunState::Entry &entry,
                   const store::OutputView &view) {
    const BatchInput &input = entry.input;
    const BatchResult &result = entry.result;
    if (input.kind == BatchKind::source_error)
        return stop(parts_.sources.failure(input.source));
    if (result.fault == Fault::none)
        return hand_over(sequence, entry, view.output);
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
        return stop(plugin_error(sequence, input, result, note.reason));
    }
    return add_failure(sequence, input, note, true) && hand_over(sequence, entry, {});
}

// Descriptions of the failed records: the worker's, or one made here for what no worker saw.
std::vector<record::FailureNote> Egress::notes_of(const RunState::Entry &entry,
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

bool Egress::judge_records(std::uint64_t sequence, const RunState::Entry &entry,
                           const store::OutputView &view) {
    const std::vector<record::FailureNote> notes = notes_of(entry, view);
    if (parts_.options.on_error != OnError::raise) {
        for (const record::FailureNote &note : notes)
            if (!add_failure(sequence, entry.input, note, false))
                return false;
        return hand_over(sequence, entry, view.output);
    }
    record::FailureNote lowest;
    if (!notes.empty())
        lowest = notes.front();
    else // a plugin may count failures without naming them
        lowest.reason = "the plugin failed records of this batch without naming them";
    const std::uint64_t before = std::min<std::uint64_t>(lowest.output_before, view.output.size());
    RecordFailure failure = describe(entry.input, lowest);
    RetiredBatch retired;
    retired.output = {sequence, entry.input.source, entry.result.begin,
                      view.output.first(before), 0, false};
    if (Result<void> delivered = parts_.sink.deliver(retired); !delivered) {
        report_.add_discarded(entry.result);
        return stop(delivered.error());
    }
    report_.add_partly_delivered(entry.result, before);
    Error error = record_error(failure);
    error.record = std::move(failure);
    return stop(std::move(error));
}

bool Egress::hand_over(std::uint64_t sequence, const RunState::Entry &entry, ByteView data) {
    const BatchResult &result = entry.result;
    RetiredBatch retired;
    retired.output = {sequence, entry.input.source,    result.begin,
                      data,     result.output_records, result.ends_open};
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
    if (whole_batch)
        failure.type = "PluginError";
    if (parts_.dead_letters) {
        std::vector<std::byte> record;
        const std::uint64_t bytes = whole_batch ? input.end - input.begin : note.record_bytes;
        ByteView whole = bytes_of(note.excerpt);
        if (whole.size() < bytes) {
            record = parts_.sources.bytes_of(input.source_slot, note.byte_offset, bytes);
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
    failure.type = "RecordError";
    failure.reason = note.reason;
    failure.excerpt = note.excerpt.substr(0, kExcerptShown);
    if (failure.excerpt.empty() && note.record_bytes > 0) // too long for any worker to hold
        failure.excerpt = text_of(parts_.sources.bytes_of(
            input.source_slot, note.byte_offset,
            std::min<std::uint64_t>(note.record_bytes, kExcerptShown)));
    return failure;
}

Error Egress::record_error(const RecordFailure &failure) const {
    Error error;
    error.kind = ErrorKind::record;
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
                           const BatchResult &result, const std::string &reason) const {
    Error error;
    error.kind = ErrorKind::plugin;
    error.path = parts_.sources.name(input.source);
    error.message = "batch " + std::to_string(sequence) + " (" + std::to_string(result.read) +
                    " records, bytes " + std::to_string(result.begin) + " to " +
                    std::to_string(result.end) + " of '" + error.path + "'): " + reason;
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
