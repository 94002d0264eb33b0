// What workers do to a batch.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

#include "base/bytes.hpp"
#include "store/output_area.hpp"

namespace gristmill::work {

// A run of whole records, handed to a payload.
struct PayloadBatch {
    ByteView data{}; // padded; ends with the delimiter under delimiter framing; not empty
    std::uint64_t record_count = 0;
    std::uint64_t sequence = 0;
    std::uint64_t byte_offset = 0; // of data[0] within its source
    std::uint32_t attempt = 0;
    bool delimiter_added = false;
    bool ends_open = false; // the last delimiter is missing and could not be added
};

// Who is asking: constant over a worker's life in a run.
struct WorkerIdentity {
    std::uint32_t worker = 0;
    std::uint32_t node = 0;
};

struct PayloadOutcome {
    bool batch_failed = false; // then the counts mean nothing
    std::string reason{};      // of a failed batch
    std::uint64_t emitted = 0;
    std::uint64_t filtered = 0;
    std::uint64_t failed = 0;
};

// Hears of each record that fails.
class FailureListener {
  public:
    virtual ~FailureListener() = default;
    // `index` counts within the payload's batch; called before later records' output is committed.
    virtual void record_failed(std::uint64_t index, std::string_view reason) = 0;
};

// One worker's instance. Threads: the worker's, from making to destruction.
class Payload {
  public:
    virtual ~Payload() = default;
    virtual PayloadOutcome process(const PayloadBatch &batch, store::OutputArea &output,
                                   FailureListener &failures) = 0;
    // The output belongs to the batch as a whole: it must come in one call.
    virtual bool wants_whole_batches() const { return false; }
};

// Makes instances. Threads: any; make() is called on the worker's own thread.
class PayloadFactory {
  public:
    virtual ~PayloadFactory() = default;
    // `cancelled` becomes true when the run is given up; it outlives the payload.
    virtual Result<std::unique_ptr<Payload>> make(const WorkerIdentity &identity,
                                                  const std::atomic<std::uint32_t> &cancelled) = 0;
};

} // namespace gristmill::work
