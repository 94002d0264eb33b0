// Where the output of a batch lies: written by the worker, read by egress.
#pragma once

#include <cstdint>

namespace gristmill {

enum class OutputPlace : std::uint8_t { none, ring, overflow, collection };

// Where the output lies. Positions count bytes from the start of the run and never wrap.
struct OutputLocation {
    OutputPlace place = OutputPlace::none;
    std::uint64_t begin = 0; // first position taken, padding before the data included
    std::uint64_t data = 0;  // first position of the data; for `collection` an address
    std::uint64_t bytes = 0; // of output
    std::uint64_t fault_bytes = 0; // of descriptions that follow the output
    std::uint64_t end = 0;         // one past the last position taken
};

} // namespace gristmill
