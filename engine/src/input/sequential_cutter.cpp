#include "input/sequential_cutter.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/fd_io.hpp"
#include "record/delimiter_scan.hpp"
#include "record/framing_rules.hpp"

namespace gristmill::input {

namespace {
constexpr std::uint64_t kWindowBytes = 128 * kKiB;
}

SequentialCutter::SequentialCutter(int fd, std::uint64_t file_bytes, std::uint64_t origin,
                                   const Framing &framing, std::uint64_t max_record_bytes,
                                   std::uint64_t read_bytes)
    : fd_(fd), file_bytes_(file_bytes), origin_(origin), framing_(framing), max_record_bytes_(max_record_bytes),
      read_bytes_(read_bytes) {}

CutStatus SequentialCutter::next(const CutSize &size, Cut &cut) {
    cut = {position_, position_, 0, 0};
    for (;;) {
        if (skip_visible(size, cut))
            return CutStatus::cut;
        std::uint64_t record_bytes = 0;
        std::uint64_t next = 0;
        switch (step(record_bytes, next)) {
        case Step::end:
            return cut.record_count > 0 ? CutStatus::cut : CutStatus::end;
        case Step::failed: // what came before it is a batch of its own
            return cut.record_count > 0 ? CutStatus::cut : CutStatus::failed;
        case Step::record:
            break;
        }
        if (record_bytes > max_record_bytes_) {
            if (cut.record_count > 0)
                return CutStatus::cut; // it will be found again, alone
            position_ = next;
            cut.end = next;
            cut.record_count = 1;
            cut.oversized_bytes = record_bytes;
            return CutStatus::cut;
        }
        position_ = next;
        cut.end = next;
        ++cut.record_count;
        const bool full = size.records > 0 ? cut.record_count == size.records
                                           : cut.end - cut.begin >= size.bytes;
        if (full)
            return CutStatus::cut;
    }
}

// Takes many records at once that lie in the window; true: the cut is full. None of them can be too
// long when the window is not.
bool SequentialCutter::skip_visible(const CutSize &size, Cut &cut) {
    if (size.records == 0 || framing_.kind != Framing::Kind::delimiter ||
        framing_.delimiter.size() != 1 || window_.size() > max_record_bytes_ ||
        position_ < window_begin_ || position_ >= window_end_)
        return false;
    const record::Skipped skipped = record::skip_delimiters(
        window_from(position_), framing_.delimiter[0], size.records - cut.record_count);
    position_ += skipped.bytes;
    cut.end = position_;
    cut.record_count += skipped.count;
    return cut.record_count == size.records;
}

SequentialCutter::Step SequentialCutter::step(std::uint64_t &record_bytes, std::uint64_t &next) {
    if (position_ >= file_bytes_)
        return Step::end;
    return framing_.kind == Framing::Kind::u32le ? step_frame(record_bytes, next)
                                                 : step_delimited(record_bytes, next);
}

SequentialCutter::Step SequentialCutter::step_delimited(std::uint64_t &record_bytes,
                                                        std::uint64_t &next) {
    const std::string &delimiter = framing_.delimiter;
    const std::uint64_t overlap = delimiter.size() - 1;
    std::uint64_t from = position_; // no delimiter begins before it
    for (;;) {
        if (!show(from, std::max<std::uint64_t>(delimiter.size(), 1)))
            return Step::failed;
        const ByteView visible = window_from(from);
        const std::uint64_t at = record::find_delimiter(visible, delimiter);
        if (at != record::kNotFound) {
            record_bytes = from + at - position_;
            next = from + at + delimiter.size();
            return Step::record;
        }
        if (window_end_ == file_bytes_) {
            record_bytes = file_bytes_ - position_;
            next = file_bytes_;
            return Step::record;
        }
        from = window_end_ - std::min(overlap, window_end_ - from);
        if (!show(from, window_end_ - from + 1)) // one more byte: moves the window on
            return Step::failed;
    }
}

SequentialCutter::Step SequentialCutter::step_frame(std::uint64_t &record_bytes,
                                                    std::uint64_t &next) {
    const std::uint64_t left = file_bytes_ - position_;
    if (left < record::kFrameHeaderBytes)
        return fail(0, position_, "ends in the middle of a frame's length");
    if (!show(position_, record::kFrameHeaderBytes))
        return Step::failed;
    const std::uint64_t bytes = record::frame_length(window_from(position_).data());
    const std::string frame = "holds a frame of " + std::to_string(bytes) + " bytes, ";
    if (bytes > left - record::kFrameHeaderBytes)
        return fail(0, position_, frame + "but only " +
                                      std::to_string(left - record::kFrameHeaderBytes) +
                                      " bytes are left");
    if (bytes > max_record_bytes_)
        return fail(0, position_, frame + "longer than max_record (" +
                                      std::to_string(max_record_bytes_) + " bytes)");
    record_bytes = bytes;
    next = position_ + record::kFrameHeaderBytes + bytes;
    return Step::record;
}

ByteView SequentialCutter::window_from(std::uint64_t offset) const {
    return ByteView(window_).subspan(offset - window_begin_, window_end_ - offset);
}

bool SequentialCutter::show(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t until = std::min(offset + bytes, file_bytes_);
    if (offset >= window_begin_ && until <= window_end_)
        return true;
    // Keep what is visible behind the offset, and read on from there.
    const bool inside = offset >= window_begin_ && offset < window_end_;
    const std::uint64_t kept = inside ? window_end_ - offset : 0;
    const std::uint64_t step = read_bytes_ > 0 ? read_bytes_ : kWindowBytes;
    const std::uint64_t wanted =
        std::min(std::max(until - offset, kept + step), file_bytes_ - offset);
    if (kept > 0)
        std::memmove(window_.data(), window_.data() + (offset - window_begin_), kept);
    if (window_.size() < wanted)
        window_.resize(wanted);
    const std::int64_t got = os::pread_full(
        fd_, std::span(window_).subspan(kept, wanted - kept), origin_ + offset + kept, read_bytes_);
    if (got < 0) {
        fail(errno, offset + kept, "");
        return false;
    }
    window_begin_ = offset;
    window_end_ = offset + kept + static_cast<std::uint64_t>(got);
    if (window_end_ < offset + wanted) {
        fail(0, window_end_,
             "shrank from " + std::to_string(file_bytes_) + " to " +
                 std::to_string(window_end_) + " bytes while it was read");
        return false;
    }
    return true;
}

SequentialCutter::Step SequentialCutter::fail(int os_errno, std::uint64_t offset,
                                              std::string reason) {
    failure_ = {os_errno, offset, std::move(reason)};
    return Step::failed;
}

} // namespace gristmill::input
