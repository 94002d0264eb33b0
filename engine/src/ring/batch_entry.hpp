// One entry of the batch ring: what a batch is, and what became of it.
#pragma once

#include <cstdint>

#include "base/output_location.hpp"
#include "ring/state_word.hpp"

namespace gristmill::ring {

inline constexpr std::uint16_t kNoHome = 0xffff;

enum class BatchKind : std::uint8_t {
    extent,      // bytes [begin, end) of a source; the worker finds the records that start there
    exact,       // bytes [begin, end) are whole records, `record_count` of them
    spooled,     // the same, not counted yet; they can be read once
    oversized,   // bytes [begin, end) are one record longer than allowed: it fails unread
    source_error // no bytes: the source failed here (rule R7)
};

// Of a record that is too long and cannot be read again, these are kept.
inline constexpr std::uint64_t kKeptOversizedBytes = 4096;

// What to work on. Written by the publisher before `ready`.
struct BatchInput {
    BatchKind kind = BatchKind::extent;
    std::uint16_t source_slot = 0; // of the source table
    std::uint32_t source = 0;      // index of the source within the run
    std::uint64_t begin = 0;       // bytes within the source
    std::uint64_t end = 0;
    std::uint64_t origin = 0;      // where in the file the source's byte 0 lies, or would lie,
                                   // modulo 2^64
    bool ends_source = false;      // kind spooled: the last record lacks its delimiter
    std::uint64_t record_count = 0; // kind exact
    std::uint64_t record_bytes = 0; // kind oversized: without its delimiter
};

enum class Fault : std::uint8_t {
    none,
    record, // some records failed; their descriptions lie behind the output
    source, // the source could not be read; description behind the output
    plugin, // the whole batch failed; description behind the output
    memory, // no memory for the batch
    crash   // its worker died, and nothing is left to be tried; description behind the output
};

// What ended the last worker that held a batch.
enum class Death : std::uint8_t { none, crashed, timed_out, killed_from_outside };

// What a batch has given so far whose records are fed one at a time.
struct IsolationProgress {
    std::uint64_t output_bytes = 0; // in the isolation file
    std::uint64_t note_bytes = 0;
    std::uint64_t lengths = 0; // output records whose length is known
    std::uint64_t emitted = 0;
    std::uint64_t filtered = 0;
    std::uint64_t failed = 0;
};

// How far a batch has come that killed its workers as a whole; survives the next death.
//
// Written by the batch's holder; by the supervisor between two holders.
struct IsolationMark {
    static constexpr std::uint32_t kNoRegion = ~std::uint32_t{0};
    std::uint32_t region = kNoRegion; // of the isolation file; none: the batch is worked on whole
    Death death = Death::none;
    std::uint8_t spared = 0;      // how often the record in hand was tried again
    std::int32_t exit_status = 0; // of the worker that died, as from waitpid(2)
    std::uint64_t next = 0;       // records below are dealt with; one store makes a step
    std::uint64_t in_hand = 0;    // next + 1 while that record is given to the payload
    IsolationProgress progress[2]{}; // [next % 2] after the records below next; the other, before
};

// What became of it. Written by the worker before `done`, valid only with it.
struct BatchResult {
    Fault fault = Fault::none;
    bool delimiter_added = false;     // the input lacked the last one
    bool ends_open = false;           // the last output record lacks its delimiter
    bool last_record_gave = false;    // the last input record gave output that is not blank
    std::uint32_t node = 0;           // where it ran
    std::uint32_t home = kNoHome;     // where it should have run
    bool as_head = false;             // it was claimed for being the oldest batch
    std::uint64_t begin = 0;          // bytes of the source really covered
    std::uint64_t end = 0;
    std::uint64_t read = 0;           // records framed
    std::uint64_t emitted = 0;
    std::uint64_t filtered = 0;
    std::uint64_t failed = 0;
    std::uint64_t output_records = 0;
    std::uint64_t wall_ns = 0;
    OutputLocation output{};
};

// Threads: the state word decides (rule R1): fields are read only by its holder after a
//          successful compare-and-swap, or by egress while it is `done`; written by the publisher
//          while `empty`, by the holder while `claimed`.
// Orders:  each transition releases the fields written before it; each load of the state that
//          leads to reading them acquires.
template <class A>
struct alignas(64) BatchEntry {
    typename A::template Atomic<std::uint64_t> state{0};
    typename A::template Atomic<std::uint32_t> home{kNoHome};   // hint, read again after a claim
    typename A::template Atomic<std::uint64_t> input_bytes{0};  // hint, for the input budget
    BatchInput input{};
    BatchResult result{};
    IsolationMark isolation{};
};

} // namespace gristmill::ring
