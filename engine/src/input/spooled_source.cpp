#include "input/spooled_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/fd_io.hpp"
#include "os/os_error.hpp"
#include "record/delimiter_scan.hpp"
#include "record/framing_rules.hpp"
#include "ring/batch_entry.hpp"

namespace gristmill::input {

namespace {
constexpr std::uint64_t kLeastRoomBytes = 16 * kKiB; // reading less at a time is not worth it
constexpr std::uint64_t kReadBytesMax = kMiB;
// Adjacent batches of a node, where they are small: no more than leaves every node some, within the ring.
constexpr std::uint64_t kTurnBytes = 256 * kKiB;
constexpr std::uint64_t kTurnBatches = 64;
constexpr std::uint64_t kNoLimitBytes = std::uint64_t{1} << 62; // nothing is as long
} // namespace

SpooledSource::SpooledSource(store::Spool &spool, ByteSource source, std::string name,
                             const Framing &framing, std::uint64_t max_record_bytes,
                             std::uint64_t read_bytes)
    : spool_(spool), source_(std::move(source)), name_(std::move(name)), framing_(framing),
      max_record_bytes_(std::min(max_record_bytes, kNoLimitBytes)), read_bytes_(read_bytes > 0 ? read_bytes : kReadBytesMax),
      walk_(framing) {}

SpooledSource::~SpooledSource() {
    if (slot_)
        spool_.release(*slot_);
}

SpooledSource::Next SpooledSource::next(const CutSize &size, bool flush, bool alone,
                                        SpooledCut &cut) {
    flush_pending_ = false;
    wanted_bytes_ = size.records == 0 ? size.bytes : 0;
    given_ = size.given;
    while (!skipped_) {
        if (slot_)
            if (const std::uint64_t bytes = whole(size, flush))
                return take(bytes, cut);
        if (failure_)
            return Next::failed;
        if (ended_)
            return finish();
        if (too_long()) {
            if (walk_.bytes() > 0)
                return take(walk_.bytes(), cut); // it will be found again, alone
            skipped_ = Skipped{slot_begin_ + cut_at_, uncut().size()};
            break;
        }
        if (failure_)
            continue;
        switch (make_room(alone)) {
        case Room::there:
            break;
        case Room::wait:
            return Next::wait_for_room;
        case Room::failed:
            continue;
        }
        if (fill() == Filled::nothing_yet) {
            flush_pending_ = !flush && size.records == 0 && whole(size, true) > 0;
            return Next::wait_for_data;
        }
    }
    return skip_oversized(alone, cut);
}

// Must records be walked one by one, or can the last whole one be found from behind?
bool SpooledSource::walks() const {
    return framing_.kind == Framing::Kind::u32le ||
           (framing_.kind == Framing::Kind::delimiter && record::has_border(framing_.delimiter));
}

// Is there no room that is worth reading into?
bool SpooledSource::full() const {
    const std::uint64_t left = spool_.capacity(*slot_) - filled_;
    return left == 0 || (left < kLeastRoomBytes && cut_at_ > 0);
}

// Bytes of the next batch; 0: not now. Fewer than wanted when nothing can be added to them.
std::uint64_t SpooledSource::whole(const CutSize &size, bool flush) {
    const ByteView data = uncut();
    if (data.empty())
        return 0;
    const bool complete = ended_ || failure_;
    const bool rest_too = ended_ && !failure_ && framing_.kind == Framing::Kind::delimiter;
    if (walks() || (size.records > 0 && framing_.kind == Framing::Kind::delimiter)) {
        const auto enough = [&] {
            return size.records > 0 ? walk_.count() == size.records : walk_.bytes() >= size.bytes;
        };
        if (size.records == 0 || !walk_.step_many(data, size.records))
            while (!enough() && !long_frame(data) && walk_.step(data)) {
            }
        if (enough())
            return walk_.bytes();
        if (rest_too)
            return data.size();
        return complete || (size.records == 0 && (flush || full())) ? walk_.bytes() : 0;
    }
    const std::uint64_t wanted =
        size.records > 0 ? std::min(size.records, kNoLimitBytes / framing_.record_bytes) *
                               framing_.record_bytes
                         : size.bytes;
    if (data.size() < wanted && rest_too)
        return data.size();
    if (data.size() < wanted && !complete && (size.records > 0 || !(flush || full())))
        return 0;
    const std::uint64_t bytes = record::whole_bytes(data, framing_, wanted);
    return bytes == 0 && rest_too ? data.size() : bytes;
}

SpooledSource::Next SpooledSource::take(std::uint64_t bytes, SpooledCut &cut) {
    const ByteView data = uncut().first(bytes);
    cut = {};
    cut.slot = *slot_;
    cut.begin = slot_begin_ + cut_at_;
    cut.origin = spool_.offset(*slot_) + cut_at_ - cut.begin;
    cut.end = cut.begin + bytes;
    if (ended_ && framing_.kind == Framing::Kind::delimiter)
        cut.ends_source = walk_.bytes() > 0 || walks()
                              ? walk_.bytes() < bytes
                              : !text_of(data).ends_with(framing_.delimiter);
    spool_.hold(*slot_);
    cut_at_ += bytes;
    turn_bytes_ += bytes;
    ++turn_batches_;
    turn_ = spool_.nodes() > 1 && turn_over() && uncut().size() < bytes / 2;
    if (walk_.bytes() == bytes)
        walk_.drop_walked();
    else
        walk_.restart();
    return Next::cut;
}

// The source has ended, and all whole records are cut.
SpooledSource::Next SpooledSource::finish() {
    const std::uint64_t rest = slot_ ? uncut().size() : 0;
    const std::uint64_t at = slot_begin_ + cut_at_;
    if (rest == 0)
        return Next::end;
    if (framing_.kind == Framing::Kind::fixed)
        return fail(at, "ends with a partial record: " + std::to_string(rest) + " of " +
                            std::to_string(framing_.record_bytes) + " bytes");
    if (rest < record::kFrameHeaderBytes)
        return fail(at, "ends in the middle of a frame's length");
    return fail(at, "holds a frame of " +
                        std::to_string(record::frame_length(uncut().data())) + " bytes, but only " +
                        std::to_string(rest - record::kFrameHeaderBytes) + " bytes are left");
}

SpooledSource::Room SpooledSource::make_room(bool alone) {
    if (!slot_)
        return move_to(spool_.slot_bytes(), alone);
    if (!full() && !turn_)
        return Room::there;
    const std::uint64_t rest = uncut().size();
    return move_to(rest < spool_.slot_bytes() / 2 ? spool_.slot_bytes() : 2 * rest, alone);
}

// What is not cut moves along. The slot stays as it is when there is no other one yet.
SpooledSource::Room SpooledSource::move_to(std::uint64_t slot_bytes, bool alone) {
    const std::uint64_t rest = slot_ ? uncut().size() : 0;
    if (slot_ && rest == 0) {
        spool_.release(*slot_);
        slot_.reset();
        slot_begin_ += filled_;
        filled_ = cut_at_ = 0;
    }
    Result<std::optional<std::uint32_t>> found = spool_.acquire(slot_bytes, alone);
    if (!found) {
        failure_ = std::move(found.error());
        return Room::failed;
    }
    if (!*found)
        return Room::wait;
    const std::uint32_t to = **found;
    if (rest > 0) {
        // By a system call: a store into memory that is not there would end this process.
        const int failed = os::pwrite_full(spool_.fd(), uncut(), spool_.offset(to));
        spool_.release(*slot_);
        slot_begin_ += cut_at_;
        if (failed != 0) {
            slot_.reset();
            spool_.release(to);
            failure_ = os::errno_error(ErrorKind::memory, failed, "no memory for input on its way");
            return Room::failed;
        }
    }
    slot_ = to;
    turn_ = false;
    turn_bytes_ = turn_batches_ = 0;
    filled_ = rest;
    cut_at_ = 0;
    return Room::there;
}

// Has the node its share? A batch; of small ones that are published far ahead, so many that the reads, and
// the slots that are begun, do not cost more than the batches.
bool SpooledSource::turn_over() const {
    return !given_ || turn_bytes_ >= kTurnBytes || turn_batches_ >= kTurnBatches;
}

// With one node, whatever there is room for. With several, what the turn lacks: the rest would have to be
// moved to the next one's node. Where records are walked a batch ends behind what was wanted, so then a
// little more is read, in which its last record may end.
std::uint64_t SpooledSource::worth_reading() const {
    const std::uint64_t have = uncut().size();
    if (spool_.nodes() == 1 || wanted_bytes_ == 0)
        return kReadBytesMax;
    std::uint64_t wanted = wanted_bytes_;
    if (!turn_over())
        wanted = std::max(wanted, std::min(kTurnBytes - turn_bytes_,
                                           (kTurnBatches - turn_batches_) * wanted_bytes_));
    const std::uint64_t more = wanted_bytes_ / 8 + 1;
    return have < wanted ? wanted - have + (walks() ? more : 0) : std::max(more, kPageBytes);
}

SpooledSource::Filled SpooledSource::fill() {
    const std::uint64_t left = spool_.capacity(*slot_) - filled_;
    if (!source_.plain() && !spool_.make_present(*slot_)) {
        failure_ = Error{ErrorKind::memory, "no memory for input on its way"};
        return Filled::failed;
    }
    const std::uint64_t room = std::min({left, read_bytes_, worth_reading()});
    const ByteSource::Read read =
        source_.read({spool_.data(*slot_) + filled_, static_cast<std::size_t>(room)});
    switch (read.got) {
    case ByteSource::Got::bytes:
        filled_ += read.bytes;
        return Filled::more;
    case ByteSource::Got::nothing_yet:
        return Filled::nothing_yet;
    case ByteSource::Got::end:
        ended_ = true;
        return Filled::end;
    case ByteSource::Got::failed:
        failure_ = source_.failure();
        break;
    }
    return Filled::failed;
}

// Length of the frame in the way, if it is longer than allowed; 0: it is not, or not known yet.
std::uint64_t SpooledSource::long_frame(ByteView data) const {
    const std::uint64_t at = walk_.bytes();
    if (framing_.kind != Framing::Kind::u32le || data.size() - at < record::kFrameHeaderBytes)
        return 0;
    const std::uint64_t bytes = record::frame_length(data.data() + at);
    return bytes > max_record_bytes_ ? bytes : 0;
}

// Is a record that nobody may have in the way? Frames say so in their header: that is damage.
bool SpooledSource::too_long() {
    if (!slot_)
        return false;
    const std::uint64_t at = walk_.bytes();
    const ByteView data = uncut();
    if (const std::uint64_t bytes = long_frame(data)) {
        fail(slot_begin_ + cut_at_ + at,
             "holds a frame of " + std::to_string(bytes) + " bytes, longer than max_record (" +
                 std::to_string(max_record_bytes_) + " bytes)");
        return false;
    }
    return framing_.kind == Framing::Kind::delimiter &&
           data.size() - at > std::max(max_record_bytes_, ring::kKeptOversizedBytes) +
                                  framing_.delimiter.size() &&
           record::find_delimiter(data, framing_.delimiter, at) == record::kNotFound;
}

// Keeps the record's first bytes, and a window behind them that moves along the source.
SpooledSource::Next SpooledSource::skip_oversized(bool alone, SpooledCut &cut) {
    const std::string &delimiter = framing_.delimiter;
    const std::uint64_t overlap = delimiter.size() - 1;
    for (;;) {
        const std::uint64_t window = cut_at_ + ring::kKeptOversizedBytes;
        const std::uint64_t needed =
            ring::kKeptOversizedBytes + delimiter.size() + kLeastRoomBytes;
        if (spool_.capacity(*slot_) - cut_at_ < needed) {
            const Room room =
                move_to(std::max(spool_.slot_bytes(), uncut().size() + needed), alone);
            if (room != Room::there)
                return room == Room::wait ? Next::wait_for_room : Next::failed;
            continue;
        }
        std::byte *data = spool_.data(*slot_); // has memory: it was read into
        const std::uint64_t at = record::find_delimiter({data, filled_}, delimiter, window);
        const bool found = at != record::kNotFound;
        if (found || ended_) {
            const std::uint64_t stop = found ? at : filled_;
            cut = {};
            cut.slot = *slot_;
            cut.begin = skipped_->begin;
            cut.origin = spool_.offset(*slot_) + cut_at_ - cut.begin;
            cut.record_bytes = skipped_->bytes - (filled_ - stop);
            cut.end = cut.begin + cut.record_bytes + (found ? delimiter.size() : 0);
            spool_.hold(*slot_);
            cut_at_ = found ? stop + delimiter.size() : stop;
            slot_begin_ = cut.end - cut_at_;
            walk_.restart();
            skipped_.reset();
            return Next::cut;
        }
        if (failure_)
            return Next::failed;
        const std::uint64_t kept = std::min(overlap, filled_ - window);
        std::memmove(data + window, data + filled_ - kept, kept);
        filled_ = window + kept;
        const std::uint64_t before = filled_;
        if (fill() == Filled::nothing_yet)
            return Next::wait_for_data;
        skipped_->bytes += filled_ - before;
    }
}

SpooledSource::Next SpooledSource::fail(std::uint64_t offset, const std::string &what) {
    Error error;
    error.kind = ErrorKind::source;
    error.path = name_;
    error.message = name_ + " " + what + " (at byte " + std::to_string(offset) + ")";
    failure_ = std::move(error);
    return Next::failed;
}

} // namespace gristmill::input
