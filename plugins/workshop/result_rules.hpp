// Rules that the results of process() keep: of one batch, and of the same records in two batches.
#pragma once

#include <vector>

#include "plugin_instance.hpp"

namespace gristmill::workshop {

/// Judges a result by itself: status, counts, framing of the output.
void judge(const BatchResult &result, const RecordRange &range, const Handling &handling);

/// Judges the result of a batch by `expected`, what the same batch gave before. `how` says what was
/// different this time, as in "... differs when <how>". False if they differ.
bool judge_same(const BatchResult &expected, const BatchResult &got, const RecordRange &range,
                const char *topic, const std::string &how);

/// Judges the result of a batch by what its records gave in batches of their own; `alone` has one
/// result per record of the set. False if they differ.
bool judge_by_records(const std::vector<BatchResult> &alone, const BatchResult &got,
                      const RecordRange &range, const std::string &how);

/// True if the batch gave fewer output records than it emitted, so that it seems to sum them up.
bool sums_up(const BatchResult &result, const RecordRange &range);

} // namespace gristmill::workshop
