// Compressed input: by what it is recognised, and how it is decoded, piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <gristmill/error.hpp>

#include "base/bytes.hpp"

namespace gristmill::input {

enum class Compression : std::uint8_t { none, gzip, zstd, xz, lz4 };

// "gzip", as users know it.
const char *name_of(Compression compression) noexcept;

// detect() looks at no more bytes than these.
inline constexpr std::size_t kDetectBytes = 10;

// What a source is compressed with, by its first bytes, never by its name. nullopt: they may be the
// beginning of a compressed stream or of something else, and more are needed; never when there are
// kDetectBytes of them, nor `at_end`, when the source has no more. Data that differ from each magic
// number are known to be `none` by their first byte already, so that nobody waits for a slow pipe.
// What merely begins with 1f 8b, and is no gzip header, is `none`.
std::optional<Compression> detect(ByteView first_bytes, bool at_end) noexcept;

// The *frames* of one compressed stream (gzip calls them members, xz streams), one after the other,
// as if they were one: multi-member gzip, frames of zstd and lz4 with skippable ones between them,
// xz streams with padding. Zeros behind the last gzip member are padding, as gzip(1) has it. Anything
// else behind a frame is an error. Checksums are verified where the stream has them.
//
// Transforms bytes; no I/O, no blocking. Memory depends on the window that a frame asks for, not on
// what it expands to: about 200 KiB for gzip, 8 MiB for lz4, up to 1 GiB for xz and 2 GiB for zstd.
//
// Threads: one at a time.
class Decoder {
  public:
    // `frame_ended`: a frame ends exactly behind what was consumed, and has given everything.
    struct Step {
        std::size_t consumed = 0;
        std::size_t produced = 0;
        bool frame_ended = false;
    };

    Decoder(const Decoder &) = delete;
    Decoder &operator=(const Decoder &) = delete;
    virtual ~Decoder() = default;

    // Decodes as much of `input` as fits into `output`, which is not empty; stops early only behind
    // the end of a frame. What was not consumed must be given again. Without input it hands out what
    // it holds. A step that neither consumes nor produces says that it needs more input, and is
    // never the answer to any.
    //
    // Errors come when everything that was decoded before the damage has been produced, and then for
    // ever: ErrorKind::source with EBADMSG (damage; what is not a frame), ENOMEM (asks for more
    // than the limit) or EOPNOTSUPP (needs what we do not have); ErrorKind::memory. The message names
    // the format and the byte of the compressed input, not the source; `path` is the caller's to set.
    // Only the checksum at a frame's end may tell that some of its bytes, produced long ago, are
    // wrong; the message says so.
    Result<Step> decode(ByteView input, std::span<std::byte> output);

    // Says whether the compressed input may end here. Everything was consumed, and decode() without
    // input produces nothing. Errors: those of decode(), and EBADMSG if it ends inside a frame.
    Result<void> finish() const;

    // Compressed bytes consumed.
    std::uint64_t position() const { return position_; }

  protected:
    explicit Decoder(Compression compression) : compression_(compression) {}

    // The next bytes of a frame whose magic number was checked, and is among them. Reports a frame's
    // end; what it is given behind that begins another frame. On trouble it calls one of:
    virtual Step advance(ByteView input, std::span<std::byte> output) = 0;
    // `ahead`: how far behind position() the damage lies.
    void damaged(const std::string &what, std::size_t ahead = 0);
    void mismatched(std::size_t ahead = 0); // the checksum at the end of a frame
    void refused(int os_errno, const std::string &what);
    void out_of_memory();
    bool failed() const { return failure_.has_value(); }

  private:
    Step begin_frame(ByteView input, std::span<std::byte> output);
    Step skip_padding(ByteView input);
    void foreign_bytes();
    std::string padding_fault() const; // empty when there is none
    void fail(ErrorKind kind, int os_errno, std::string message);

    const Compression compression_;
    std::uint64_t position_ = 0;
    std::uint64_t frames_ = 0;        // that have ended
    std::uint64_t padding_bytes_ = 0; // behind the last frame
    std::size_t magic_bytes_ = 0;     // of the frame in hand, that were seen and are right
    bool skippable_frame_ = false;    // the frame in hand holds nothing that is decoded
    std::uint32_t stalls_ = 0;        // steps in a row that did nothing
    std::optional<Error> failure_;
};

// `compression` is not none. Errors: ErrorKind::memory.
Result<std::unique_ptr<Decoder>> make_decoder(Compression compression);

} // namespace gristmill::input
