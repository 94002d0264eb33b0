#include "output/report_builder.hpp"

#include <algorithm>
#include <string>

namespace gristmill::output {

namespace {
constexpr std::size_t kSampleMax = 1024;
}

ReportBuilder::ReportBuilder(const Plan &plan) {
    report_.workers = static_cast<std::uint32_t>(plan.workers.size());
    report_.nodes.resize(plan.nodes.size());
    for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
        report_.nodes[i].node = i;
        report_.nodes[i].workers = plan.nodes[i].workers;
        if (const auto memory_node = plan.placed_on(i))
            report_.nodes[i].memory_node = static_cast<std::int32_t>(*memory_node);
    }
    if (plan.placement == Placement::wanted)
        report_.placement = "each node's memory comes from that of its CPUs, as far as there is any";
    else if (plan.placement == Placement::refused)
        report_.placement = "off: the kernel does not let this process say where memory comes from (" +
                            plan.refusal + "); results are the same";
}

void ReportBuilder::add_delivered(const ring::BatchResult &result) {
    report_.read += result.read;
    report_.emitted += result.emitted;
    report_.filtered += result.filtered;
    report_.failed += result.failed;
    report_.output_records += result.output_records;
    report_.output_bytes += result.output.bytes;
    add_shape(result);
}

void ReportBuilder::add_discarded(const ring::BatchResult &result) {
    report_.read += result.read;
    report_.discarded += result.read;
}

void ReportBuilder::add_partly_delivered(const ring::BatchResult &result,
                                         std::uint64_t output_bytes) {
    report_.read += result.read;
    report_.failed += 1;
    report_.discarded += result.read - 1;
    report_.output_bytes += output_bytes;
    add_shape(result);
}

void ReportBuilder::add_shape(const ring::BatchResult &result) {
    const std::uint64_t bytes = result.end - result.begin;
    report_.input_bytes += bytes;
    if (result.read == 0)
        return;
    ++report_.batches;
    report_.batch_bytes_min =
        report_.batches == 1 ? bytes : std::min(report_.batch_bytes_min, bytes);
    report_.batch_bytes_max = std::max(report_.batch_bytes_max, bytes);
    if (report_.batches % sample_step_ == 0)
        sample_.push_back(bytes);
    if (sample_.size() > kSampleMax) { // keep every other one from here on
        for (std::size_t i = 0; i < sample_.size() / 2; ++i)
            sample_[i] = sample_[2 * i];
        sample_.resize(sample_.size() / 2);
        sample_step_ *= 2;
    }
    if (result.node >= report_.nodes.size())
        return;
    NodeReport &node = report_.nodes[result.node];
    ++node.batches;
    node.records += result.read;
    node.busy_seconds += double(result.wall_ns) * 1e-9;
    if (result.home == ring::kNoHome)
        return;
    if (result.home == result.node)
        ++node.batches_home;
    else
        ++(result.as_head ? node.batches_head : node.batches_stolen);
}

Result<void> ReportBuilder::check(bool complete) const {
    const std::uint64_t settled = report_.emitted + report_.filtered + report_.failed;
    const bool adds_up = report_.read == settled + report_.discarded;
    if (adds_up && (!complete || report_.discarded == 0))
        return {};
    Error error;
    error.kind = ErrorKind::accounting;
    error.message = "records do not add up: " + std::to_string(report_.read) + " read, but " +
                    std::to_string(report_.emitted) + " emitted + " +
                    std::to_string(report_.filtered) + " filtered + " +
                    std::to_string(report_.failed) + " failed + " +
                    std::to_string(report_.discarded) +
                    " discarded; this is a bug of gristmill, please report it";
    return error;
}

Report ReportBuilder::finish() {
    if (report_.batches > 0)
        report_.batch_bytes_mean = report_.input_bytes / report_.batches;
    if (!sample_.empty()) {
        const auto middle = sample_.begin() + std::ptrdiff_t(sample_.size() / 2);
        std::nth_element(sample_.begin(), middle, sample_.end());
        report_.batch_bytes_median = *middle;
    }
    return report_;
}

} // namespace gristmill::output
