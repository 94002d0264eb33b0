// Cuts a file into batches of whole records, in one forward pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

#include "base/bytes.hpp"

namespace gristmill::input {

// Whole records: bytes [begin, end) of the file.
struct Cut {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t record_count = 0;
    std::uint64_t oversized_bytes = 0; // one record, longer than max_record: its own bytes
};

// How much one cut should hold: exactly `records`, or as many as fill `bytes`.
struct CutSize {
    std::uint64_t records = 0; // 0: by bytes
    std::uint64_t bytes = 0;
    bool given = false; // it was asked for and stays, however small; many batches are published ahead
};

enum class CutStatus : std::uint8_t { cut, end, failed };

// For delimiters with a border, length-prefixed frames, and batches of an exact record count:
// what a record is depends on all that came before it, or its number does. Left to right,
// non-overlapping, as bytes.find().
//
// Threads: one.
class SequentialCutter {
  public:
    // `fd` is open for as long as this lives. `origin`: of the source's byte 0 in the file.
    // `read_bytes`: no single read asks for more.
    SequentialCutter(int fd, std::uint64_t file_bytes, std::uint64_t origin,
                     const Framing &framing, std::uint64_t max_record_bytes,
                     std::uint64_t read_bytes);

    CutStatus next(const CutSize &size, Cut &cut);

    // After CutStatus::failed: where and why. os_errno 0: `reason` says what is wrong.
    struct Failure {
        int os_errno = 0;
        std::uint64_t offset = 0;
        std::string reason{};
    };
    const Failure &failure() const { return failure_; }

  private:
    enum class Step : std::uint8_t { record, end, failed };
    // Finds the end of the record that begins at position_.
    Step step(std::uint64_t &record_bytes, std::uint64_t &next);
    Step step_delimited(std::uint64_t &record_bytes, std::uint64_t &next);
    Step step_frame(std::uint64_t &record_bytes, std::uint64_t &next);
    // Makes [offset, offset + bytes) visible in the window, as far as the file goes.
    bool skip_visible(const CutSize &size, Cut &cut);
    bool show(std::uint64_t offset, std::uint64_t bytes);
    ByteView window_from(std::uint64_t offset) const;
    Step fail(int os_errno, std::uint64_t offset, std::string reason);

    const int fd_;
    const std::uint64_t file_bytes_;
    const std::uint64_t origin_;
    const Framing &framing_;
    const std::uint64_t max_record_bytes_;
    const std::uint64_t read_bytes_;
    std::vector<std::byte> window_;
    std::uint64_t window_begin_ = 0; // offset in the file
    std::uint64_t window_end_ = 0;
    std::uint64_t position_ = 0; // where the next record begins
    Failure failure_;
};

} // namespace gristmill::input
