// Limits that the control group (a container, usually) puts on this process.
#pragma once

#include <cstdint>

namespace gristmill::os {

// CPUs that the group may use at a time, the smallest over all its ancestors; 0: no limit.
double cpu_quota();

// Bytes until the nearest memory limit of the group or an ancestor; UINT64_MAX: no limit.
std::uint64_t memory_headroom_bytes();

// How many processes of the group the kernel has ended for want of memory, so far.
std::uint64_t oom_kills();

} // namespace gristmill::os
