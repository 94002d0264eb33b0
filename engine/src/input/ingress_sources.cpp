// Ingress: which source is next, how it is opened, how it ends.
#include <algorithm>
#include <array>
#include <utility>

#include "input/ingress.hpp"
#include "os/fd_io.hpp"
#include "record/delimiter_scan.hpp"

namespace gristmill::input {

namespace {
constexpr std::uint64_t kReadOnceBytesMax = 128 * kKiB; // of a batch, going by the first records
constexpr std::uint64_t kItemSlotBytes = 256 * kKiB;
constexpr std::size_t kDecodersMax = 8; // compressed files at a time
constexpr std::uint64_t kSlotBytesMin = 64 * kKiB;
constexpr std::uint64_t kSlotBytesMax = 8 * kMiB;
} // namespace

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
    if (!opened->stream && reads_once(opened->file))
        opened->stream = ByteSource::of_file(
            os::InputDescriptor::own(std::move(opened->file.fd), opened->file.origin),
            opened->file.bytes, "'" + source_name() + "'");
    return opened->stream ? begin_stream(std::move(*opened->stream))
                          : begin_file(std::move(opened->file));
}

// Where records have to be counted anyway, and batches are small, what was read for that is handed
// over by the spool: then workers need no system call for a batch.
bool Ingress::reads_once(const FileSource &file) const {
    if (!options_.batch_records || options_.framing.kind != Framing::Kind::delimiter ||
        !file.fd.valid())
        return false;
    std::array<std::byte, 4 * kKiB> first;
    const std::int64_t got = os::pread_full(file.fd.get(), first, file.origin);
    const ByteView bytes(first.data(), static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
    const std::uint64_t records = record::count_delimiters(bytes, options_.framing.delimiter);
    return !bytes.empty() && *options_.batch_records <= records * kReadOnceBytesMax / bytes.size();
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

// Where there are several nodes a slot holds one batch, and a little of the next.
std::uint64_t Ingress::usual_slot_bytes() const {
    if (items_)
        return kItemSlotBytes;
    if (options_.batch_bytes && limits_.nodes.size() > 1)
        return *options_.batch_bytes + *options_.batch_bytes / 4;
    return std::max(limits_.batch_bytes_max, options_.batch_bytes.value_or(0));
}

Result<void> Ingress::make_feed() {
    if (feed_)
        return {};
    const std::uint64_t usual = usual_slot_bytes();
    const std::uint64_t room = std::min(limits_.input_bytes, os::file_bytes_limit());
    const std::uint64_t most = room / (2 * (std::uint64_t{limits_.workers} + 1));
    const std::uint64_t bytes = std::min(
        std::clamp(std::min(usual, most), kSlotBytesMin, kSlotBytesMax), room / 4);
    Result<SpoolFeed> feed = SpoolFeed::create(bytes, room, limits_.nodes);
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

void Ingress::close_if_done(std::uint16_t slot) {
    Opened &opened = opened_[slot];
    if (opened.in_use && opened.divided && opened.batches_out == 0)
        opened = {};
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

} // namespace gristmill::input
