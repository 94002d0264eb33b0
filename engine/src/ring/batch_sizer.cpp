#include "ring/batch_sizer.hpp"

#include <algorithm>

namespace gristmill::ring {

namespace {
constexpr std::uint64_t kFirstBytes = 64 * 1024;
constexpr double kSmoothing = 0.25;      // weight of the newest observation
constexpr double kReasonToChange = 1.25; // desired against present size
constexpr std::uint64_t kEmptyBatches = 20; // a batch costs at least so many empty ones
} // namespace

BatchSizer::BatchSizer(const SizerLimits &limits)
    : limits_(limits), target_bytes_(std::min(kFirstBytes, limits.batch_bytes_max)) {}

void BatchSizer::begin_source(std::uint64_t source_bytes) {
    target_bytes_ = std::clamp<std::uint64_t>(source_bytes / (8 * std::uint64_t{limits_.workers}),
                                              1, target_bytes_);
}

// Fewer bytes than these are not worth a batch.
std::uint64_t BatchSizer::least_bytes() const {
    if (ns_per_byte_ <= 0)
        return 1;
    const double least = double(kEmptyBatches * limits_.empty_batch_ns) / ns_per_byte_;
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(least), 1,
                                     limits_.batch_bytes_max);
}

void BatchSizer::observe(const BatchObservation &batch) {
    if (batch.records == 0 || batch.input_bytes == 0)
        return;
    const double seen = double(std::max<std::uint64_t>(batch.wall_ns, 1)) /
                        double(batch.input_bytes);
    // One slow batch must not count for more than a reason to look again.
    ns_per_byte_ = ns_per_byte_ <= 0 ? seen
                                     : ns_per_byte_ + kSmoothing * (std::min(seen, 2 * ns_per_byte_) -
                                                                    ns_per_byte_);

    double desired = std::clamp(double(limits_.wall_ns_target) / ns_per_byte_,
                                double(least_bytes()), double(limits_.batch_bytes_max));
    if (limits_.output_bytes_max > 0 && batch.output_bytes > 0) {
        const double output_per_byte = double(batch.output_bytes) / double(batch.input_bytes);
        desired = std::min(desired, double(limits_.output_bytes_max) / output_per_byte);
    }
    desired = std::max(desired, 1.0);

    const double present = double(target_bytes_);
    ++unchanged_;
    if (desired > present * kReasonToChange && batch.input_bytes >= target_bytes_ / 2)
        target_bytes_ = static_cast<std::uint64_t>(
            std::min(desired, 2 * std::max(present, double(batch.input_bytes))));
    else if (desired * kReasonToChange < present)
        target_bytes_ = static_cast<std::uint64_t>(std::max(desired, present / 2));
    target_bytes_ = std::max<std::uint64_t>(target_bytes_, 1);
    if (double(target_bytes_) != present)
        unchanged_ = 0;
}

std::uint64_t BatchSizer::next_bytes(std::uint64_t remaining) const {
    const std::uint64_t guided =
        std::max(remaining / (2 * std::uint64_t{limits_.workers}), least_bytes());
    return std::clamp<std::uint64_t>(std::min(target_bytes_, guided), 1,
                                     limits_.batch_bytes_max);
}

} // namespace gristmill::ring
