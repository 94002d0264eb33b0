#include <algorithm>
#include <cerrno>
#include <memory>
#include <sched.h>
#include <sys/sysinfo.h>
#include <utility>
#include <vector>

#include <gristmill/topology.hpp>

#include "os/control_group.hpp"
#include "os/hwloc_topology.hpp"
#include "os/kernel_view.hpp"
#include "os/os_error.hpp"

namespace gristmill {

namespace {

// CPUs in the affinity mask, ascending; the mask is never widened.
Result<std::vector<std::uint32_t>> allowed_cpus() {
    for (std::size_t cpus = 1024;; cpus *= 2) {
        const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t *)> set(
            CPU_ALLOC(cpus), [](cpu_set_t *memory) { CPU_FREE(memory); });
        const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
        if (::sched_getaffinity(0, bytes, set.get()) < 0) {
            if (errno == EINVAL && cpus < 1u << 20)
                continue; // more CPUs than the set holds
            return os::errno_error(ErrorKind::system, errno, "cannot read the CPU affinity mask");
        }
        std::vector<std::uint32_t> allowed;
        for (std::uint32_t cpu = 0; cpu < cpus; ++cpu)
            if (CPU_ISSET_S(cpu, bytes, set.get()))
                allowed.push_back(cpu);
        return allowed;
    }
}

// Distances for those who tell none.
void complete_distances(Topology &topology) {
    for (std::size_t from = 0; from < topology.nodes.size(); ++from)
        if (topology.nodes[from].distances.empty())
            for (std::size_t to = 0; to < topology.nodes.size(); ++to)
                topology.nodes[from].distances.push_back(from == to ? kDistanceOwn
                                                                    : kDistanceOther);
}

// The kernel's word counts: hwloc reads it in files that containers may not see.
void mark_allowed_memory(Topology &topology) {
    if (const auto allowed = os::allowed_memory_nodes())
        for (NumaNode &node : topology.nodes)
            node.memory_allowed =
                std::find(allowed->begin(), allowed->end(), node.os_index) != allowed->end();
}

// The only node of a plain machine.
NumaNode whole_machine() {
    NumaNode node;
    struct sysinfo info {};
    if (::sysinfo(&info) == 0)
        node.memory_bytes = std::uint64_t{info.totalram} * info.mem_unit;
    node.has_cpus = true;
    return node;
}

} // namespace

Result<Topology> discover_topology(TopologyDetail detail) {
    Result<std::vector<std::uint32_t>> allowed = allowed_cpus();
    if (!allowed)
        return allowed.error();
    Topology topology;
    for (const std::uint32_t cpu : *allowed)
        topology.cpus.push_back({cpu, cpu});
    os::CpuQuota quota = os::cpu_quota();
    topology.cpu_quota = quota.cpus;
    topology.cpu_quota_file = std::move(quota.file);
    if (detail == TopologyDetail::enough && os::is_plain_machine(*allowed)) {
        topology.nodes.push_back(whole_machine());
        topology.origin = "the affinity mask (one node, no SMT)";
    } else {
        if (Result<void> described = os::describe_by_hwloc({}, topology); !described)
            return described.error();
        mark_allowed_memory(topology);
        topology.origin = "the kernel and hwloc";
    }
    complete_distances(topology);
    return topology;
}

TopologySource TopologySource::parse(const std::string &text) {
    if (text.empty())
        return {};
    const bool xml = text.find('/') != std::string::npos ||
                     (text.size() > 4 && text.compare(text.size() - 4, 4, ".xml") == 0);
    return {xml ? Kind::xml : Kind::synthetic, text};
}

Result<Topology> read_topology(const TopologySource &source) {
    if (source.kind == TopologySource::Kind::machine)
        return discover_topology(TopologyDetail::full);
    Topology topology;
    if (Result<void> described = os::describe_by_hwloc(source, topology); !described)
        return described.error();
    complete_distances(topology);
    topology.origin = "the description '" + source.description + "'";
    return topology;
}

} // namespace gristmill
