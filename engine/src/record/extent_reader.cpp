#include "record/extent_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/fd_io.hpp"
#include "record/delimiter_scan.hpp"
#include "record/framing_rules.hpp"

namespace gristmill::record {

namespace {
constexpr std::uint64_t kLoadStepBytes = 64 * kKiB;
constexpr std::uint64_t kUsualBufferBytes = 16 * kMiB;
constexpr std::uint64_t kScanStepBytes = 256 * kKiB;
} // namespace

ExtentReader::ExtentReader(InputBuffer &buffer, const Framing &framing,
                           std::uint64_t max_record_bytes, std::uint64_t read_bytes,
                           bool last_record_apart)
    : buffer_(buffer), framing_(framing), max_record_bytes_(max_record_bytes),
      read_bytes_(read_bytes), last_record_apart_(last_record_apart) {}

// How far to read behind the extent's end, where its last record probably ends.
std::uint64_t ExtentReader::over_read() const {
    if (read_bytes_ > 0)
        return read_bytes_;
    return std::clamp<std::uint64_t>(2 * mean_record_bytes_, 512, kLoadStepBytes);
}

// Loads the file up to offset `until`, at most to its end.
bool ExtentReader::load(std::uint64_t until) {
    until = std::min(until, extent_.file_bytes);
    if (until <= loaded_)
        return true;
    const std::uint64_t used = loaded_ - base_;
    if (!buffer_.grow(until - base_, used)) {
        error_ = {.os_errno = ENOMEM, .offset = loaded_, .no_memory = true};
        return false;
    }
    data_ = buffer_.data();
    const std::uint64_t wanted = until - loaded_;
    const std::int64_t got = os::pread_full(extent_.fd, {buffer_.data() + used, wanted},
                                            extent_.origin + loaded_, read_bytes_);
    if (got < 0) {
        error_ = {.os_errno = errno, .offset = loaded_};
        return false;
    }
    loaded_ += static_cast<std::uint64_t>(got);
    if (static_cast<std::uint64_t>(got) < wanted) {
        error_ = {.offset = loaded_};
        return false;
    }
    return true;
}

void ExtentReader::begin(const FileExtent &extent) {
    batch_.clear();
    tail_ = {};
    counted_.reset();
    extent_ = extent;
}

bool ExtentReader::read_records_starting_in(const FileExtent &extent) {
    const std::uint64_t delimiter_bytes = framing_.delimiter.size();
    begin(extent);
    base_ = loaded_ = extent.begin < delimiter_bytes ? 0 : extent.begin - delimiter_bytes;
    if (!load(extent.end + over_read()))
        return false;
    std::uint64_t first = 0;
    if (!find_first(first))
        return true; // no record starts here
    std::uint64_t last = 0;
    bool whole = false;
    if (!load_last(first, last, whole))
        return false;
    return finish(first, last, whole);
}

// Offset of the first record that starts in the extent; false: none does.
bool ExtentReader::find_first(std::uint64_t &first) {
    if (extent_.begin == 0) {
        first = 0;
        return extent_.file_bytes > 0;
    }
    const std::uint64_t at = find_delimiter(loaded(), framing_.delimiter);
    if (at == kNotFound)
        return false;
    first = base_ + at + framing_.delimiter.size();
    return first < extent_.end && first < extent_.file_bytes;
}

// Offset behind the last record that starts in the extent: the first delimiter that lets the
// next record start at or behind the extent's end. Loads as much of the file as that takes.
bool ExtentReader::load_last(std::uint64_t first, std::uint64_t &last, bool &whole) {
    const std::uint64_t delimiter_bytes = framing_.delimiter.size();
    std::uint64_t from = std::max(first, extent_.end - std::min(extent_.end, delimiter_bytes));
    for (std::uint64_t step = kLoadStepBytes;; step *= 2) {
        const std::uint64_t at = find_delimiter(loaded(), framing_.delimiter, from - base_);
        whole = at != kNotFound;
        last = whole ? base_ + at + delimiter_bytes : loaded_;
        if (whole || loaded_ == extent_.file_bytes)
            return true;
        if (loaded_ - std::min(loaded_, extent_.end + delimiter_bytes - 1) > max_record_bytes_) {
            whole = true; // what is left in the batch is
            return skip_oversized(last);
        }
        from = std::max(from, loaded_ - std::min(loaded_ - base_, delimiter_bytes - 1));
        if (!load(loaded_ + (read_bytes_ > 0 ? read_bytes_ : step)))
            return false;
    }
}

// The last record is too long to hold: cuts it off, and goes on to its end without keeping it.
bool ExtentReader::skip_oversized(std::uint64_t &last) {
    const std::string &delimiter = framing_.delimiter;
    std::uint64_t start = extent_.begin == 0 ? 0 : find_delimiter(loaded(), delimiter) +
                                                       delimiter.size();
    for (std::uint64_t at = find_delimiter(loaded(), delimiter, start); at != kNotFound;
         at = find_delimiter(loaded(), delimiter, start))
        start = at + delimiter.size();
    tail_.byte_offset = base_ + start;
    last = tail_.byte_offset;
    // The window that is searched lies behind what is kept and moves along the file.
    const std::uint64_t overlap = delimiter.size() - 1;
    if (!buffer_.grow(start + 2 * delimiter.size() + kLoadStepBytes, start)) {
        error_ = {.os_errno = ENOMEM, .offset = loaded_, .no_memory = true};
        return false;
    }
    data_ = buffer_.data();
    std::uint64_t offset = loaded_ - std::min(overlap, loaded_ - tail_.byte_offset);
    std::byte *window = buffer_.data() + start;
    const std::uint64_t window_bytes = buffer_.capacity() - start;
    while (offset < extent_.file_bytes) {
        const std::uint64_t wanted = std::min(window_bytes, extent_.file_bytes - offset);
        const std::int64_t got = os::pread_full(
            extent_.fd, {window, wanted}, extent_.origin + offset, read_bytes_);
        if (got < 0 || static_cast<std::uint64_t>(got) < wanted) {
            error_ = {.os_errno = got < 0 ? errno : 0,
                      .offset = offset + static_cast<std::uint64_t>(std::max<std::int64_t>(got, 0))};
            return false;
        }
        const std::uint64_t at = find_delimiter({window, wanted}, delimiter);
        if (at != kNotFound) {
            tail_.bytes = offset + at - tail_.byte_offset;
            extent_.end = offset + at + delimiter.size();
            return true;
        }
        if (offset + wanted == extent_.file_bytes)
            break;
        offset += wanted - overlap;
    }
    tail_.bytes = extent_.file_bytes - tail_.byte_offset;
    extent_.end = extent_.file_bytes;
    return true;
}

// What lies in the spool is used where it is, unless a delimiter has to be added.
bool ExtentReader::map() {
    if (!extent_.spooled || extent_.end == extent_.file_bytes)
        return false;
    data_ = windows_.find(extent_.fd, extent_.origin + extent_.begin, extent_.end - extent_.begin);
    if (!data_)
        return false;
    loaded_ = extent_.end;
    return true;
}

bool ExtentReader::read_whole_records(const FileExtent &extent,
                                      std::optional<std::uint64_t> record_count) {
    begin(extent);
    base_ = loaded_ = extent.begin;
    RecordScan scan;
    if (map())
        scan = scan_records(loaded(), framing_);
    else if (!load_and_scan(scan))
        return false;
    const bool may_lack = framing_.kind == Framing::Kind::delimiter &&
                          extent.end == extent.file_bytes;
    if (scan.count != record_count.value_or(scan.count) || (!scan.whole && !may_lack)) {
        error_ = {.offset = extent.begin, .changed = true};
        return false;
    }
    if (scan.whole)
        counted_ = scan.count;
    return finish(extent.begin, extent.end, scan.whole);
}

// A large extent in steps, each counted while it is in the cache.
bool ExtentReader::load_and_scan(RecordScan &scan) {
    const std::uint64_t end = std::min(extent_.end, extent_.file_bytes);
    const std::uint64_t bytes = end - extent_.begin;
    const bool one_byte = framing_.kind == Framing::Kind::delimiter && framing_.delimiter.size() == 1;
    if (!one_byte || bytes <= kScanStepBytes) {
        if (!load(end))
            return false;
        scan = scan_records(loaded(), framing_);
        return true;
    }
    if (!buffer_.grow(bytes, 0)) {
        error_ = {.os_errno = ENOMEM, .offset = loaded_, .no_memory = true};
        return false;
    }
    while (loaded_ < end) {
        const std::uint64_t before = loaded_ - base_;
        if (!load(std::min(end, loaded_ + kScanStepBytes)))
            return false;
        scan.count += count_delimiters(loaded().subspan(before), framing_.delimiter);
    }
    scan.whole = ends_whole(loaded(), framing_);
    scan.count += !scan.whole;
    return true;
}

// Makes the batch of the bytes [first, last) of the file, and of what was skipped behind them.
bool ExtentReader::finish(std::uint64_t first, std::uint64_t last, bool whole) {
    std::uint64_t bytes = last - first;
    batch_.begin = first;
    batch_.end = tail_.bytes > 0 ? extent_.end : last;
    if (!whole) {
        if (!add_delimiter(first, last))
            return false;
        if (batch_.delimiter_added)
            bytes += framing_.delimiter.size();
    }
    batch_.data = {data_ + (first - base_), bytes};
    divide(batch_.data);
    if ((batch_.delimiter_added || batch_.ends_open) && last_record_apart_)
        set_last_record_apart();
    if (tail_.bytes > 0) {
        tail_.index = batch_.record_count++;
        batch_.oversized.push_back(tail_);
    }
    if (batch_.record_count > 0)
        mean_record_bytes_ = bytes / batch_.record_count;
    const std::uint64_t used = first - base_ + bytes + GM_BATCH_PADDING;
    buffer_.keep(std::max({kUsualBufferBytes, used, used_before_}));
    used_before_ = used;
    return true;
}

// Whether a delimiter that was added is taken off the output again depends on what the last record
// alone gives: it becomes a segment of its own.
void ExtentReader::set_last_record_apart() {
    if (batch_.segments.empty() || batch_.segments.back().record_count < 2)
        return;
    Segment &before = batch_.segments.back();
    const std::uint64_t last = before.record_count - 1;
    const ByteView data = batch_.data.subspan(before.begin, before.end - before.begin);
    const std::uint64_t position = before.begin + find_record(data, framing_, last)->begin;
    const Segment apart{position, before.end, before.first_record + last, 1};
    before.end = position;
    before.record_count = last;
    batch_.segments.push_back(apart);
}

// Ends the last record, which reaches to the end of the file, as all others end. A delimiter that
// overlaps itself may begin in the record's own last bytes; then the record stays open.
bool ExtentReader::add_delimiter(std::uint64_t first, std::uint64_t last) {
    const std::string &delimiter = framing_.delimiter;
    const std::uint64_t end = last - base_;
    if (!buffer_.grow(end + delimiter.size(), end)) {
        error_ = {.os_errno = ENOMEM, .offset = last, .no_memory = true};
        return false;
    }
    data_ = buffer_.data();
    std::memcpy(buffer_.data() + end, delimiter.data(), delimiter.size());
    const ByteView open(data_ + (first - base_), last - first);
    const ByteView ended(open.data(), open.size() + delimiter.size());
    batch_.ends_open = has_border(delimiter) &&
                       (scan_records(ended, framing_).count != scan_records(open, framing_).count ||
                        !scan_records(ended, framing_).whole);
    batch_.delimiter_added = !batch_.ends_open;
    return true;
}

// One segment, unless some record in it is too long.
void ExtentReader::divide(ByteView data) {
    if (data.size() <= max_record_bytes_) {
        batch_.record_count = counted_ ? *counted_ : scan_records(data, framing_).count;
        if (!data.empty())
            batch_.segments.push_back({0, data.size(), 0, batch_.record_count});
        return;
    }
    Segment segment;
    for (auto r = record_at(data, framing_, 0); r; r = record_at(data, framing_, r->next)) {
        if (r->end - r->begin <= max_record_bytes_) {
            segment.end = r->next;
            ++segment.record_count;
        } else {
            if (segment.record_count > 0)
                batch_.segments.push_back(segment);
            batch_.oversized.push_back(
                {batch_.record_count, batch_.begin + r->begin, r->end - r->begin});
            segment = {r->next, r->next, batch_.record_count + 1, 0};
        }
        ++batch_.record_count;
    }
    if (segment.record_count > 0)
        batch_.segments.push_back(segment);
}

} // namespace gristmill::record
