// Ingress: opens files and divides them, or takes items, and publishes batches as far as the ring
// allows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

#include "input/file_source.hpp"
#include "input/item_file.hpp"
#include "input/sequential_cutter.hpp"
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
};

// Files are read by the workers; ingress publishes byte ranges. Only where the framing needs a
// forward pass does it read itself (SequentialCutter). Files are opened as they come up, and
// closed when their last batch is retired.
//
// Threads: the coordinator's.
class Ingress {
  public:
    // All outlive this. `items`: the source, instead of paths; none: null.
    Ingress(RunState state, const std::vector<std::string> &paths, const ItemFeed *items,
            const RunOptions &options, const IngressLimits &limits, record::SourceTable &table);

    // Publishes what may be published now. Blocks only for opening and cutting files.
    void pump();

    // Would pump() publish a group worth waking for?
    bool wants_to_publish();

    // A batch was retired: learn from it, close its file if it was the last.
    void batch_retired(const ring::BatchInput &input, const ring::BatchResult &result);

    // Why the source failed that published a source_error.
    const Error &failure() const { return *failure_; }
    // Sizes of the sources opened so far, when they were opened.
    const std::vector<std::uint64_t> &source_bytes() const { return source_bytes_; }
    bool finished() const { return finished_; }

  private:
    struct Opened {
        FileSource file{};
        std::uint64_t batches_out = 0; // published and not retired
        bool in_use = false;
        bool divided = false; // all of it has been published
    };

    std::uint32_t look_ahead() const;
    bool open_next();
    std::optional<std::uint16_t> free_slot() const;
    std::optional<std::uint64_t> next_bytes();
    bool publish_next();
    bool publish_arithmetic(std::uint64_t bytes);
    bool publish_cut();
    bool publish_items();
    bool begin_items();
    void publish(const ring::BatchInput &input);
    void publish_oversized(const ring::BatchInput &input);
    void fail(Error error);
    void end_source();
    void close_if_done(std::uint16_t slot);
    bool needs_cutter() const;
    Opened &current() { return opened_[slot_]; }

    const std::vector<std::string> &paths_;
    const ItemFeed *const items_;
    const RunOptions &options_;
    record::SourceTable &table_;
    ring::Publisher<ring::SystemAtomics> publisher_;
    ring::BatchSizer sizer_;
    const std::uint32_t workers_;
    const std::uint32_t ring_entries_;
    std::vector<Opened> opened_; // by slot
    std::vector<std::uint64_t> source_bytes_;
    std::optional<SequentialCutter> cutter_; // of the current source
    std::uint16_t slot_ = 0;       // of the current source
    std::uint64_t position_ = 0;   // in the current source
    std::uint64_t whole_bytes_ = 0; // of the current source: without a partial fixed record
    bool source_open_ = false;
    bool finished_ = false;
    std::optional<ItemFile> item_file_;
    std::optional<Error> failure_;
};

// Slots for open files: a quarter of the descriptors this process may have.
std::uint16_t source_slots();

} // namespace gristmill::input
