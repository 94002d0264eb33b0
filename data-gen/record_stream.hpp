// The records of a spec, one after the other.
#ifndef GRISTMILL_DATAGEN_RECORD_STREAM_HPP
#define GRISTMILL_DATAGEN_RECORD_STREAM_HPP

#include <cstdint>
#include <memory>
#include <string>

#include "generate.hpp"

namespace gristmill::datagen {

class RecordStream {
  public:
    virtual ~RecordStream() = default;

    /// Appends the next `count` records, each followed by '\n'.
    virtual void append(std::string &to, std::uint64_t count) = 0;
};

/// The reference stream of a record set; null for a set that has none.
std::unique_ptr<RecordStream> open_reference_stream(const GenerateSpec &spec);

} // namespace gristmill::datagen

#endif
