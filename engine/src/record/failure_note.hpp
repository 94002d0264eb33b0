// Descriptions of failures, as they travel from a worker to egress behind a batch's output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace gristmill::record {

struct FailureNote {
    std::uint64_t index = 0;        // of the record within its batch
    std::uint64_t byte_offset = 0;  // of the record within its source
    std::uint64_t record_bytes = 0; // without delimiter
    std::uint64_t output_before = 0; // bytes of the batch's output that stand before it
    std::int32_t os_errno = 0;       // of a source that cannot be read
    std::string reason{};
    std::string excerpt{}; // first bytes of the record
    std::string type{};    // class of the error; empty: RecordError
    std::string details{}; // a traceback, for people
    std::string original{}; // the exception itself, as whoever raised it packs it
};

inline constexpr std::uint64_t kReasonBytesMax = 1024;
inline constexpr std::uint64_t kExcerptBytesMax = 2048;
inline constexpr std::uint64_t kTypeBytesMax = 128;
inline constexpr std::uint64_t kDetailsBytesMax = 4096;
inline constexpr std::uint64_t kOriginalBytesMax = 4096; // a longer one is left out

// Size of the note in its encoded form; at most 12 KiB.
std::uint64_t encoded_bytes(const FailureNote &note);
// Writes encoded_bytes() bytes. Reason and excerpt are cut to their maxima.
void encode(const FailureNote &note, std::byte *out);
// Notes that lie one after the other; nullopt when the bytes are not such notes.
std::optional<std::vector<FailureNote>> decode_notes(ByteView bytes);

} // namespace gristmill::record
