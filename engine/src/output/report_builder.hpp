// Sums what batches report, and checks that it adds up.
#pragma once

#include <cstdint>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/report.hpp>
#include <gristmill/topology.hpp>

#include "ring/batch_entry.hpp"

namespace gristmill::output {

// Threads: egress.
// Keeps:   I15. read = emitted + filtered + failed + discarded, whatever the end of the run.
class ReportBuilder {
  public:
    explicit ReportBuilder(const Plan &plan);

    // A batch whose fate is known: delivered (`failed` of its records not), or thrown away.
    void add_delivered(const ring::BatchResult &result);
    void add_discarded(const ring::BatchResult &result);
    // A batch of which only a part was delivered, before the record that ended the run.
    void add_partly_delivered(const ring::BatchResult &result, std::uint64_t output_bytes);

    const Report &so_far() const { return report_; } // without medians
    std::uint64_t read() const { return report_.read; }
    std::uint64_t failed() const { return report_.failed; }

    // ErrorKind::accounting when the counts do not add up.
    Result<void> check(bool complete) const;

    // The report so far, with medians taken.
    Report finish();

  private:
    void add_shape(const ring::BatchResult &result);

    Report report_;
    std::uint64_t sample_step_ = 1; // every so-manieth batch is sampled
    std::vector<std::uint64_t> sample_;
};

} // namespace gristmill::output
