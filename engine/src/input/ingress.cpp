#include "input/ingress.hpp"

#include <algorithm>
#include <utility>

#include "os/fd_io.hpp"
#include "os/os_error.hpp"
#include "record/delimiter_scan.hpp"

namespace gristmill::input {

using ring::BatchInput;
using ring::BatchKind;

namespace {

bool fixed_batches(const RunOptions &options) {
    return options.batch_records || options.batch_bytes;
}

constexpr std::uint32_t kLookAheadAdapting = 2; // ready batches per worker (rule R5)
constexpr std::uint32_t kLookAheadSettled = 8;
constexpr std::uint64_t kItemsMax = 65536; // of one batch

ring::PublishLimits publish_limits(const IngressLimits &limits) {
    ring::PublishLimits publish;
    publish.look_ahead = kLookAheadAdapting * limits.workers;
    publish.input_bytes = limits.input_bytes;
    return publish;
}

ring::SizerLimits sizer_limits(const IngressLimits &limits) {
    ring::SizerLimits sizer;
    sizer.workers = limits.workers;
    sizer.batch_bytes_max = limits.batch_bytes_max;
    sizer.output_bytes_max = limits.output_bytes_max;
    if (limits.batch_wall_ns > 0)
        sizer.wall_ns_target = limits.batch_wall_ns;
    return sizer;
}

} // namespace

std::uint16_t source_slots() {
    return static_cast<std::uint16_t>(
        std::clamp<std::uint64_t>(os::descriptor_limit() / 4, 1, record::kSourceSlotsMax));
}

Ingress::Ingress(RunState state, const std::vector<std::string> &paths, const ItemFeed *items,
                 const RunOptions &options, const IngressLimits &limits,
                 record::SourceTable &table)
    : paths_(paths), items_(items), options_(options), table_(table),
      publisher_(state, publish_limits(limits)), sizer_(sizer_limits(limits)), workers_(limits.workers),
      ring_entries_(state.header().entries), opened_(std::min(table.size(), source_slots())) {}

bool Ingress::needs_cutter() const {
    switch (options_.framing.kind) {
    case Framing::Kind::delimiter:
        return options_.batch_records || record::has_border(options_.framing.delimiter);
    case Framing::Kind::fixed:
        return false;
    case Framing::Kind::u32le:
        return true;
    }
    return true;
}

// While the sizer adapts, and near the end, few batches lie ready, so that its decisions take
// effect at once. Otherwise many do: one wake of this thread then serves many claims.
std::uint32_t Ingress::look_ahead() const {
    if (items_)
        return kLookAheadAdapting * workers_; // nobody knows how many are left
    if (fixed_batches(options_))
        return ring_entries_;
    const std::uint64_t left = whole_bytes_ - std::min(whole_bytes_, position_);
    const std::uint64_t ahead = std::uint64_t{kLookAheadSettled} * workers_;
    if (sizer_.settled() && left > (ahead + 2 * std::uint64_t{workers_}) * sizer_.target_bytes())
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(ahead, ring_entries_ / 2));
    return kLookAheadAdapting * workers_;
}

void Ingress::pump() {
    if (!finished_)
        publisher_.set_look_ahead(look_ahead());
    while (!finished_ && publish_next()) {
    }
    publisher_.flush();
}

bool Ingress::wants_to_publish() {
    if (finished_)
        return false;
    const std::optional<std::uint64_t> bytes = next_bytes();
    return bytes && publisher_.wants_to_publish(*bytes);
}

// Size of the batch that comes next; nullopt while no file can be opened for it.
std::optional<std::uint64_t> Ingress::next_bytes() {
    if (items_)
        return options_.batch_bytes ? *options_.batch_bytes : sizer_.target_bytes();
    if (!source_open_)
        return free_slot() ? std::optional<std::uint64_t>(1) : std::nullopt;
    const std::uint64_t left = whole_bytes_ - std::min(whole_bytes_, position_);
    std::uint64_t bytes = options_.batch_bytes ? *options_.batch_bytes : sizer_.next_bytes(left);
    if (options_.framing.kind == Framing::Kind::fixed) {
        const std::uint64_t record_bytes = options_.framing.record_bytes;
        bytes = options_.batch_records ? *options_.batch_records * record_bytes
                                       : std::max(bytes / record_bytes, std::uint64_t{1}) * record_bytes;
    }
    return std::min(bytes, left);
}

// One step: opens a file, publishes a batch, or ends a file. False: not now.
bool Ingress::publish_next() {
    if (items_)
        return publish_items();
    if (!source_open_)
        return open_next();
    if (position_ >= whole_bytes_) {
        if (whole_bytes_ < current().file.bytes && !publisher_.window_open())
            return false; // the failure that follows needs an entry
        end_source();
        return true;
    }
    const std::uint64_t bytes = *next_bytes();
    if (!publisher_.may_publish(bytes))
        return false;
    return cutter_ ? publish_cut() : publish_arithmetic(bytes);
}

std::optional<std::uint16_t> Ingress::free_slot() const {
    for (std::uint16_t slot = 0; slot < opened_.size(); ++slot)
        if (!opened_[slot].in_use)
            return slot;
    return std::nullopt;
}

bool Ingress::open_next() {
    const std::size_t index = source_bytes_.size();
    if (index == paths_.size()) {
        publisher_.end();
        finished_ = true;
        return false;
    }
    const std::optional<std::uint16_t> slot = free_slot();
    if (!slot || !publisher_.window_open()) // an error needs an entry, too
        return false;
    Result<FileSource> file = open_file_source(paths_[index]);
    source_bytes_.push_back(0);
    if (!file) {
        fail(std::move(file.error()));
        return false;
    }
    slot_ = *slot;
    source_bytes_.back() = file->bytes;
    opened_[slot_] = {std::move(*file), 0, true, false};
    table_.set(slot_, current().file.fd.get(), current().file.bytes);
    if (current().file.fd.valid())
        os::advise_sequential(current().file.fd.get());
    position_ = 0;
    whole_bytes_ = current().file.bytes;
    if (options_.framing.kind == Framing::Kind::fixed)
        whole_bytes_ = round_down(whole_bytes_, options_.framing.record_bytes);
    cutter_.reset();
    if (needs_cutter())
        cutter_.emplace(current().file.fd.get(), current().file.bytes, options_.framing,
                        options_.max_record_bytes, options_.test_read_bytes);
    if (paths_.size() == 1)
        sizer_.begin_source(current().file.bytes);
    source_open_ = true;
    return true;
}

// The file that items go through takes the place of a source that was opened.
bool Ingress::begin_items() {
    source_bytes_.push_back(0);
    Result<ItemFile> file = ItemFile::create();
    if (!file) {
        fail(std::move(file.error()));
        return false;
    }
    item_file_ = std::move(*file);
    opened_[0].in_use = true;
    // It grows while workers read from it; they are told how far each time.
    constexpr std::uint64_t any_bytes = std::uint64_t{1} << 62;
    table_.set(0, item_file_->fd(), any_bytes);
    sizer_.begin_source(1);
    return true;
}

// One batch of items, as many as are worth one.
bool Ingress::publish_items() {
    if (!publisher_.window_open() || !publisher_.may_publish(*next_bytes()))
        return false;
    if (!item_file_ && !begin_items())
        return false;
    Result<ItemChunk> chunk =
        items_->pull(options_.batch_records.value_or(kItemsMax), *next_bytes());
    if (chunk && !chunk->frames.empty())
        if (Result<void> kept = item_file_->append(chunk->frames); !kept)
            chunk = kept.error();
    if (!chunk) {
        fail(std::move(chunk.error()));
        return false;
    }
    if (chunk->records > 0) {
        BatchInput input;
        input.kind = BatchKind::exact;
        input.begin = position_;
        input.end = position_ = source_bytes_.back() = item_file_->bytes();
        input.record_count = chunk->records;
        publish(input);
    }
    if (chunk->end) {
        publisher_.end();
        finished_ = true;
    }
    return !finished_;
}

bool Ingress::publish_arithmetic(std::uint64_t bytes) {
    BatchInput input;
    input.begin = position_;
    input.end = position_ + bytes;
    if (options_.framing.kind == Framing::Kind::fixed) {
        input.kind = BatchKind::exact;
        input.record_count = bytes / options_.framing.record_bytes;
    }
    position_ = input.end;
    publish(input);
    return true;
}

bool Ingress::publish_cut() {
    const CutSize size{options_.batch_records.value_or(0), *next_bytes()};
    Cut cut;
    switch (cutter_->next(size, cut)) {
    case CutStatus::end:
        position_ = whole_bytes_;
        return true;
    case CutStatus::failed: {
        const SequentialCutter::Failure &failure = cutter_->failure();
        const std::string &path = paths_[source_bytes_.size() - 1];
        const std::string where = " (at byte " + std::to_string(failure.offset) + ")";
        if (failure.os_errno != 0)
            fail(os::errno_error(ErrorKind::source, failure.os_errno,
                                 "cannot read '" + path + "'" + where, path));
        else
            fail({ErrorKind::source, "'" + path + "' " + failure.reason + where, path});
        return false;
    }
    case CutStatus::cut:
        break;
    }
    position_ = cut.end;
    BatchInput input;
    input.kind = cut.oversized_bytes > 0 ? BatchKind::oversized : BatchKind::exact;
    input.begin = cut.begin;
    input.end = cut.end;
    input.record_count = cut.record_count;
    input.record_bytes = cut.oversized_bytes;
    if (cut.oversized_bytes > 0)
        publish_oversized(input);
    else
        publish(input);
    return true;
}

void Ingress::publish(const BatchInput &input) {
    BatchInput complete = input;
    complete.source_slot = slot_;
    complete.source = static_cast<std::uint32_t>(source_bytes_.size() - 1);
    ++current().batches_out;
    publisher_.publish(complete, input.end - input.begin, ring::kNoHome);
}

// Nobody needs to work on it: it has failed already.
void Ingress::publish_oversized(const BatchInput &input) {
    BatchInput complete = input;
    complete.source_slot = slot_;
    complete.source = static_cast<std::uint32_t>(source_bytes_.size() - 1);
    ring::BatchResult result;
    result.fault = ring::Fault::record;
    result.begin = input.begin;
    result.end = input.end;
    result.read = result.failed = 1;
    ++current().batches_out;
    publisher_.publish_done(complete, result);
}

void Ingress::end_source() {
    const std::string &path = paths_[source_bytes_.size() - 1];
    const std::uint64_t partial = current().file.bytes - whole_bytes_;
    source_open_ = false;
    current().divided = true;
    close_if_done(slot_);
    if (partial > 0)
        fail({ErrorKind::source,
              "'" + path + "' ends with a partial record: " + std::to_string(partial) + " of " +
                  std::to_string(options_.framing.record_bytes) + " bytes (at byte " +
                  std::to_string(whole_bytes_) + ")",
              path});
}

// The failure takes its place in the order, and is the last thing published.
void Ingress::fail(Error error) {
    failure_ = std::move(error);
    BatchInput input;
    input.kind = BatchKind::source_error;
    input.source = static_cast<std::uint32_t>(source_bytes_.size() - 1);
    publisher_.publish_done(input, {});
    publisher_.end();
    finished_ = true;
}

void Ingress::batch_retired(const BatchInput &input, const ring::BatchResult &result) {
    sizer_.observe({result.read, result.end - result.begin, result.output.bytes, result.wall_ns});
    if (input.kind == BatchKind::source_error)
        return;
    --opened_[input.source_slot].batches_out;
    if (item_file_)
        item_file_->release(input.begin, input.end);
    close_if_done(input.source_slot);
}

void Ingress::close_if_done(std::uint16_t slot) {
    Opened &opened = opened_[slot];
    if (opened.in_use && opened.divided && opened.batches_out == 0)
        opened = {};
}

} // namespace gristmill::input
