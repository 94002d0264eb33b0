// A check on paper: for people as it goes on, for programs at its end.
#pragma once

#include <string>
#include <vector>

#include "isolation.hpp"

namespace gristmill::workshop {

void print_heading(const Subject &subject);
/// A line for the step, and one for each finding. `all` are the reports until now, this one the
/// last; what an earlier one has said is not said again.
void print_step(const StepReport &report, const std::vector<StepReport> &all);
void print_summary(const std::vector<StepReport> &reports, const Subject &subject);
void print_json(const std::vector<StepReport> &reports, const Subject &subject);

} // namespace gristmill::workshop
