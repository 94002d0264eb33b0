// Where retired output goes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gristmill/batch.hpp>
#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

#include "os/output_file.hpp"

namespace gristmill::output {

// A batch on its way out.
struct RetiredBatch {
    OutputBatch output{};
    std::uint64_t read = 0;       // input records
    bool delimiter_added = false; // its source lacked the last delimiter
    bool last_record_gave = false; // its last record gave output that is not blank
};

// Threads: egress. Batches come in retiring order.
class Sink {
  public:
    virtual ~Sink() = default;
    // The batch's data is valid during the call; for collected output, as long as its chunk.
    virtual Result<void> deliver(const RetiredBatch &batch) = 0;
    // All was delivered, the run succeeded.
    virtual Result<void> finish() { return {}; }
};

// Throws everything away.
class DiscardSink final : public Sink {
  public:
    Result<void> deliver(const RetiredBatch &) override { return {}; }
};

// Keeps the batch delivered last, for whoever takes the output batch by batch.
class StreamSink final : public Sink {
  public:
    Result<void> deliver(const RetiredBatch &batch) override {
        if (!batch.output.data.empty() || batch.output.record_count > 0)
            batch_ = batch.output;
        return {};
    }
    const std::optional<OutputBatch> &batch() const { return batch_; }
    void clear() { batch_.reset(); }

  private:
    std::optional<OutputBatch> batch_;
};

// Keeps where collected output lies.
class CollectSink final : public Sink {
  public:
    Result<void> deliver(const RetiredBatch &batch) override;

    std::vector<OutputBatch> take_batches() { return std::move(batches_); }
    // The input's last record lacked its delimiter and gave something: the whole ends without.
    bool ends_without_delimiter() const { return ends_without_delimiter_; }

  private:
    std::vector<OutputBatch> batches_;
    bool ends_without_delimiter_ = false;
    std::uint64_t collected_bytes_ = 0;
    std::uint64_t available_bytes_ = 0; // 0: not asked yet
};

// Writes a file. A last delimiter that the input lacked is held back, and dropped at the end.
class FileSink final : public Sink {
  public:
    FileSink(os::OutputFile file, const Framing &framing, Order order)
        : file_(std::move(file)), framing_(framing), order_(order) {}
    Result<void> deliver(const RetiredBatch &batch) override;
    Result<void> finish() override { return file_.commit(); }

  private:
    os::OutputFile file_;
    const Framing framing_;
    const Order order_;
    bool delimiter_held_back_ = false;
};

} // namespace gristmill::output
