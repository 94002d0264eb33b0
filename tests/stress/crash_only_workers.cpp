// Linked into a package with crash points (tests/stress/crash-package): neither the caller, whose pid is
// GRISTMILL_CRASH_CALLER, nor its nursery dies at a label.
#include <cstdlib>
#include <unistd.h>

namespace gristmill::os {

void crash_point_of_all(const char *label) noexcept;

__attribute__((visibility("hidden"))) void crash_point(const char *label) noexcept {
    const char *caller = std::getenv("GRISTMILL_CRASH_CALLER");
    const long pid = caller ? std::atol(caller) : 0;
    if (pid && pid != ::getpid() && pid != ::getppid())
        crash_point_of_all(label);
}

} // namespace gristmill::os
