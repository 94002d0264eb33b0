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
constexpr std::uint64_t kItemSlotBytes = 256 * kKiB;
constexpr std::size_t kDecodersMax = 8; // compressed files at a time
constexpr std::uint64_t kSlotBytesMin = 64 * kKiB;
constexpr std::uint64_t kSlotBytesMax = 8 * kMiB;

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

Ingress::Ingress(RunState state, const Sources &sources, const ItemFeed *items,
                 const RunOptions &options, const IngressLimits &limits,
                 record::SourceTable &table)
    : state_(state), sources_(sources), items_(items), options_(options), limits_(limits),
      table_(table), publisher_(state, publish_limits(limits)),
      ring_entries_(state.header().entries), sizer_(sizer_limits(limits)),
      opened_(std::min(table.size(), source_slots())) {
    state.header().publisher_is_egress.store(1);
}

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
std::uint32_t Ingress::look_ahead() {
    const std::uint32_t workers = limits_.workers;
    if (items_ || current_ == Current::stream)
        return kLookAheadAdapting * workers; // nobody knows how many are left
    if (fixed_batches(options_))
        return ring_entries_;
    const std::lock_guard lock(retired_mutex_);
    const std::uint64_t left = whole_bytes_ - std::min(whole_bytes_, position_);
    const std::uint64_t ahead = std::uint64_t{kLookAheadSettled} * workers;
    if (sizer_.settled() && left > (ahead + 2 * std::uint64_t{workers}) * sizer_.target_bytes())
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(ahead, ring_entries_ / 2));
    return kLookAheadAdapting * workers;
}

void Ingress::pump() {
    if (!finished_)
        publisher_.set_look_ahead(look_ahead());
    while (!finished_ && advance() == Step::went_on) {
    }
    publisher_.flush();
}

bool Ingress::wants_to_publish() {
    if (finished_ || wants_thread_)
        return false;
    if (failure_)
        return publisher_.window_open();
    if (spool_full_) {
        publisher_.ask_for_input();
        return feed_->reclaim(publisher_) > 0;
    }
    const std::optional<std::uint64_t> bytes = next_bytes();
    return bytes && publisher_.wants_to_publish(*bytes);
}

// Size of the batch that comes next; nullopt while no source can be opened for it.
std::optional<std::uint64_t> Ingress::next_bytes() {
    if (current_ == Current::none && !items_)
        return free_slot() ? std::optional<std::uint64_t>(1) : std::nullopt;
    const std::lock_guard lock(retired_mutex_);
    if (items_ || current_ == Current::stream)
        return options_.batch_bytes ? *options_.batch_bytes : sizer_.target_bytes();
    const std::uint64_t left = whole_bytes_ - std::min(whole_bytes_, position_);
    std::uint64_t bytes = options_.batch_bytes ? *options_.batch_bytes : sizer_.next_bytes(left);
    if (options_.framing.kind == Framing::Kind::fixed) {
        const std::uint64_t record_bytes = options_.framing.record_bytes;
        const std::uint64_t records = options_.batch_records.value_or(
            std::max(bytes / record_bytes, std::uint64_t{1}));
        bytes = std::min(records, left / record_bytes + 1) * record_bytes;
    }
    return std::min(bytes, left);
}

// Once it sleeps, a thread is woken for a group, not for every batch.
bool Ingress::may_publish(std::uint64_t bytes) {
    return waiting_ ? publisher_.wants_to_publish(bytes) : publisher_.may_publish(bytes);
}

// One step: opens a source, publishes a batch, or ends a source.
Ingress::Step Ingress::advance() {
    if (failure_)
        return fail(std::move(*failure_));
    if (feed_)
        feed_->reclaim(publisher_);
    if (items_)
        return publish_items();
    switch (current_) {
    case Current::none:
        return open_next();
    case Current::stream:
        return wants_thread_ ? Step::no_room : publish_spooled();
    case Current::file:
        break;
    }
    return position_ >= whole_bytes_ ? end_source() : publish_divided();
}

std::optional<std::uint16_t> Ingress::free_slot() {
    const std::lock_guard lock(retired_mutex_);
    for (std::uint16_t slot = 0; slot < opened_.size(); ++slot)
        if (!opened_[slot].in_use)
            return slot;
    return std::nullopt;
}

Ingress::Step Ingress::open_next() {
    const std::size_t index = source_bytes_.size();
    if (index == sources_.size())
        return end();
    const std::optional<std::uint16_t> slot = free_slot();
    if (!slot || !publisher_.window_open()) // an error needs an entry, too
        return Step::no_room;
    Result<OpenedSource> opened = take_opened(index);
    source_bytes_.push_back(0);
    if (!opened)
        return fail(std::move(opened.error()));
    slot_ = *slot;
    position_ = 0;
    if (opened->compressed_file)
        open_ahead();
    return opened->stream ? begin_stream(std::move(*opened->stream))
                          : begin_file(std::move(opened->file));
}

Result<OpenedSource> Ingress::take_opened(std::size_t index) {
    if (opened_ahead_.empty())
        return open_source(sources_[index]);
    Result<OpenedSource> opened = std::move(opened_ahead_.front());
    opened_ahead_.pop_front();
    return opened;
}

// Compressed files that come next are decoded at the same time, each as far as its share of the input
// budget goes.
void Ingress::open_ahead() {
    const std::size_t files = std::min<std::size_t>(limits_.workers, kDecodersMax);
    std::size_t next = source_bytes_.size() + opened_ahead_.size();
    for (; opened_ahead_.size() + 1 < files && next < sources_.size(); ++next) {
        if (!may_be_opened_early(sources_[next]))
            return;
        Result<OpenedSource> opened = open_source(sources_[next]);
        if (opened && opened->compressed_file) // without a thread it is decoded in its turn
            static_cast<void>(opened->stream->decode_ahead(limits_.input_bytes / (4 * files)));
        opened_ahead_.push_back(std::move(opened));
    }
}

void Ingress::use_slot(Opened opened, int fd, std::uint64_t bytes) {
    const std::lock_guard lock(retired_mutex_);
    opened_[slot_] = std::move(opened);
    opened_[slot_].in_use = true;
    table_.set(slot_, fd, bytes);
}

Ingress::Step Ingress::begin_file(FileSource file) {
    const int fd = file.fd.get();
    file_bytes_ = whole_bytes_ = source_bytes_.back() = file.bytes;
    origin_ = file.origin;
    use_slot({std::move(file)}, fd, file_bytes_);
    if (fd >= 0)
        os::advise_sequential(fd);
    if (options_.framing.kind == Framing::Kind::fixed)
        whole_bytes_ = round_down(whole_bytes_, options_.framing.record_bytes);
    cutter_.reset();
    if (needs_cutter())
        cutter_.emplace(fd, file_bytes_, origin_, options_.framing, options_.max_record_bytes,
                        options_.test_read_bytes);
    if (sources_.size() == 1) {
        const std::lock_guard lock(retired_mutex_);
        sizer_.begin_source(file_bytes_);
    }
    current_ = Current::file;
    return Step::went_on;
}

Result<void> Ingress::make_feed() {
    if (feed_)
        return {};
    const std::uint64_t usual = items_ ? kItemSlotBytes
                                       : std::max(limits_.batch_bytes_max,
                                                  options_.batch_bytes.value_or(0));
    const std::uint64_t room = std::min(limits_.input_bytes, os::file_bytes_limit());
    const std::uint64_t most = room / (2 * (std::uint64_t{limits_.workers} + 1));
    const std::uint64_t bytes = std::min(
        std::clamp(std::min(usual, most), kSlotBytesMin, kSlotBytesMax), room / 4);
    Result<SpoolFeed> feed = SpoolFeed::create(bytes, room);
    if (!feed)
        return feed.error();
    feed_.emplace(std::move(*feed));
    return {};
}

Ingress::Step Ingress::begin_stream(ByteSource stream) {
    if (Result<void> made = make_feed(); !made)
        return fail(std::move(made.error()));
    use_slot({}, feed_->fd(), record::kUnknownBytes);
    feed_->begin(std::move(stream), "'" + source_name() + "'", options_.framing,
                 options_.max_record_bytes, options_.test_read_bytes);
    current_ = Current::stream;
    wants_thread_ = !threaded_;
    return wants_thread_ ? Step::no_room : Step::went_on;
}

Ingress::Step Ingress::publish_divided() {
    const std::uint64_t bytes = *next_bytes();
    if (!may_publish(bytes))
        return Step::no_room;
    if (cutter_)
        return publish_cut();
    BatchInput input;
    input.begin = position_;
    input.end = position_ = position_ + bytes;
    if (options_.framing.kind == Framing::Kind::fixed) {
        input.kind = BatchKind::exact;
        input.record_count = bytes / options_.framing.record_bytes;
    }
    publish(input);
    return Step::went_on;
}

Ingress::Step Ingress::publish_cut() {
    const CutSize size{options_.batch_records.value_or(0), *next_bytes()};
    Cut cut;
    switch (cutter_->next(size, cut)) {
    case CutStatus::end:
        position_ = whole_bytes_;
        return Step::went_on;
    case CutStatus::failed: {
        const SequentialCutter::Failure &failure = cutter_->failure();
        const std::string &path = source_name();
        const std::string where = " (at byte " + std::to_string(failure.offset) + ")";
        if (failure.os_errno != 0)
            return fail(os::errno_error(ErrorKind::source, failure.os_errno,
                                        "cannot read '" + path + "'" + where, path));
        return fail({ErrorKind::source, "'" + path + "' " + failure.reason + where, path});
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
    return Step::went_on;
}

// A batch of what comes in order, once.
Ingress::Step Ingress::publish_spooled() {
    if (!pending_) {
        const CutSize size{options_.batch_records.value_or(0), *next_bytes()};
        SpooledCut cut;
        switch (feed_->next(size, flush_, cut)) {
        case SpooledSource::Next::cut:
            break;
        case SpooledSource::Next::wait_for_data:
            return Step::no_data;
        case SpooledSource::Next::wait_for_room:
            publisher_.ask_for_input();
            return feed_->reclaim(publisher_) > 0 ? Step::went_on : Step::no_room;
        case SpooledSource::Next::end:
            return end_source();
        case SpooledSource::Next::failed: {
            Error error = feed_->source().failure();
            error.path = source_name();
            source_bytes_.back() = feed_->source().bytes();
            return fail(std::move(error));
        }
        }
        pending_ = cut;
        flush_ = false;
        patience_ends_ns_ = 0;
    }
    const SpooledCut cut = *pending_;
    BatchInput input;
    input.kind = cut.record_bytes > 0 ? BatchKind::oversized : BatchKind::spooled;
    input.begin = cut.begin;
    input.end = cut.end;
    input.ends_source = cut.ends_source;
    input.record_bytes = cut.record_bytes;
    if (cut.record_bytes > 0 ? !publisher_.window_open() : !may_publish(cut.end - cut.begin))
        return Step::no_room;
    pending_.reset();
    if (cut.record_bytes > 0)
        publish_oversized(input, &cut);
    else
        publish(input, &cut);
    return Step::went_on;
}

// The spool takes the place of a source that was opened.
Result<void> Ingress::begin_items() {
    source_bytes_.push_back(0);
    if (Result<void> made = make_feed(); !made)
        return made;
    use_slot({}, feed_->fd(), record::kUnknownBytes);
    const std::lock_guard lock(retired_mutex_);
    sizer_.begin_source(1);
    return {};
}

// One batch of items, as many as are worth one.
Ingress::Step Ingress::publish_items() {
    if (!feed_)
        if (Result<void> begun = begin_items(); !begun)
            return fail(std::move(begun.error()));
    if (!publisher_.window_open() || !may_publish(pulled_ ? pulled_->frames.size() : *next_bytes()))
        return Step::no_room;
    if (!pulled_) {
        publisher_.flush(); // the next item may take its time
        Result<ItemChunk> chunk =
            items_->pull(options_.batch_records.value_or(kItemsMax), *next_bytes());
        if (!chunk)
            return fail(std::move(chunk.error()));
        pulled_ = std::move(*chunk);
    }
    if (pulled_->records > 0) {
        Result<std::optional<SpooledCut>> placed = feed_->place(pulled_->frames, position_);
        if (!placed)
            return fail(std::move(placed.error()));
        spool_full_ = !*placed;
        if (spool_full_) {
            publisher_.ask_for_input();
            spool_full_ = feed_->reclaim(publisher_) == 0;
            return spool_full_ ? Step::no_room : Step::went_on;
        }
        BatchInput input;
        input.kind = BatchKind::exact;
        input.begin = position_;
        input.end = position_ = source_bytes_.back() = (*placed)->end;
        input.record_count = pulled_->records;
        publish(input, &**placed);
    }
    const bool ended = pulled_->end;
    pulled_.reset();
    return ended ? end() : Step::went_on;
}

void Ingress::publish(const BatchInput &input, const SpooledCut *spooled) {
    publisher_.publish(of_current(input, spooled), input.end - input.begin, ring::kNoHome);
}

// Nobody needs to work on it: it has failed already.
void Ingress::publish_oversized(const BatchInput &input, const SpooledCut *spooled) {
    ring::BatchResult result;
    result.fault = ring::Fault::record;
    result.begin = input.begin;
    result.end = input.end;
    result.read = result.failed = 1;
    publisher_.publish_done(of_current(input, spooled), result);
    state_.header().egress_event.notify(); // no worker will
}

// A batch of the current source, that is published next.
BatchInput Ingress::of_current(BatchInput input, const SpooledCut *spooled) {
    input.source_slot = slot_;
    input.source = static_cast<std::uint32_t>(source_bytes_.size() - 1);
    input.origin = spooled ? spooled->origin : origin_;
    if (spooled)
        feed_->published(publisher_.published(), *spooled);
    const std::lock_guard lock(retired_mutex_);
    ++opened_[slot_].batches_out;
    return input;
}

Ingress::Step Ingress::end_source() {
    const std::uint64_t partial = current_ == Current::file ? file_bytes_ - whole_bytes_ : 0;
    if (partial > 0 && !publisher_.window_open())
        return Step::no_room; // the failure that follows needs an entry
    if (current_ == Current::stream) {
        source_bytes_.back() = feed_->source().bytes();
        feed_->end_source();
    }
    current_ = Current::none;
    {
        const std::lock_guard lock(retired_mutex_);
        opened_[slot_].divided = true;
        close_if_done(slot_);
    }
    if (partial == 0)
        return Step::went_on;
    const std::string &path = source_name();
    return fail({ErrorKind::source,
                 "'" + path + "' ends with a partial record: " + std::to_string(partial) + " of " +
                     std::to_string(options_.framing.record_bytes) + " bytes (at byte " +
                     std::to_string(whole_bytes_) + ")",
                 path});
}

// All is published.
Ingress::Step Ingress::end() {
    publisher_.end();
    finished_ = true;
    return Step::ended;
}

// The failure takes its place in the order, and is the last thing published; as soon as there is an
// entry for it.
Ingress::Step Ingress::fail(Error error) {
    failure_ = std::move(error);
    if (!publisher_.window_open())
        return Step::no_room;
    BatchInput input;
    input.kind = BatchKind::source_error;
    input.source = static_cast<std::uint32_t>(source_bytes_.size() - 1);
    publisher_.publish_done(input, {});
    return end();
}

const std::string &Ingress::source_name() const {
    return sources_[source_bytes_.size() - 1].path;
}

void Ingress::batch_retired(const BatchInput &input, const ring::BatchResult &result) {
    const std::lock_guard lock(retired_mutex_);
    sizer_.observe({result.read, result.end - result.begin, result.output.bytes, result.wall_ns});
    if (input.kind == BatchKind::source_error)
        return;
    --opened_[input.source_slot].batches_out;
    close_if_done(input.source_slot);
}

void Ingress::close_if_done(std::uint16_t slot) {
    Opened &opened = opened_[slot];
    if (opened.in_use && opened.divided && opened.batches_out == 0)
        opened = {};
}

} // namespace gristmill::input
