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
    oversized,   // bytes [begin, end) are one record longer than allowed: it fails unread
    source_error // no bytes: the source failed here (rule R7)
};

// What to work on. Written by the publisher before `ready`.
struct BatchInput {
    BatchKind kind = BatchKind::extent;
    std::uint16_t source_slot = 0; // of the source table
    std::uint32_t source = 0;      // index of the source within the run
    std::uint64_t begin = 0;       // bytes within the source
    std::uint64_t end = 0;
    std::uint64_t record_count = 0; // kind exact
    std::uint64_t record_bytes = 0; // kind oversized: without its delimiter
};

enum class Fault : std::uint8_t {
    none,
    record, // some records failed; their descriptions lie behind the output
    source, // the source could not be read; description behind the output
    plugin, // the whole batch failed; description behind the output
    memory  // no memory for the batch
};

// What became of it. Written by the worker before `done`, valid only with it.
struct BatchResult {
    Fault fault = Fault::none;
    bool delimiter_added = false;     // the input lacked the last one
    bool ends_open = false;           // the last output record lacks its delimiter
    bool last_record_gave = false;    // the last input record gave output that is not blank
    std::uint32_t node = 0;           // where it ran
    std::uint32_t home = kNoHome;     // where it should have run
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
};

} // namespace gristmill::ring
