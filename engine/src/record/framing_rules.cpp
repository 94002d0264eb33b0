#include "record/framing_rules.hpp"

#include <cstring>

#include "record/delimiter_scan.hpp"

namespace gristmill::record {

std::uint32_t frame_length(const std::byte *header) noexcept {
    std::uint8_t bytes[kFrameHeaderBytes];
    std::memcpy(bytes, header, sizeof bytes);
    return std::uint32_t(bytes[0]) | std::uint32_t(bytes[1]) << 8 | std::uint32_t(bytes[2]) << 16 |
           std::uint32_t(bytes[3]) << 24;
}

std::optional<RecordSpan> record_at(ByteView batch, const Framing &framing,
                                    std::uint64_t position) noexcept {
    if (position >= batch.size())
        return std::nullopt;
    const std::uint64_t left = batch.size() - position;
    switch (framing.kind) {
    case Framing::Kind::delimiter: {
        const std::uint64_t at = find_delimiter(batch, framing.delimiter, position);
        if (at == kNotFound)
            return RecordSpan{position, batch.size(), batch.size()};
        return RecordSpan{position, at, at + framing.delimiter.size()};
    }
    case Framing::Kind::fixed:
        if (left < framing.record_bytes)
            return std::nullopt;
        return RecordSpan{position, position + framing.record_bytes,
                          position + framing.record_bytes};
    case Framing::Kind::u32le: {
        if (left < kFrameHeaderBytes)
            return std::nullopt;
        const std::uint64_t bytes = frame_length(batch.data() + position);
        if (left - kFrameHeaderBytes < bytes)
            return std::nullopt;
        const std::uint64_t begin = position + kFrameHeaderBytes;
        return RecordSpan{begin, begin + bytes, begin + bytes};
    }
    }
    return std::nullopt;
}

std::optional<RecordSpan> find_record(ByteView batch, const Framing &framing,
                                      std::uint64_t index) noexcept {
    std::optional<RecordSpan> record = record_at(batch, framing, 0);
    for (; record && index > 0; --index)
        record = record_at(batch, framing, record->next);
    return record;
}

RecordScan scan_records(ByteView batch, const Framing &framing) noexcept {
    if (batch.empty())
        return {};
    if (framing.kind == Framing::Kind::delimiter && framing.delimiter.size() == 1) {
        const bool whole = char(batch.back()) == framing.delimiter[0];
        return {count_delimiters(batch, framing.delimiter) + !whole, whole};
    }
    if (framing.kind == Framing::Kind::fixed)
        return {batch.size() / framing.record_bytes, batch.size() % framing.record_bytes == 0};
    RecordScan scan;
    std::uint64_t position = 0;
    for (auto r = record_at(batch, framing, 0); r; r = record_at(batch, framing, position)) {
        ++scan.count;
        position = r->next;
        scan.whole = framing.kind != Framing::Kind::delimiter || r->next > r->end;
    }
    scan.whole = scan.whole && position == batch.size();
    return scan;
}

bool ends_whole(ByteView batch, const Framing &framing) noexcept {
    if (batch.empty())
        return true;
    switch (framing.kind) {
    case Framing::Kind::delimiter:
        return text_of(batch).ends_with(framing.delimiter);
    case Framing::Kind::fixed:
        return batch.size() % framing.record_bytes == 0;
    case Framing::Kind::u32le:
        return scan_records(batch, framing).whole;
    }
    return false;
}

bool last_record_blank(ByteView batch, const Framing &framing) noexcept {
    bool blank = false;
    for (auto r = record_at(batch, framing, 0); r; r = record_at(batch, framing, r->next))
        blank = r->begin == r->end;
    return blank;
}

} // namespace gristmill::record
