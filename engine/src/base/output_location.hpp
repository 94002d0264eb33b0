// Where the output of a batch lies: written by the worker, read by egress.
#pragma once

#include <cstdint>

namespace gristmill {

enum class OutputPlace : std::uint8_t {
    none,       // there is none
    ring,       // the worker's output ring
    overflow,   // the worker's overflow file
    collection, // memory of the engine's own process
    file,       // the worker's collection file
    isolation,  // the isolation file
    lost        // there was no memory for it
};

// Where the output lies. Positions count bytes from the start of the run and never wrap.
struct OutputLocation {
    OutputPlace place = OutputPlace::none;
    std::uint64_t begin = 0; // first position taken, padding before the data included
    std::uint64_t data = 0;  // first position of the data; for `collection` an address
    std::uint64_t bytes = 0; // of output
    std::uint64_t length_bytes = 0; // of the record lengths behind it, a u32 each; 0: not known
    std::uint64_t fault_bytes = 0; // of descriptions of failures behind both
    std::uint64_t end = 0;         // one past the last position taken

    // All that lies there.
    std::uint64_t whole_bytes() const { return bytes + length_bytes + fault_bytes; }
};

// How the committed bytes of a batch end: with record lengths, then with descriptions of failures.
struct OutputTail {
    std::uint64_t length_bytes = 0;
    std::uint64_t fault_bytes = 0;

    std::uint64_t bytes() const { return length_bytes + fault_bytes; }
};

} // namespace gristmill
