// Fills slots of the spool with the bytes of one source, and cuts them into batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

#include "input/byte_source.hpp"
#include "input/sequential_cutter.hpp"
#include "record/whole_records.hpp"
#include "store/spool.hpp"

namespace gristmill::input {

// A batch that lies in the spool.
struct SpooledCut {
    std::uint32_t slot = 0;        // the batch is one of its holders
    std::uint64_t origin = 0;      // see ring::BatchInput
    std::uint64_t begin = 0;       // bytes of the source
    std::uint64_t end = 0;
    std::uint64_t record_bytes = 0; // > 0: one record longer than max_record, without its delimiter;
                                    // of its bytes only the first are kept
    bool ends_source = false;       // its last record lacks the delimiter
};

// Reads straight into a slot, cuts behind the last whole record, carries what is left to the next
// slot. A record longer than a slot moves to larger ones. Where there are several nodes, batches take
// turns among them: hardly more is read than the next batch needs, and then a slot of another node begins.
// Batches whose size was given may be small: so many follow one another on a node that a read is worth it.
//
// Threads: one. Never blocks.
// Owns:    the source; holds the slot that is being filled.
class SpooledSource {
  public:
    enum class Next : std::uint8_t {
        cut,
        wait_for_data, // of fd(), or flush_pending() and the patience is over
        wait_for_room, // until a slot is released
        end,
        failed // see failure()
    };

    // All outlive this.
    SpooledSource(store::Spool &spool, ByteSource source, std::string name, const Framing &framing,
                  std::uint64_t max_record_bytes, std::uint64_t read_bytes);
    SpooledSource(const SpooledSource &) = delete;
    SpooledSource &operator=(const SpooledSource &) = delete;
    ~SpooledSource();

    // The next batch. `flush`: take less than wanted, if there is anything. `alone`: nobody else holds
    // a slot that will be released.
    Next next(const CutSize &size, bool flush, bool alone, SpooledCut &cut);

    // After wait_for_data: there are whole records, though fewer than wanted.
    bool flush_pending() const { return flush_pending_; }
    int fd() const { return source_.fd(); }
    const Error &failure() const { return *failure_; }
    std::uint64_t bytes() const { return slot_begin_ + cut_at_; } // of the source, in batches

  private:
    enum class Room : std::uint8_t { there, wait, failed };
    enum class Filled : std::uint8_t { more, nothing_yet, end, failed };

    ByteView uncut() const {
        return {spool_.data(*slot_) + cut_at_, static_cast<std::size_t>(filled_ - cut_at_)};
    }
    bool walks() const;
    bool full() const;
    std::uint64_t whole(const CutSize &size, bool flush);
    Room make_room(bool alone);
    Room move_to(std::uint64_t slot_bytes, bool alone);
    bool turn_over() const;
    std::uint64_t worth_reading() const;
    Filled fill();
    Next finish();
    Next take(std::uint64_t bytes, SpooledCut &cut);
    std::uint64_t long_frame(ByteView data) const;
    bool too_long();
    Next skip_oversized(bool alone, SpooledCut &cut);
    Next fail(std::uint64_t offset, const std::string &what);

    store::Spool &spool_;
    ByteSource source_;
    const std::string name_;
    const Framing &framing_;
    const std::uint64_t max_record_bytes_;
    const std::uint64_t read_bytes_;
    record::RecordWalk walk_;
    std::optional<std::uint32_t> slot_;
    std::uint64_t slot_begin_ = 0; // offset in the source of the slot's first byte
    std::uint64_t filled_ = 0;     // bytes in the slot
    std::uint64_t cut_at_ = 0;     // those before are in batches
    std::uint64_t wanted_bytes_ = 0; // of the batch in the making; 0: not known
    bool given_ = false;             // its size
    bool turn_ = false;              // the next batch is another node's
    std::uint64_t turn_bytes_ = 0;   // in batches of the slot since it was begun
    std::uint64_t turn_batches_ = 0;
    bool ended_ = false;
    bool flush_pending_ = false;

    // A record that is too long, while its end is looked for.
    struct Skipped {
        std::uint64_t begin = 0; // in the source
        std::uint64_t bytes = 0; // so far, what was read behind it included
    };
    std::optional<Skipped> skipped_;
    std::optional<Error> failure_;
};

} // namespace gristmill::input
