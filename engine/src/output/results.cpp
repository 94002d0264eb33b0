#include "output/results.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "os/output_file.hpp"
#include "record/framing_rules.hpp"

namespace gristmill {

void Results::State::count() {
    std::call_once(counted, [this] {
        first_record.assign(1, 0);
        for (OutputBatch &batch : batches) {
            batch.record_count = batch.lengths.empty()
                                     ? record::scan_records(batch.data, framing).count
                                     : batch.lengths.size() / sizeof(std::uint32_t);
            first_record.push_back(first_record.back() + batch.record_count);
        }
        report.output_records = first_record.back();
        offsets.resize(batches.size());
    });
}

std::uint64_t Results::State::byte_size() const {
    std::uint64_t bytes = 0;
    for (const OutputBatch &batch : batches)
        bytes += batch.data.size() +
                 (batch.ends_open && &batch != &batches.back() ? framing.delimiter.size() : 0);
    return bytes - (ends_without_delimiter ? framing.delimiter.size() : 0);
}

Results::Results(std::unique_ptr<State> state) : state_(std::move(state)) {}
Results::Results(Results &&) noexcept = default;
Results &Results::operator=(Results &&) noexcept = default;
Results::~Results() = default;

std::uint64_t Results::size() const {
    state_->count();
    return state_->first_record.back();
}
const std::vector<OutputBatch> &Results::batches() const {
    state_->count();
    return state_->batches;
}
const Report &Results::report() const {
    state_->count();
    return state_->report;
}
std::uint64_t Results::byte_size() const { return state_->byte_size(); }
const std::vector<RecordFailure> &Results::errors() const { return state_->errors; }

namespace {

// Bytes before a record, and behind it, that are its framing.
std::uint64_t bytes_before(const Framing &framing) {
    return framing.kind == Framing::Kind::u32le ? sizeof(std::uint32_t) : 0;
}
std::uint64_t bytes_behind(const Framing &framing) {
    return framing.kind == Framing::Kind::delimiter ? framing.delimiter.size() : 0;
}

std::uint32_t length_of(const OutputBatch &batch, std::uint64_t record) {
    std::uint32_t length = 0;
    std::memcpy(&length, batch.lengths.data() + record * sizeof length, sizeof length);
    return length;
}

// Where the framing of each record begins.
std::unique_ptr<std::vector<std::uint64_t>> record_starts(const OutputBatch &batch,
                                                          const Framing &framing) {
    auto starts = std::make_unique<std::vector<std::uint64_t>>();
    starts->reserve(batch.record_count);
    std::uint64_t position = 0;
    if (!batch.lengths.empty()) {
        for (std::uint64_t i = 0; i < batch.record_count; ++i) {
            starts->push_back(position);
            position += bytes_before(framing) + length_of(batch, i) + bytes_behind(framing);
        }
        return starts;
    }
    for (auto r = record::record_at(batch.data, framing, 0); r;
         r = record::record_at(batch.data, framing, position)) {
        starts->push_back(position);
        position = r->next;
    }
    return starts;
}

} // namespace

std::span<const std::byte> Results::operator[](std::uint64_t i) const {
    GM_CHECK(i < size());
    const auto &first = state_->first_record;
    const auto batch_index =
        std::size_t(std::upper_bound(first.begin(), first.end(), i) - first.begin() - 1);
    const OutputBatch &batch = state_->batches[batch_index];
    const std::uint64_t in_batch = i - first[batch_index];
    std::uint64_t position = 0;
    {
        const std::lock_guard lock(state_->mutex);
        auto &starts = state_->offsets[batch_index];
        if (!starts)
            starts = record_starts(batch, state_->framing);
        position = (*starts)[in_batch];
    }
    if (!batch.lengths.empty())
        return batch.data.subspan(position + bytes_before(state_->framing),
                                  length_of(batch, in_batch));
    const auto record = record::record_at(batch.data, state_->framing, position);
    return batch.data.subspan(record->begin, record->end - record->begin);
}

// Hands the bytes of the whole to `take`, piece by piece, until it returns false.
template <class Take>
void Results::State::for_each_piece(Take &&take) const {
    std::uint64_t left = byte_size();
    const auto give = [&](ByteView data) {
        const std::uint64_t bytes = std::min<std::uint64_t>(left, data.size());
        left -= bytes;
        return take(data.first(bytes));
    };
    for (const OutputBatch &batch : batches) {
        if (!give(batch.data))
            return;
        if (batch.ends_open && !give(bytes_of(framing.delimiter)))
            return;
    }
}

void Results::copy_to(std::span<std::byte> to) const {
    state_->for_each_piece([&](ByteView piece) {
        std::copy(piece.begin(), piece.end(), to.begin());
        to = to.subspan(piece.size());
        return true;
    });
}

Result<void> Results::write(const std::string &path) const {
    Result<os::OutputFile> file = os::OutputFile::create(path);
    if (!file)
        return file.error();
    Result<void> written;
    state_->for_each_piece([&](ByteView piece) {
        written = file->write(piece);
        return written.ok();
    });
    if (!written)
        return written;
    return file->commit();
}

} // namespace gristmill
