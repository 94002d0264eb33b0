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
constexpr std::uint64_t kSpooledAheadBytes = 8 * kMiB; // of fixed batches: stays in the L3 cache
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

Ingress::Ingress(RunState state, const Sources &sources, const ItemFeed *items,
                 const RunOptions &options, const IngressLimits &limits,
                 record::SourceTable &table)
    : state_(state), sources_(sources), items_(items), options_(options), limits_(limits),
      table_(table), publisher_(state, publish_limits(limits)),
      ring_entries_(state.header().entries), sizer_(sizer_limits(limits)),
      opened_(std::min(table.size(), source_slots())) {
    state.header().publisher_is_egress.store(1);
}

// While the sizer adapts, and near the end, few batches lie ready, so that its decisions take
// effect at once. Otherwise many do: one wake of this thread then serves many claims.
std::uint32_t Ingress::look_ahead() {
    const std::uint32_t workers = limits_.workers;
    if (items_)
        return kLookAheadAdapting * workers;
    if (fixed_batches(options_) && current_ == Current::stream && spooled_batches_ > 0) {
        const std::uint64_t batch_bytes = std::max<std::uint64_t>(spooled_bytes_ / spooled_batches_, 1);
        const std::uint64_t least = std::uint64_t{kLookAheadAdapting} * workers;
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(std::max(least, kSpooledAheadBytes / batch_bytes), ring_entries_));
    }
    if (fixed_batches(options_))
        return ring_entries_;
    if (current_ == Current::stream)
        return kLookAheadAdapting * workers; // nobody knows how many are left
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
        feed_->reclaim(publisher_, SpoolFeed::Look::quick);
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
        const CutSize size{options_.batch_records.value_or(0), *next_bytes(),
                           fixed_batches(options_)};
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
    spooled_batches_ += spooled != nullptr;
    spooled_bytes_ += spooled ? input.end - input.begin : 0;
    const auto home = spooled ? static_cast<std::uint16_t>(feed_->node(*spooled)) : ring::kNoHome;
    publisher_.publish(of_current(input, spooled), input.end - input.begin, home);
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

} // namespace gristmill::input
