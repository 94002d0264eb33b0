// The machine, and the plan: which worker runs on which CPU of which node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>

namespace gristmill {

struct Cpu {
    std::uint32_t os_index = 0; // as in /sys/devices/system/cpu
    std::uint32_t core = 0;     // 0-based number of the physical core
    std::uint32_t smt_rank = 0; // 0: first hardware thread of its core, of those we may use
    std::uint32_t package = 0;  // 0-based number of the processor chip
    std::uint32_t node = 0;     // NUMA node of the operating system
    // 0: the machine's fastest kind of core; 1: the next, ... (hybrids).
    std::uint32_t core_kind = 0;
};

// A NUMA node of the operating system: CPUs and memory, or only one of them.
struct NumaNode {
    std::uint32_t os_index = 0;     // as in /sys/devices/system/node
    std::uint64_t memory_bytes = 0; // 0: no memory
    bool has_cpus = false;          // whether this process may use them or not
    bool memory_allowed = true;     // for this process; its control group may say no (cpuset.mems)
    std::string memory_kind{};      // as hwloc names it: "HBM", "NVM", ...; empty: ordinary memory
    std::vector<std::uint32_t> distances{}; // to each of Topology::nodes; 10: itself
};

// Distances where the firmware tells none: those that ACPI has for "itself" and "elsewhere".
inline constexpr std::uint32_t kDistanceOwn = 10;
inline constexpr std::uint32_t kDistanceOther = 20;

// CPUs this process may use, where memory is, and what limits both.
struct Topology {
    std::vector<Cpu> cpus{};           // those we may use, ascending os_index
    std::uint32_t cpus_of_machine = 0; // online, usable or not; 0: not known
    std::vector<NumaNode> nodes{};     // of the machine, ascending os_index
    bool distances_known = false;      // false: kDistanceOwn and kDistanceOther stand for them
    double cpu_quota = 0;              // of the control group, in CPUs; 0: no limit
    std::string cpu_quota_file{};      // which sets it: the group's own, or an ancestor's
    std::uint64_t l2_bytes = 0;        // of one core; 0: not known
    std::uint64_t l3_bytes = 0;        // of one L3 cache; 0: not known, or there is none
    std::uint32_t l3_cpus = 0;         // of the machine that share one L3 cache
    std::string origin{};              // how it was found, for people
};

struct PlannedNode {
    std::uint32_t os_node = 0;         // where its CPUs lie; of the first CPU for a logical node
    std::vector<std::uint32_t> cpus{}; // os indices, in the order in which they get workers
    std::uint32_t workers = 0;         // may be 0: its batches are then taken by other nodes

    // Where its memory should lie. That of its CPUs; for CPUs without memory the nearest node that
    // has some. None: its CPUs lie on several nodes, or the memory is not allowed, or nothing is
    // known of it. The kernel chooses then, at first touch.
    std::optional<std::uint32_t> memory_node{};

    // Whose batches its workers take: indices into Plan::nodes, its own first, then the nearest.
    // Equally far ones in turn, beginning behind its own, so that not all go to the same.
    std::vector<std::uint32_t> steal_order{};
};

struct PlannedWorker {
    std::uint32_t node = 0; // index into Plan::nodes
    std::uint32_t cpu = 0;  // os index to run on
};

enum class Placement : std::uint8_t {
    needless, // the machine has memory in one place only, or no node of the plan belongs to one
    wanted,   // each node's memory is taken from its memory_node
    refused   // the kernel does not let this process say where memory comes from
};

struct Plan {
    std::vector<PlannedNode> nodes{};
    std::vector<PlannedWorker> workers{}; // empty for workers = 0
    std::vector<std::string> reasons{};   // one sentence for each choice, for people
    Placement placement = Placement::needless; // `refused` is found out by whoever uses the plan
    std::string refusal{};                     // what the kernel said then

    // Where memory of a node is to be placed, if anywhere.
    std::optional<std::uint32_t> placed_on(std::uint32_t node) const {
        return placement == Placement::wanted ? nodes[node].memory_node : std::nullopt;
    }
};

// Where a topology is read from: the machine we run on, or the description of another one.
struct TopologySource {
    enum class Kind : std::uint8_t { machine, synthetic, xml };
    Kind kind = Kind::machine;
    std::string description{}; // synthetic: as hwloc(7) has it, "pack:2 core:4 pu:2"; xml: a path

    // Reads "" (this machine), the path of an XML file as lstopo writes it (anything that ends in
    // ".xml" or has a "/"), or a synthetic description.
    static TopologySource parse(const std::string &text);
};

// `enough`: hwloc, which takes some milliseconds, is only asked on machines with several nodes,
// SMT, or several kinds of cores; `full`: always.
enum class TopologyDetail : std::uint8_t { enough, full };

// Asks the kernel and hwloc. Any thread.
Result<Topology> discover_topology(TopologyDetail detail = TopologyDetail::enough);

// The same from any source, in full. The affinity mask and the control group of this process count
// for this machine alone; of a description all CPUs count that it says are allowed.
Result<Topology> read_topology(const TopologySource &source);

// Pure function. The nodes are chosen first; then workers are dealt out over them in turn: one to
// each physical core, the fastest kind of core first, then one to each SMT sibling, then again.
// Fewer workers than nodes: the last nodes have none, and nothing is lost.
Result<Plan> make_plan(const Topology &topology, const EngineOptions &options);

} // namespace gristmill
