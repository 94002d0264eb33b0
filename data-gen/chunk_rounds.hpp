// Making the chunks of a stream in parallel, and handing them on in order.
#ifndef GRISTMILL_DATAGEN_CHUNK_ROUNDS_HPP
#define GRISTMILL_DATAGEN_CHUNK_ROUNDS_HPP

#include <cstdint>

#include "generate.hpp"
#include "record_stream.hpp"

namespace gristmill::datagen {

/// `asked`, or for 0 one thread for each CPU that affinity and control group leave to this process.
std::uint32_t threads_to_use(std::uint32_t asked);

/// Hands the records of `range` to `sink`, as generate_chunks does. Returns false if it said stop.
///
/// Threads: at most `threads` >= 1, the calling one included. They work in rounds of some
/// chunks each: while the calling thread hands on one round, the others make the next, and then it
/// joins them. What `sink` throws comes out here.
bool hand_on_chunks(RecordStream &stream, Range range, std::uint32_t threads, const Sink &sink);

} // namespace gristmill::datagen

#endif
