// Failures of the batch in hand, until they are written behind its output.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "record/batch_view.hpp"
#include "record/failure_note.hpp"
#include "work/payload.hpp"

namespace gristmill::work {

// Which failures egress wants described.
enum class KeepNotes : std::uint8_t { none, lowest, all };

// Threads: the worker's.
class FailureLog final : public FailureListener {
  public:
    FailureLog(KeepNotes keep, const Framing &framing) : keep_(keep), framing_(framing) {}

    // Begins a batch; `output` is asked how much has been committed.
    void begin(const record::BatchView &batch, const store::OutputArea &output);
    // The records that follow are those of this segment.
    void enter(const record::Segment &segment) { segment_ = &segment; }

    void record_failed(std::uint64_t index, std::string_view reason) override;
    void record_failed(std::uint64_t index, record::FailureNote note) override;
    bool wants_note(std::uint64_t index) const override;
    void add_oversized(const record::OversizedRecord &oversized, std::uint64_t max_record_bytes);
    // The whole batch failed, or could not be read: this is all there is to say.
    void replace_by(record::FailureNote note);

    // The notes so far, in the order they came; none are left.
    std::vector<record::FailureNote> take() { return std::exchange(notes_, {}); }

    // Writes the notes behind the output, lowest index first; their bytes, or nothing when there
    // is no memory.
    std::uint64_t write(store::OutputArea &output);

  private:
    void add(record::FailureNote note);

    KeepNotes keep_;
    const Framing &framing_;
    const record::BatchView *batch_ = nullptr;
    const store::OutputArea *output_ = nullptr;
    const record::Segment *segment_ = nullptr;
    std::vector<record::FailureNote> notes_;
};

} // namespace gristmill::work
