// A batch in memory, ready for a payload.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"

namespace gristmill::record {

// A run of whole records, as positions within the batch. Record `first_record` of the batch is
// its first.
struct Segment {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t first_record = 0;
    std::uint64_t record_count = 0;
};

// A record longer than max_record; no segment holds it.
struct OversizedRecord {
    std::uint64_t index = 0;       // within the batch
    std::uint64_t byte_offset = 0; // within the source
    std::uint64_t bytes = 0;
};

struct BatchView {
    ByteView data{};               // padded, ends with the delimiter under delimiter framing
    std::uint64_t begin = 0;       // bytes of the source covered: [begin, end)
    std::uint64_t end = 0;
    std::uint64_t record_count = 0; // oversized ones included
    bool delimiter_added = false;
    bool ends_open = false; // the last delimiter is missing and could not be added
    std::vector<Segment> segments{}; // usually one
    std::vector<OversizedRecord> oversized{};

    void clear() noexcept {
        data = {};
        begin = end = record_count = 0;
        delimiter_added = ends_open = false;
        segments.clear();
        oversized.clear();
    }
};

} // namespace gristmill::record
