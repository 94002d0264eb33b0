#include "record/failure_note.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace gristmill::record {

namespace {

struct NoteHeader {
    std::uint64_t index;
    std::uint64_t byte_offset;
    std::uint64_t record_bytes;
    std::uint64_t output_before;
    std::int32_t os_errno;
    std::uint32_t text_bytes[5]; // in the order of texts_of()
};

struct Texts {
    std::string_view text[5];
};

// What is kept of the texts. A packed exception that was cut would be none.
Texts texts_of(const FailureNote &note) {
    const auto head = [](const std::string &text, std::uint64_t most) {
        return std::string_view(text).substr(0, most);
    };
    const bool packed = note.original.size() <= kOriginalBytesMax;
    return {{head(note.reason, kReasonBytesMax), head(note.excerpt, kExcerptBytesMax),
             head(note.type, kTypeBytesMax), head(note.details, kDetailsBytesMax),
             packed ? std::string_view(note.original) : std::string_view()}};
}

} // namespace

std::uint64_t encoded_bytes(const FailureNote &note) {
    std::uint64_t bytes = sizeof(NoteHeader);
    for (const std::string_view text : texts_of(note).text)
        bytes += text.size();
    return bytes;
}

void encode(const FailureNote &note, std::byte *out) {
    const Texts texts = texts_of(note);
    NoteHeader header{note.index, note.byte_offset, note.record_bytes, note.output_before,
                      note.os_errno, {}};
    std::byte *at = out + sizeof header;
    for (std::size_t i = 0; i < std::size(texts.text); ++i) {
        header.text_bytes[i] = static_cast<std::uint32_t>(texts.text[i].size());
        at = std::copy_n(bytes_of(texts.text[i]).data(), texts.text[i].size(), at);
    }
    std::memcpy(out, &header, sizeof header);
}

std::optional<std::vector<FailureNote>> decode_notes(ByteView bytes) {
    std::vector<FailureNote> notes;
    while (!bytes.empty()) {
        NoteHeader header;
        if (bytes.size() < sizeof header)
            return std::nullopt;
        std::memcpy(&header, bytes.data(), sizeof header);
        bytes = bytes.subspan(sizeof header);
        FailureNote note{header.index, header.byte_offset, header.record_bytes,
                         header.output_before, header.os_errno};
        std::string *const texts[] = {&note.reason, &note.excerpt, &note.type, &note.details,
                                      &note.original};
        for (std::size_t i = 0; i < std::size(texts); ++i) {
            if (bytes.size() < header.text_bytes[i])
                return std::nullopt;
            *texts[i] = text_of(bytes.first(header.text_bytes[i]));
            bytes = bytes.subspan(header.text_bytes[i]);
        }
        notes.push_back(std::move(note));
    }
    return notes;
}

} // namespace gristmill::record
