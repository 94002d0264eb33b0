// Takes the place of the engine's own check_failed() in this test: a check that fails inside a
// simulated run is a finding with a seed and a trace, not the end of the process.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/check.hpp"
#include "support/deterministic_scheduler.hpp"

namespace gristmill {

void check_failed(const char *condition, const char *file, int line) {
    if (test::Scheduler *scheduler = test::Scheduler::active())
        scheduler->fail(std::string("check failed: ") + condition);
    std::fprintf(stderr, "check failed: %s (%s:%d)\n", condition, file, line);
    std::abort();
}

} // namespace gristmill
