// Egress: retires batches, accounts for their records, hands their output to a sink.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>
#include <gristmill/report.hpp>

#include "output/coverage.hpp"
#include "output/dead_letters.hpp"
#include "output/report_builder.hpp"
#include "output/sink.hpp"
#include "record/failure_note.hpp"
#include "ring/retirer.hpp"
#include "store/output_reader.hpp"

namespace gristmill::output {

using RunState = ring::RunState<ring::SystemAtomics>;

// What egress asks about sources; the engine answers.
class SourceNames {
  public:
    virtual ~SourceNames() = default;
    virtual std::string name(std::uint32_t source) const = 0;
    // The failure that a BatchKind::source_error entry stands for.
    virtual Error failure(std::uint32_t source) const = 0;
    // Bytes [offset, offset + bytes) of the source of a batch not yet retired; fewer if they cannot
    // be read any more.
    virtual std::vector<std::byte> bytes_of(const ring::BatchInput &batch, std::uint64_t offset,
                                            std::uint64_t bytes) const = 0;
};

// Hears of each batch that was retired.
using BatchListener = std::function<void(const ring::BatchInput &, const ring::BatchResult &)>;

struct EgressParts {
    const RunOptions &options;
    const Plan &plan;
    Sink &sink;
    const SourceNames &sources;
    store::OutputReader &outputs;
    std::optional<DeadLetters> dead_letters{};
    BatchListener listener{};
    bool one_by_one = false; // each delivered batch stays where it is until the next retire()
};

// Threads: the coordinator's.
// Keeps:   I16. Everything before a failing record in input order is delivered, nothing behind it.
class Egress {
  public:
    Egress(RunState state, EgressParts parts);

    // Retires what is done; one by one, if so asked for. How many batches; after an error, none.
    std::uint64_t retire();

    // Before sleeping, see Retirer::prepare_target(). `impatient`: the head alone is worth a wake.
    bool prepare_target(bool impatient);
    // Is more waited for than the head? Then not for longer than the flush interval.
    bool waits_for_more() const { return parts_.one_by_one && retirer_.waits_for_more(); }
    bool finished() const { return retirer_.finished(); }
    const std::optional<Error> &error() const { return error_; }

    // When all workers have left: what was done and never delivered is counted as discarded.
    void discard_rest();

    // Checks the counts, and for a complete run the coverage: `source_bytes[i]` of source i.
    Result<void> check(const std::vector<std::uint64_t> &source_bytes, bool complete) const;

    // What has been retired so far.
    const Report &so_far() const { return report_.so_far(); }
    Report report() { return report_.finish(); }
    std::vector<RecordFailure> take_failures();

  private:
    void let_go();
    // A retired entry as it was when it was looked at: workers may still write to the ring's memory.
    struct Taken {
        ring::BatchInput input;
        ring::BatchResult result;
    };
    bool deliver(std::uint64_t sequence, const RunState::Entry &entry);
    bool judge(std::uint64_t sequence, const Taken &entry, const store::OutputView &view);
    bool judge_records(std::uint64_t sequence, const Taken &entry,
                       const store::OutputView &view);
    std::vector<record::FailureNote> notes_of(const Taken &entry,
                                              const store::OutputView &view) const;
    bool hand_over(std::uint64_t sequence, const Taken &entry,
                   const store::OutputView &view);
    bool stop(Error error);
    bool add_failure(std::uint64_t sequence, const ring::BatchInput &input,
                     const record::FailureNote &note, bool whole_batch);
    RecordFailure describe(const ring::BatchInput &input, const record::FailureNote &note) const;
    Error record_error(const RecordFailure &failure) const;
    Error source_error(const ring::BatchInput &input, const record::FailureNote &note) const;
    Error plugin_error(std::uint64_t sequence, const ring::BatchInput &input,
                       const ring::BatchResult &result, const record::FailureNote &note) const;
    Error lost_output_error(std::uint64_t sequence, OutputPlace place) const;

    RunState state_;
    EgressParts parts_;
    ring::Retirer<ring::SystemAtomics> retirer_;
    ReportBuilder report_;
    Coverage coverage_;
    bool covered_twice_ = false;
    std::vector<RecordFailure> failures_;
    std::vector<std::uint64_t> failure_batches_;  // sequence of failures_[i], order none
    std::vector<std::uint64_t> records_of_batch_; // by sequence, order none
    struct Held {
        std::uint32_t worker = 0;
        OutputLocation output{};
    };
    std::uint64_t batch_wall_ns_ = 0; // smoothed
    std::optional<Held> held_; // delivered, and not let go
    std::optional<Error> error_;
};

} // namespace gristmill::output
