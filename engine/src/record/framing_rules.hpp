// Records within a batch, whatever their framing: counting them, finding one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <gristmill/options.hpp>

#include "base/bytes.hpp"

namespace gristmill::record {

inline constexpr std::uint64_t kFrameHeaderBytes = 4;

// Length that a u32 little-endian frame header announces. Precondition: 4 readable bytes.
std::uint32_t frame_length(const std::byte *header) noexcept;

// One record of a batch, as positions within it.
struct RecordSpan {
    std::uint64_t begin = 0; // of the record's own bytes
    std::uint64_t end = 0;   // one past them; delimiter and header are outside
    std::uint64_t next = 0;  // where the next record's framing begins
};

// The record whose framing begins at `position`, or nullopt when no whole one is left there. A
// last record without a delimiter is whole.
std::optional<RecordSpan> record_at(ByteView batch, const Framing &framing,
                                    std::uint64_t position) noexcept;

// Record `index` of the batch, counted from 0, found by walking.
std::optional<RecordSpan> find_record(ByteView batch, const Framing &framing,
                                      std::uint64_t index) noexcept;

struct RecordScan {
    std::uint64_t count = 0;
    bool whole = true; // the last record is ended by its delimiter, or is a whole frame
};

// Counts the records of a batch that begins at a record.
RecordScan scan_records(ByteView batch, const Framing &framing) noexcept;

// Does the batch end where a record ends? Cheap: only frames are walked.
bool ends_whole(ByteView batch, const Framing &framing) noexcept;

// Is the last record of the batch empty? Precondition: delimiter framing.
bool last_record_blank(ByteView batch, const Framing &framing) noexcept;

} // namespace gristmill::record
