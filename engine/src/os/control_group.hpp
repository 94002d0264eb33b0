// Limits that the control group (a container, usually) puts on this process.
//
// Version 1, version 2, both side by side, and groups within groups: the tightest limit of the
// group and of all its ancestors that can be seen counts. What cannot be read, or makes no sense,
// is no limit.
//
// `root`: folder in which /proc/self and /sys/fs/cgroup are looked for; empty but in tests.
#pragma once

#include <cstdint>
#include <string>

namespace gristmill::os {

struct CpuQuota {
    double cpus = 0;    // that the group may use at a time; 0: no limit
    std::string file{}; // which says so
};

CpuQuota cpu_quota(const std::string &root = {});

// Bytes until the nearest memory limit of the group or an ancestor; UINT64_MAX: no limit.
std::uint64_t memory_headroom_bytes(const std::string &root = {});

// How many processes of the group the kernel has ended for want of memory, so far.
std::uint64_t oom_kills(const std::string &root = {});

} // namespace gristmill::os
