// Reads a batch of a regular file into the worker's buffer, by the extent rules.
#pragma once

#include <cstdint>
#include <optional>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

#include "record/batch_view.hpp"
#include "record/framing_rules.hpp"
#include "record/input_buffer.hpp"
#include "record/spool_windows.hpp"

namespace gristmill::record {

// A file as it was when it was opened: growth is ignored, shrinking is an error.
struct FileExtent {
    int fd = -1;
    std::uint64_t file_bytes = 0;
    std::uint64_t begin = 0; // bytes
    std::uint64_t end = 0;   // <= file_bytes
    std::uint64_t origin = 0; // where in the file the source's byte 0 lies, or would lie (mod 2^64)
    bool spooled = false;     // the file is the spool, and the extent whole records there
};

struct ReadError {
    int os_errno = 0;          // 0: the file is shorter than it was, or is not what it was
    std::uint64_t offset = 0;  // where
    bool changed = false;      // its records are not those that were counted
    bool no_memory = false;
};

// Threads: one.
// Owns:    what is in the buffer, and windows of the spool; the view of a batch is valid until the
//          next read.
//
// The extent rules, for delimiters without a border: a record starts at p in [begin, end) iff p
// is the first byte of the file or the delimiter stands right before p, and p < file size. The
// batch is the records that start in the extent, each to its end, wherever that is. So every
// record belongs to exactly one extent, however a file is divided.
class ExtentReader {
  public:
    // `read_bytes`: no single read asks for more, 0 = no limit (tests). `last_record_apart`: a last
    // record whose delimiter was added becomes a segment of its own.
    ExtentReader(InputBuffer &buffer, const Framing &framing, std::uint64_t max_record_bytes,
                 std::uint64_t read_bytes, bool last_record_apart = false);

    // The records that start in the extent. False: see error().
    bool read_records_starting_in(const FileExtent &extent);

    // The extent is whole records, `record_count` of them if that is known. False: see error().
    bool read_whole_records(const FileExtent &extent, std::optional<std::uint64_t> record_count);

    const BatchView &batch() const { return batch_; }
    const ReadError &error() const { return error_; }

  private:
    void begin(const FileExtent &extent);
    bool load(std::uint64_t until);
    bool load_and_scan(RecordScan &scan);
    bool find_first(std::uint64_t &first);
    bool load_last(std::uint64_t first, std::uint64_t &last, bool &whole);
    bool skip_oversized(std::uint64_t &last);
    bool finish(std::uint64_t first, std::uint64_t last, bool whole);
    void set_last_record_apart();
    bool add_delimiter(std::uint64_t first, std::uint64_t last);
    void divide(ByteView data);
    std::uint64_t over_read() const;
    bool map();
    ByteView loaded() const { return {data_, loaded_ - base_}; }

    InputBuffer &buffer_;
    const Framing &framing_;
    const std::uint64_t max_record_bytes_;
    const std::uint64_t read_bytes_;
    const bool last_record_apart_;
    SpoolWindows windows_;
    const std::byte *data_ = nullptr; // in the buffer, or in a window
    FileExtent extent_;
    std::uint64_t base_ = 0;   // offset in the file of the first byte of data_
    std::uint64_t loaded_ = 0; // offset in the file behind the last byte loaded
    std::uint64_t mean_record_bytes_ = 128;
    std::optional<std::uint64_t> counted_; // records of the extent, if that is known already
    std::uint64_t used_before_ = 0;        // bytes of the buffer, by the batch before
    OversizedRecord tail_; // last record of the extent, left out unread; bytes = 0: none
    BatchView batch_;
    ReadError error_;
};

} // namespace gristmill::record
