// Running a step where whatever the plugin does costs that step alone.
#pragma once

#include <string>
#include <vector>

#include "ledger.hpp"
#include "steps.hpp"

namespace gristmill::workshop {

struct StepReport {
    std::string name;
    std::string tried;
    std::vector<Finding> findings;
    std::string advice;
    bool done = false;      // false: it was not tried at all
    bool timed_out = false; // its process was ended
    double seconds = 0;

    bool violated() const;
};

/// Runs the step in a child of its own, with a process group of its own and no terminal. When the
/// time is over it and all its children are ended. Blocks. The tool has one thread.
StepReport run_isolated(const Step &step, const Subject &subject);

} // namespace gristmill::workshop
