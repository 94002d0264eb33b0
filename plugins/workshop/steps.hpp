// The steps of a check. Each runs in a process of its own and reports to the ledger.
#pragma once

#include <vector>

#include "plugin_instance.hpp"

namespace gristmill::workshop {

struct Step {
    const char *name;
    const char *tries; // in a few words, unless the step says more
    void (*run)(const Subject &subject);
    bool vital = false;      // when it fails, no later step makes sense
    const char *advice = ""; // for whoever breaks it
};

/// From loading the file to destroying a state.
std::vector<Step> first_steps();
/// Single batches that are out of the ordinary.
std::vector<Step> record_steps();
/// The same records again, in other batches, states and threads.
std::vector<Step> repeat_steps();
/// What the engine does to a plugin only now and then.
std::vector<Step> rare_steps();
/// What a plugin leaves behind.
std::vector<Step> last_steps();

} // namespace gristmill::workshop
