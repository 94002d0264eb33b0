#include "record/whole_records.hpp"

#include <algorithm>
#include <cstring>

#include "record/delimiter_scan.hpp"
#include "record/framing_rules.hpp"

namespace gristmill::record {

namespace {

// Behind the last delimiter; 0: there is none.
std::uint64_t behind_last_delimiter(ByteView data, std::string_view delimiter) noexcept {
    if (delimiter.size() == 1) {
        const void *last = ::memrchr(data.data(), delimiter[0], data.size());
        return last ? static_cast<std::uint64_t>(static_cast<const std::byte *>(last) -
                                                 data.data()) + 1
                    : 0;
    }
    const std::size_t at = text_of(data).rfind(delimiter);
    return at == std::string_view::npos ? 0 : at + delimiter.size();
}

} // namespace

std::uint64_t whole_bytes(ByteView data, const Framing &framing, std::uint64_t wanted) noexcept {
    if (data.empty())
        return 0;
    const std::uint64_t first = std::min<std::uint64_t>(std::max<std::uint64_t>(wanted, 1), data.size());
    if (framing.kind == Framing::Kind::fixed) {
        const std::uint64_t bytes = std::max(first, std::min(framing.record_bytes, data.size()));
        return round_down(bytes, framing.record_bytes);
    }
    if (const std::uint64_t end = behind_last_delimiter(data.first(first), framing.delimiter))
        return end;
    const std::uint64_t overlap = std::min<std::uint64_t>(framing.delimiter.size() - 1, first);
    const std::uint64_t at = find_delimiter(data, framing.delimiter, first - overlap);
    return at == kNotFound ? 0 : at + framing.delimiter.size();
}

bool RecordWalk::step_many(ByteView data, std::uint64_t count_max) {
    if (framing_.kind != Framing::Kind::delimiter || framing_.delimiter.size() != 1)
        return false;
    const Skipped skipped = skip_delimiters(data.subspan(std::max(at_, searched_)),
                                            framing_.delimiter[0], count_max - count_);
    if (skipped.count > 0)
        at_ = std::max(at_, searched_) + skipped.bytes;
    count_ += skipped.count;
    searched_ = count_ < count_max ? data.size() : at_;
    return true;
}

bool RecordWalk::step(ByteView data) {
    std::uint64_t next = 0;
    switch (framing_.kind) {
    case Framing::Kind::delimiter: {
        const std::uint64_t at = find_delimiter(data, framing_.delimiter, std::max(at_, searched_));
        if (at == kNotFound) {
            const std::uint64_t overlap = framing_.delimiter.size() - 1;
            searched_ = std::max(searched_, data.size() - std::min(data.size(), overlap));
            return false;
        }
        next = at + framing_.delimiter.size();
        break;
    }
    case Framing::Kind::fixed:
        next = at_ + framing_.record_bytes;
        break;
    case Framing::Kind::u32le:
        if (data.size() - at_ < kFrameHeaderBytes)
            return false;
        next = at_ + kFrameHeaderBytes + frame_length(data.data() + at_);
        break;
    }
    if (next > data.size())
        return false;
    at_ = next;
    ++count_;
    searched_ = std::max(searched_, at_);
    return true;
}

} // namespace gristmill::record
