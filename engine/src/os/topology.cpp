#include <gristmill/topology.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <hwloc.h>
#include <memory>
#include <sched.h>
#include <vector>

#include "os/control_group.hpp"
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

std::string line_of(const char *path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// One node and no SMT: then the CPU numbers say all that a plan needs.
bool plain_machine() {
    const std::string smt = line_of("/sys/devices/system/cpu/smt/active");
    return line_of("/sys/devices/system/node/online") == "0" && (smt == "0" || smt.empty());
}

using HwlocTopology = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)>;

Result<HwlocTopology> load_hwloc() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) < 0)
        return os::errno_error(ErrorKind::system, errno, "cannot start hwloc");
    HwlocTopology topology(raw, hwloc_topology_destroy);
    hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (const hwloc_obj_type_t type : {HWLOC_OBJ_CORE, HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L2CACHE})
        hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(raw) < 0)
        return os::errno_error(ErrorKind::system, errno, "hwloc cannot read the topology");
    return topology;
}

std::uint32_t ancestor_index(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_obj_t pu) {
    const hwloc_obj_t ancestor = hwloc_get_ancestor_obj_by_type(topology, type, pu);
    return ancestor ? ancestor->logical_index : 0;
}

std::uint32_t node_of(hwloc_topology_t topology, hwloc_obj_t pu) {
    for (hwloc_obj_t node = nullptr;
         (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));)
        if (node->cpuset && hwloc_bitmap_isset(node->cpuset, pu->os_index))
            return node->os_index;
    return 0;
}

// Completes the CPUs from hwloc; one that it does not know stays as it is.
Result<void> describe(Topology &topology) {
    Result<HwlocTopology> hwloc = load_hwloc();
    if (!hwloc)
        return hwloc.error();
    const hwloc_topology_t raw = hwloc->get();
    std::vector<std::uint32_t> threads_of_core(hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE) + 1);
    for (Cpu &cpu : topology.cpus) {
        const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(raw, cpu.os_index);
        if (!pu)
            continue;
        cpu.package = ancestor_index(raw, HWLOC_OBJ_PACKAGE, pu);
        cpu.node = node_of(raw, pu);
        if (hwloc_get_ancestor_obj_by_type(raw, HWLOC_OBJ_CORE, pu)) {
            cpu.core = ancestor_index(raw, HWLOC_OBJ_CORE, pu);
            cpu.smt_rank = threads_of_core[cpu.core]++;
        }
        if (const hwloc_obj_t l2 = hwloc_get_ancestor_obj_by_type(raw, HWLOC_OBJ_L2CACHE, pu))
            topology.l2_bytes = l2->attr->cache.size;
    }
    topology.origin = "hwloc";
    return {};
}

} // namespace

Result<Topology> discover_topology(TopologyDetail detail) {
    Result<std::vector<std::uint32_t>> allowed = allowed_cpus();
    if (!allowed)
        return allowed.error();
    Topology topology;
    for (const std::uint32_t cpu : *allowed)
        topology.cpus.push_back({cpu, cpu, 0, 0, 0});
    topology.cpu_quota = os::cpu_quota();
    topology.origin = "affinity mask (one node, no SMT)";
    if (detail == TopologyDetail::full || !plain_machine())
        if (Result<void> described = describe(topology); !described)
            return described.error();
    return topology;
}

} // namespace gristmill
