#include "input/decoder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "input/format_decoders.hpp"

namespace gristmill::input {

namespace {

struct Format {
    const char *name;
    const char *frame; // what the format calls one
    std::string_view magic;
    bool skippable;             // may have frames that are to be skipped
    std::uint64_t padding_unit; // zeros behind a frame come in so many; 0: none may be there
    bool goes_on;               // another frame may follow padding
};

using namespace std::string_view_literals;

// By Compression.
constexpr std::array<Format, 5> kFormats = {{
    {"none", "", ""sv, false, 0, false},
    {"gzip", "member", "\x1f\x8b"sv, false, 1, false},
    {"zstd", "frame", "\x28\xb5\x2f\xfd"sv, true, 0, false},
    {"xz", "stream", "\xfd\x37zXZ\0"sv, false, 4, true},
    {"lz4", "frame", "\x04\x22\x4d\x18"sv, true, 0, false},
}};
// Skippable frames of zstd and lz4 alike; the low half of the first byte may be anything.
constexpr std::string_view kSkippableMagic = "\x50\x2a\x4d\x18"sv;

constexpr std::uint32_t kStallsMax = 8;

const Format &format_of(Compression compression) {
    return kFormats[static_cast<std::size_t>(compression)];
}

// Whether byte `index` of a frame that is to be skipped may be `byte`.
bool fits_skippable(std::size_t index, char byte) {
    const int mask = index == 0 ? 0xf0 : 0xff;
    return (byte & mask) == (kSkippableMagic[index] & mask);
}

bool begins_skippable(std::string_view bytes) {
    for (std::size_t i = 0; i < std::min(bytes.size(), kSkippableMagic.size()); ++i)
        if (!fits_skippable(i, bytes[i]))
            return false;
    return true;
}

// Whether the bytes, as far as they go, are those of a gzip header.
bool begins_gzip(std::string_view bytes) {
    constexpr std::string_view start = "\x1f\x8b\x08"sv; // 8: deflate, the only method there is
    constexpr unsigned reserved_flags = 0xe0;
    const std::size_t known = std::min(bytes.size(), start.size());
    if (bytes.substr(0, known) != start.substr(0, known))
        return false;
    return bytes.size() <= start.size() || (bytes[start.size()] & reserved_flags) == 0;
}

} // namespace

const char *name_of(Compression compression) noexcept { return format_of(compression).name; }

std::optional<Compression> detect(ByteView first_bytes, bool at_end) noexcept {
    const std::string_view bytes = text_of(first_bytes.first(std::min(first_bytes.size(), kDetectBytes)));
    bool undecided = false;
    const auto is = [&](bool fits, std::size_t needed) {
        undecided = undecided || (fits && bytes.size() < needed);
        return fits && bytes.size() >= needed;
    };
    for (const Compression each : {Compression::zstd, Compression::xz, Compression::lz4}) {
        const std::string_view magic = format_of(each).magic;
        const std::size_t known = std::min(bytes.size(), magic.size());
        if (is(bytes.substr(0, known) == magic.substr(0, known), magic.size()))
            return each;
    }
    if (is(begins_skippable(bytes), kSkippableMagic.size()))
        return Compression::zstd; // pzstd begins with one; nobody writes lz4 that does
    if (is(begins_gzip(bytes), kDetectBytes))
        return Compression::gzip;
    if (undecided && !at_end)
        return std::nullopt;
    return Compression::none;
}

Result<Decoder::Step> Decoder::decode(ByteView input, std::span<std::byte> output) {
    GM_CHECK(!output.empty());
    Step total;
    while (!failure_ && !total.frame_ended && total.produced < output.size()) {
        const ByteView rest = input.subspan(total.consumed);
        const std::span<std::byte> room = output.subspan(total.produced);
        const bool begun = magic_bytes_ == format_of(compression_).magic.size();
        const Step step = begun ? advance(rest, room) : begin_frame(rest, room);
        position_ += step.consumed;
        total.consumed += step.consumed;
        total.produced += step.produced;
        if (step.frame_ended) {
            total.frame_ended = true;
            ++frames_;
            magic_bytes_ = 0;
            padding_bytes_ = 0;
        }
        if (step.consumed + step.produced > 0) {
            stalls_ = 0;
            continue;
        }
        if (rest.empty())
            break;
        if (!failure_ && ++stalls_ == kStallsMax) // a library that does not see the damage itself
            damaged("nothing can be made of what follows");
    }
    if (failure_ && total.produced == 0)
        return *failure_;
    return total;
}

Result<void> Decoder::finish() const {
    if (failure_)
        return *failure_;
    const std::string fault = padding_fault();
    if (magic_bytes_ == 0 && frames_ > 0 && fault.empty())
        return {};
    Error error;
    error.kind = ErrorKind::source;
    error.os_errno = EBADMSG;
    error.message = fault.empty() ? "the " + std::string(name_of(compression_)) +
                                        " stream ends in the middle (at byte " +
                                        std::to_string(position_) + "); what came before was delivered"
                                  : fault;
    return error;
}

// Byte by byte, so that what is no frame is told from one that ends too early.
Decoder::Step Decoder::begin_frame(ByteView input, std::span<std::byte> output) {
    if (input.empty())
        return {};
    const Format &format = format_of(compression_);
    const char byte = text_of(input)[0];
    if (magic_bytes_ == 0 && byte == 0 && frames_ > 0 && format.padding_unit > 0)
        return skip_padding(input);
    // The two magic numbers differ in their first bytes, and are of one length.
    if (magic_bytes_ == 0)
        skippable_frame_ = format.skippable && fits_skippable(0, byte);
    const bool fits = skippable_frame_ ? fits_skippable(magic_bytes_, byte)
                                       : byte == format.magic[magic_bytes_];
    if (!fits || (padding_bytes_ > 0 && !format.goes_on)) {
        foreign_bytes();
        return {};
    }
    if (std::string fault = padding_fault(); !fault.empty()) {
        fail(ErrorKind::source, EBADMSG, std::move(fault));
        return {};
    }
    const Step step = advance(input.first(1), output);
    GM_CHECK(failure_ || (step.consumed == 1 && !step.frame_ended));
    ++magic_bytes_;
    return step;
}

Decoder::Step Decoder::skip_padding(ByteView input) {
    const auto end = std::find_if(input.begin(), input.end(),
                                  [](std::byte byte) { return byte != std::byte{0}; });
    const auto zeros = static_cast<std::size_t>(end - input.begin());
    padding_bytes_ += zeros;
    return {zeros, 0, false};
}

void Decoder::foreign_bytes() {
    const Format &format = format_of(compression_);
    const std::string at = std::to_string(position_ - magic_bytes_);
    const std::string frame = std::string(format.name) + " " + format.frame;
    if (frames_ == 0)
        fail(ErrorKind::source, EBADMSG, "what begins at byte " + at + " is no " + frame);
    else
        fail(ErrorKind::source, EBADMSG,
             "what follows the last " + frame + ", at byte " + at + ", is no other one" +
                 (format.padding_unit > 0 ? ", nor padding" : "") +
                 "; what came before was delivered");
}

std::string Decoder::padding_fault() const {
    const Format &format = format_of(compression_);
    if (padding_bytes_ == 0 || padding_bytes_ % format.padding_unit == 0)
        return {};
    return "the padding in the " + std::string(format.name) + " stream at byte " +
           std::to_string(position_ - padding_bytes_) + " has " + std::to_string(padding_bytes_) +
           " bytes, no multiple of " + std::to_string(format.padding_unit) +
           "; what came before was delivered";
}

void Decoder::damaged(const std::string &what, std::size_t ahead) {
    fail(ErrorKind::source, EBADMSG,
         "the " + std::string(name_of(compression_)) + " stream is damaged at byte " +
             std::to_string(position_ + ahead) + ": " + what + "; what came before was delivered");
}

void Decoder::mismatched(std::size_t ahead) {
    const std::string frame = format_of(compression_).frame;
    fail(ErrorKind::source, EBADMSG,
         "the " + std::string(name_of(compression_)) + " stream is damaged: the checksum of the " +
             frame + " that ends at byte " + std::to_string(position_ + ahead) +
             " does not match, so some of what was delivered of that " + frame + " is wrong");
}

void Decoder::refused(int os_errno, const std::string &what) {
    fail(ErrorKind::source, os_errno,
         "the " + std::string(name_of(compression_)) + " stream cannot be decoded at byte " +
             std::to_string(position_) + ": " + what);
}

void Decoder::out_of_memory() {
    fail(ErrorKind::memory, ENOMEM,
         "no memory to decode the " + std::string(name_of(compression_)) + " stream at byte " +
             std::to_string(position_));
}

void Decoder::fail(ErrorKind kind, int os_errno, std::string message) {
    Error error;
    error.kind = kind;
    error.os_errno = os_errno;
    error.message = std::move(message);
    failure_ = std::move(error);
}

Result<std::unique_ptr<Decoder>> make_decoder(Compression compression) {
    GM_CHECK(compression != Compression::none);
    try {
        switch (compression) {
        case Compression::gzip:
            return make_gzip_decoder();
        case Compression::zstd:
            return make_zstd_decoder();
        case Compression::xz:
            return make_xz_decoder();
        case Compression::lz4:
            return make_lz4_decoder();
        case Compression::none:
            break;
        }
    } catch (const std::bad_alloc &) { // that of a library, or ours
    }
    Error error;
    error.kind = ErrorKind::memory;
    error.os_errno = ENOMEM;
    error.message = "no memory to decode " + std::string(name_of(compression));
    return error;
}

} // namespace gristmill::input
