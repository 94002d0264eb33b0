#include "record/failure_note.hpp"

#include <algorithm>
#include <cstring>

namespace gristmill::record {

namespace {

struct NoteHeader {
    std::uint64_t index;
    std::uint64_t byte_offset;
    std::uint64_t record_bytes;
    std::uint64_t output_before;
    std::int32_t os_errno;
    std::uint32_t reason_bytes;
    std::uint32_t excerpt_bytes;
    std::uint32_t reserved;
};

std::uint64_t reason_bytes(const FailureNote &note) {
    return std::min<std::uint64_t>(note.reason.size(), kReasonBytesMax);
}
std::uint64_t excerpt_bytes(const FailureNote &note) {
    return std::min<std::uint64_t>(note.excerpt.size(), kExcerptBytesMax);
}

} // namespace

std::uint64_t encoded_bytes(const FailureNote &note) {
    return sizeof(NoteHeader) + reason_bytes(note) + excerpt_bytes(note);
}

void encode(const FailureNote &note, std::byte *out) {
    const NoteHeader header{note.index,         note.byte_offset,
                            note.record_bytes,  note.output_before,
                            note.os_errno,
                            static_cast<std::uint32_t>(reason_bytes(note)),
                            static_cast<std::uint32_t>(excerpt_bytes(note)),
                            0};
    std::memcpy(out, &header, sizeof header);
    std::memcpy(out + sizeof header, note.reason.data(), header.reason_bytes);
    std::memcpy(out + sizeof header + header.reason_bytes, note.excerpt.data(),
                header.excerpt_bytes);
}

std::optional<std::vector<FailureNote>> decode_notes(ByteView bytes) {
    std::vector<FailureNote> notes;
    while (!bytes.empty()) {
        NoteHeader header;
        if (bytes.size() < sizeof header)
            return std::nullopt;
        std::memcpy(&header, bytes.data(), sizeof header);
        bytes = bytes.subspan(sizeof header);
        const std::uint64_t texts = std::uint64_t{header.reason_bytes} + header.excerpt_bytes;
        if (bytes.size() < texts)
            return std::nullopt;
        const std::string_view text = text_of(bytes.first(texts));
        notes.push_back({header.index, header.byte_offset, header.record_bytes,
                         header.output_before, header.os_errno,
                         std::string(text.substr(0, header.reason_bytes)),
                         std::string(text.substr(header.reason_bytes))});
        bytes = bytes.subspan(texts);
    }
    return notes;
}

} // namespace gristmill::record
