// Linked into the worker program that dies at labelled steps, see os/crash_point.hpp.
//
// GRISTMILL_CRASH_POINT is the label, GRISTMILL_CRASH_PLAN a file with two numbers of 64 bits that
// all workers share: every how many passages of the label somebody dies, and how many may die yet;
// behind them, the passages so far.
#include "os/crash_point.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/crash_plan.hpp"

namespace gristmill::os {

namespace {

e2e::CrashPlanWords *map_plan() {
    const char *path = std::getenv("GRISTMILL_CRASH_PLAN");
    const int fd = path ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return nullptr;
    void *at = ::mmap(nullptr, sizeof(e2e::CrashPlanWords), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    return at == MAP_FAILED ? nullptr : static_cast<e2e::CrashPlanWords *>(at);
}

} // namespace

void crash_point(const char *label) noexcept {
    static const char *const wanted = std::getenv("GRISTMILL_CRASH_POINT");
    static e2e::CrashPlanWords *const plan = map_plan();
    if (!plan || !wanted || std::strcmp(label, wanted) != 0)
        return;
    if ((plan->passages.fetch_add(1) + 1) % plan->every.load() == 0 &&
        plan->deaths_left.fetch_sub(1) > 0)
        ::kill(::getpid(), SIGKILL);
}

} // namespace gristmill::os
