// What the kernel's own files say of NUMA nodes.
//
// hwloc leaves out a node without memory, and with it every distance; the kernel does not.
//
// `root`: folder in which /sys and /proc are looked for; empty but in tests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gristmill/topology.hpp>

namespace gristmill::os {

struct KernelNodes {
    std::vector<NumaNode> nodes{};                   // online ones, ascending; kinds are not known
    std::map<std::uint32_t, std::uint32_t> of_cpu{}; // node of each CPU
    bool distances_known = false;
};

// Empty where the kernel knows no nodes.
KernelNodes kernel_nodes(const std::string &root = {});

// Nodes in whose memory this process may allocate; none where the kernel does not tell.
std::optional<std::vector<std::uint32_t>> allowed_memory_nodes(const std::string &root = {});

// One node, no SMT and one kind of core: then CPU numbers say all that a plan needs.
bool is_plain_machine(const std::vector<std::uint32_t> &cpus, const std::string &root = {});

// "0-3,8,10-11"; what is no such list ends it.
std::vector<std::uint32_t> parse_number_list(const std::string &text);

} // namespace gristmill::os
