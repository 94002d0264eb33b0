// What workers do to a batch.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

#include "base/bytes.hpp"
#include "record/failure_note.hpp"
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
    std::uint16_t incarnation = 0; // of the worker's process
};

// What a payload shares with those who watch the worker.
struct WorkerSignals {
    const std::atomic<std::uint32_t> &cancelled; // not 0: the run is given up
    // Odd while the payload works. A payload that takes records one by one adds 2 for each.
    std::atomic<std::uint64_t> &progress;
    // Process group of a program that the payload has started, 0 when there is none: whoever finds
    // the worker dead ends it.
    std::atomic<std::uint32_t> &command_group;
};

struct PayloadOutcome {
    bool batch_failed = false; // then the counts mean nothing
    bool worth_a_retry = false; // of a failed batch: may another try, or a part of it, succeed?
    std::string type{};        // of a failed batch: class of the error; empty: PluginError
    std::string reason{};
    std::string details{};     // a traceback, for people
    std::uint64_t emitted = 0;
    std::uint64_t filtered = 0;
    std::uint64_t failed = 0;
    std::optional<bool> last_gave{}; // did the last record give bytes? None: look at the output
};

// Hears of each record that fails.
class FailureListener {
  public:
    virtual ~FailureListener() = default;
    // `index` counts within the payload's batch; called before later records' output is committed.
    virtual void record_failed(std::uint64_t index, std::string_view reason) = 0;
    // With more to say: type, details and original are taken from `note`, whose other fields are
    // filled in here.
    virtual void record_failed(std::uint64_t index, record::FailureNote note) = 0;
    // Does anybody want to know more than that it failed?
    virtual bool wants_note(std::uint64_t index) const = 0;
};

// One worker's instance. Threads: the worker's, from making to destruction.
class Payload {
  public:
    virtual ~Payload() = default;
    virtual PayloadOutcome process(const PayloadBatch &batch, store::OutputArea &output,
                                   FailureListener &failures) = 0;
    // Appends the length of each output record of the last process() to `lengths`, without what frames
    // it; false: it does not know them, they are found by splitting the output.
    virtual bool add_lengths(std::vector<std::uint32_t> &) const { return false; }
    // A record failed that it never got, or did not survive: what it leaves in its place.
    virtual void stand_in_for_failed(store::OutputArea &) {}
    // The output belongs to the batch as a whole: it must come in one call.
    virtual bool wants_whole_batches() const { return false; }
    // May a batch that it fails, or dies of, be handed over record by record all the same?
    virtual bool may_be_divided() const { return true; }
};

// Makes instances. Threads: any; make() is called on the worker's own thread.
class PayloadFactory {
  public:
    virtual ~PayloadFactory() = default;
    // The signals outlive the payload.
    virtual Result<std::unique_ptr<Payload>> make(const WorkerIdentity &identity,
                                                  const WorkerSignals &signals) = 0;
    // May it serve another run of the same description?
    virtual bool still_good() const { return true; }
};

} // namespace gristmill::work
