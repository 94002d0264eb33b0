// Ingress: opens sources and divides them, or takes items, and publishes batches as far as the ring
// allows.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>
#include <gristmill/source.hpp>

#include "input/open_source.hpp"
#include "input/sequential_cutter.hpp"
#include "input/spool_feed.hpp"
#include "os/input_descriptor.hpp"
#include "os/thread.hpp"
#include "record/source_table.hpp"
#include "ring/batch_sizer.hpp"
#include "ring/publisher.hpp"

namespace gristmill::input {

using RunState = ring::RunState<ring::SystemAtomics>;

struct IngressLimits {
    std::uint32_t workers = 1;          // >= 1
    std::uint64_t input_bytes = 0;      // in flight
    std::uint64_t batch_bytes_max = 0;  // of an adaptive batch
    std::uint64_t output_bytes_max = 0; // of a batch's output; 0: no limit
    std::uint64_t batch_wall_ns = 0;    // to aim at; 0: the usual
    std::vector<store::SpoolNode> nodes{{}}; // of the plan
};

// Files are read by the workers; ingress publishes byte ranges. Only where the framing needs a
// forward pass does it read itself (SequentialCutter). What cannot be divided, and items, goes
// through the spool. Sources are opened as they come up, and closed when their last batch is retired.
//
// Threads: the coordinator's, until a source has to be waited for: from then on a thread of its own
//          publishes, and the coordinator only tells what was retired. `retired_mutex_` guards what
//          both touch.
class Ingress {
  public:
    // All outlive this. `items`: the source, instead of others; none: null.
    Ingress(RunState state, const Sources &sources, const ItemFeed *items,
            const RunOptions &options, const IngressLimits &limits, record::SourceTable &table);
    Ingress(const Ingress &) = delete;
    Ingress &operator=(const Ingress &) = delete;
    ~Ingress() { stop(); }

    // Publishes what may be published now, in the coordinator's thread. Blocks only for opening and
    // cutting files, and for items.
    void pump();

    // Would pump() publish a group worth waking for?
    bool wants_to_publish();

    // Has a source come up that has to be waited for?
    bool wants_thread() const { return wants_thread_; }
    // Moves ingress to a thread of its own.
    Result<void> start_thread();
    bool has_thread() const { return threaded_; }
    // Ends that thread, wherever it waits. Nothing is published any more.
    void stop();

    // A batch was retired: learn from it, close its file if it was the last.
    void batch_retired(const ring::BatchInput &input, const ring::BatchResult &result);

    // Why the source failed that published a source_error.
    const Error &failure() const { return *failure_; }
    // When stopped: sizes of the sources opened so far, files as they were when they were opened.
    const std::vector<std::uint64_t> &source_bytes() const { return source_bytes_; }
    // When stopped: what the spool was used for.
    store::SpoolCounters spool_counters() const {
        return feed_ ? feed_->counters() : store::SpoolCounters{};
    }
    // When stopped: of each node, whether what lies in the spool lies there.
    std::vector<os::PageAudit> audit_spool() const {
        return feed_ ? feed_->audit() : std::vector<os::PageAudit>();
    }
    bool finished() const { return finished_; }

  private:
    enum class Step : std::uint8_t {
        went_on,
        no_room, // in the ring, the budget, the spool, or the table of sources
        no_data, // of the source, yet
        ended
    };
    struct Opened {
        FileSource file{};
        std::uint64_t batches_out = 0; // published and not retired
        bool in_use = false;
        bool divided = false; // all of it has been published
    };

    void run();
    void await_room();
    void await_data();
    Step advance();
    Step open_next();
    Result<OpenedSource> take_opened(std::size_t index);
    void open_ahead();
    Step begin_file(FileSource file);
    Step begin_stream(ByteSource stream);
    Step publish_divided();
    Step publish_cut();
    Step publish_spooled();
    Step publish_items();
    Result<void> begin_items();
    std::uint64_t usual_slot_bytes() const;
    Result<void> make_feed();
    Step end();
    Step end_source();
    Step fail(Error error);

    std::uint32_t look_ahead();
    std::optional<std::uint16_t> free_slot();
    std::optional<std::uint64_t> next_bytes();
    bool may_publish(std::uint64_t bytes);
    void publish(const ring::BatchInput &input, const SpooledCut *spooled = nullptr);
    void publish_oversized(const ring::BatchInput &input, const SpooledCut *spooled = nullptr);
    ring::BatchInput of_current(ring::BatchInput input, const SpooledCut *spooled);
    void use_slot(Opened opened, int fd, std::uint64_t bytes);
    void close_if_done(std::uint16_t slot);
    bool needs_cutter() const;
    bool reads_once(const FileSource &file) const;
    const std::string &source_name() const;

    RunState state_;
    const Sources &sources_;
    const ItemFeed *const items_;
    const RunOptions &options_;
    const IngressLimits limits_;
    record::SourceTable &table_;
    ring::Publisher<ring::SystemAtomics> publisher_;
    const std::uint32_t ring_entries_;

    std::mutex retired_mutex_;
    ring::BatchSizer sizer_;     // guarded
    std::vector<Opened> opened_; // by slot; guarded

    std::vector<std::uint64_t> source_bytes_;
    std::optional<SequentialCutter> cutter_; // of the current source
    std::uint16_t slot_ = 0;        // of the current source
    std::uint64_t position_ = 0;    // in the current source
    std::uint64_t file_bytes_ = 0;  // of the current source
    std::uint64_t whole_bytes_ = 0; // the same without a partial fixed record
    std::uint64_t origin_ = 0;      // of the current source, in its file
    enum class Current : std::uint8_t { none, file, stream };
    Current current_ = Current::none; // what kind of source is open

    std::deque<Result<OpenedSource>> opened_ahead_; // the sources behind the current one

    std::optional<SpoolFeed> feed_;
    std::optional<SpooledCut> pending_;  // cut, and not published
    std::optional<ItemChunk> pulled_;    // and not in the spool
    std::uint64_t patience_ends_ns_ = 0; // for more input, while whole records wait; 0: none do
    bool flush_ = false;
    bool spool_full_ = false;
    std::uint64_t spooled_batches_ = 0; // published so far
    std::uint64_t spooled_bytes_ = 0;   // in them

    bool wants_thread_ = false;
    bool threaded_ = false; // from then on for good
    bool waiting_ = false; // for room; then not for a little
    std::atomic<bool> stopping_{false};
    std::optional<os::WakeDescriptor> wake_;
    std::optional<os::Thread> thread_;
    bool finished_ = false;
    std::optional<Error> failure_;
};

// Slots for open files: a quarter of the descriptors this process may have.
std::uint16_t source_slots();

} // namespace gristmill::input
