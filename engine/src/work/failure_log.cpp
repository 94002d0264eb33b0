#include "work/failure_log.hpp"

#include <algorithm>
#include <utility>

#include "record/framing_rules.hpp"

namespace gristmill::work {

void FailureLog::begin(const record::BatchView &batch, const store::OutputArea &output) {
    batch_ = &batch;
    output_ = &output;
    segment_ = nullptr;
    notes_.clear();
}

void FailureLog::record_failed(std::uint64_t index, std::string_view reason) {
    record::FailureNote note;
    note.reason = reason;
    record_failed(index, std::move(note));
}

bool FailureLog::wants_note(std::uint64_t index) const {
    if (keep_ == KeepNotes::none)
        return false;
    return keep_ == KeepNotes::all || notes_.empty() ||
           notes_[0].index > segment_->first_record + index;
}

void FailureLog::record_failed(std::uint64_t index, record::FailureNote note) {
    if (!wants_note(index))
        return;
    const std::uint64_t in_batch = segment_->first_record + index;
    const ByteView data =
        batch_->data.subspan(segment_->begin, segment_->end - segment_->begin);
    note.index = in_batch;
    note.output_before = output_->committed().size();
    if (const auto found = record::find_record(data, framing_, index)) {
        note.byte_offset = batch_->begin + segment_->begin + found->begin;
        note.record_bytes = found->end - found->begin;
        note.excerpt = text_of(data.subspan(
            found->begin, std::min(note.record_bytes, record::kExcerptBytesMax)));
    }
    add(std::move(note));
}

void FailureLog::add_oversized(const record::OversizedRecord &oversized,
                               std::uint64_t max_record_bytes) {
    record::FailureNote note;
    note.index = oversized.index;
    note.byte_offset = oversized.byte_offset;
    note.record_bytes = oversized.bytes;
    note.output_before = output_->committed().size();
    note.reason = "record of " + std::to_string(oversized.bytes) + " bytes is longer than max_record (" +
                  std::to_string(max_record_bytes) + " bytes)";
    add(std::move(note));
}

void FailureLog::replace_by(record::FailureNote note) {
    notes_.clear();
    notes_.push_back(std::move(note));
}

void FailureLog::add(record::FailureNote note) {
    if (keep_ == KeepNotes::none)
        return;
    if (keep_ == KeepNotes::lowest && !notes_.empty()) {
        if (note.index < notes_[0].index)
            notes_[0] = std::move(note);
        return;
    }
    notes_.push_back(std::move(note));
}

std::uint64_t FailureLog::write(store::OutputArea &output) {
    std::stable_sort(notes_.begin(), notes_.end(),
                     [](const auto &a, const auto &b) { return a.index < b.index; });
    std::uint64_t written = 0;
    for (const record::FailureNote &note : notes_) {
        const std::uint64_t bytes = record::encoded_bytes(note);
        std::byte *room = output.reserve(bytes);
        if (!room)
            break;
        record::encode(note, room);
        output.commit(bytes);
        written += bytes;
    }
    return written;
}

} // namespace gristmill::work
