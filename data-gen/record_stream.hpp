// The records of a spec.
#ifndef GRISTMILL_DATAGEN_RECORD_STREAM_HPP
#define GRISTMILL_DATAGEN_RECORD_STREAM_HPP

#include <cstdint>
#include <memory>

#include "generate.hpp"
#include "record_buffer.hpp"

namespace gristmill::datagen {

class RecordStream {
  public:
    virtual ~RecordStream() = default;

    /// Appends the records from `begin` up to `end`, each followed by '\n'. Returns how many of
    /// them the set's payload has a result for. A sequential stream is asked for one range after
    /// the other, without gaps, from 0 on; any other for any range, by several threads at once.
    virtual std::uint64_t append(RecordBuffer &to, std::uint64_t begin, std::uint64_t end) = 0;

    virtual bool sequential() const noexcept = 0;

    /// How many records to ask for at a time.
    virtual std::uint64_t chunk_records() const noexcept = 0;
};

std::unique_ptr<RecordStream> open_reference_stream(const GenerateSpec &spec);
std::unique_ptr<RecordStream> open_fast_stream(const GenerateSpec &spec);

} // namespace gristmill::datagen

#endif
