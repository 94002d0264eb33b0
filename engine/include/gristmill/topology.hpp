// The machine, and the plan: which worker runs on which CPU of which node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

namespace gristmill {

struct Cpu {
    std::uint32_t os_index = 0; // as in /sys/devices/system/cpu
    std::uint32_t core = 0;     // 0-based number of the physical core
    std::uint32_t smt_rank = 0; // 0: first hardware thread of its core
    std::uint32_t package = 0;
    std::uint32_t node = 0; // NUMA node of the operating system
};

// CPUs this process may use, and what limits them.
struct Topology {
    std::vector<Cpu> cpus{};    // in the affinity mask, ascending os_index
    double cpu_quota = 0;       // of the control group, in CPUs; 0: no limit
    std::uint64_t l2_bytes = 0; // of one core; 0: not known
    std::string origin{};       // how it was found, for people
};

struct PlannedNode {
    std::uint32_t os_node = 0;          // where its CPUs lie; of the first CPU for a logical node
    std::vector<std::uint32_t> cpus{};  // os indices
    std::uint32_t workers = 0;
};

struct PlannedWorker {
    std::uint32_t node = 0; // index into Plan::nodes
    std::uint32_t cpu = 0;  // os index to run on
};

struct Plan {
    std::vector<PlannedNode> nodes{};
    std::vector<PlannedWorker> workers{}; // empty for workers = 0
    std::vector<std::string> reasons{};   // one sentence for each choice, for people
};

// `enough`: hwloc, which takes some milliseconds, is only asked on machines with several nodes or
// with SMT; `full`: always.
enum class TopologyDetail : std::uint8_t { enough, full };

// Asks the kernel and hwloc. Any thread.
Result<Topology> discover_topology(TopologyDetail detail = TopologyDetail::enough);

// Pure function: physical cores first, SMT siblings after, workers dealt out over the nodes.
Result<Plan> make_plan(const Topology &topology, const EngineOptions &options);

} // namespace gristmill
