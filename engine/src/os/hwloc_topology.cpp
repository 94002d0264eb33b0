#include "os/hwloc_topology.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <hwloc.h>

#include "os/os_error.hpp"

namespace gristmill::os {

namespace {

using HwlocTopology = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)>;

Error bad_description(const TopologySource &source) {
    if (source.kind == TopologySource::Kind::xml) {
        const std::string what = "cannot read a topology from '" + source.description + "'";
        if (errno != 0)
            return errno_error(ErrorKind::source, errno, what, source.description);
        return {ErrorKind::source, what + ": it takes XML as `lstopo --of xml FILE` writes it",
                source.description};
    }
    return {ErrorKind::invalid_option,
            "'" + source.description +
                "' is no machine that hwloc understands: it takes the path "
                "of an XML file, or text like 'pack:2 core:4 pu:2'"};
}

// hwloc prints what it thinks of files that are none of its own, so it is not shown them.
bool looks_like_topology(const std::string &path) {
    std::string start(4096, '\0');
    std::ifstream(path).read(start.data(), std::streamsize(start.size()));
    return start.find("<topology") != std::string::npos;
}

Result<HwlocTopology> load(const TopologySource &source) {
    errno = 0;
    if (source.kind == TopologySource::Kind::xml && !looks_like_topology(source.description))
        return bad_description(source);
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) < 0)
        return errno_error(ErrorKind::system, errno, "cannot start hwloc");
    HwlocTopology topology(raw, hwloc_topology_destroy);
    // Every kind of object stays that can hold a node: without dies, or groups, hwloc gives a node
    // of a part of a chip the CPUs of the whole chip.
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
    // Else nodes without memory, and those whose memory we may not use, would be missing, and with
    // them all distances and the nodes of their CPUs.
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    int set = 0;
    if (source.kind == TopologySource::Kind::synthetic)
        set = hwloc_topology_set_synthetic(raw, source.description.c_str());
    else if (source.kind == TopologySource::Kind::xml)
        set = hwloc_topology_set_xml(raw, source.description.c_str());
    if (set < 0)
        return bad_description(source);
    errno = 0;
    if (hwloc_topology_load(raw) < 0)
        return source.kind == TopologySource::Kind::machine
                   ? errno_error(ErrorKind::system, errno, "hwloc cannot read the topology")
                   : bad_description(source);
    if (source.kind == TopologySource::Kind::machine && !hwloc_topology_is_thissystem(raw))
        return Error{ErrorKind::system,
                     "hwloc describes another machine than this one: unset HWLOC_SYNTHETIC, "
                     "HWLOC_XMLFILE and HWLOC_FSROOT"};
    return topology;
}

bool ordinary(const std::string &kind) { return kind.empty() || kind == "DRAM"; }

std::string kind_of(hwloc_obj_t node) { return node->subtype ? node->subtype : ""; }

// The node whose memory is a CPU's own: that of the fewest CPUs, since one that hwloc cannot place
// belongs to all; then ordinary memory before fast; then the lowest number.
hwloc_obj_t memory_of(hwloc_topology_t raw, hwloc_obj_t pu) {
    hwloc_obj_t best = nullptr;
    const auto worse = [](hwloc_obj_t a, hwloc_obj_t b) {
        const int more = hwloc_bitmap_weight(a->cpuset) - hwloc_bitmap_weight(b->cpuset);
        if (more != 0)
            return more > 0;
        if (ordinary(kind_of(a)) != ordinary(kind_of(b)))
            return ordinary(kind_of(b));
        return a->os_index > b->os_index;
    };
    for (hwloc_obj_t node = nullptr;
         (node = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_NUMANODE, node));)
        if (hwloc_bitmap_isset(node->cpuset, pu->os_index) && (!best || worse(best, node)))
            best = node;
    return best;
}

// A description may lack nodes without memory, but their CPUs still name them.
std::optional<std::uint32_t> node_of(hwloc_topology_t raw, hwloc_obj_t pu) {
    if (const hwloc_obj_t memory = memory_of(raw, pu))
        return memory->os_index;
    if (pu->complete_nodeset && hwloc_bitmap_weight(pu->complete_nodeset) == 1)
        return std::uint32_t(hwloc_bitmap_first(pu->complete_nodeset));
    return std::nullopt;
}

std::uint32_t ancestor_index(hwloc_topology_t raw, hwloc_obj_type_t type, hwloc_obj_t pu,
                             std::uint32_t otherwise) {
    const hwloc_obj_t ancestor = hwloc_get_ancestor_obj_by_type(raw, type, pu);
    return ancestor ? ancestor->logical_index : otherwise;
}

// hwloc ranks kinds of cores from the slowest up; where it cannot, all are of one kind.
std::uint32_t core_kind(hwloc_topology_t raw, hwloc_obj_t pu) {
    const int kinds = hwloc_cpukinds_get_nr(raw, 0);
    const int kind = hwloc_cpukinds_get_by_cpuset(raw, pu->cpuset, 0);
    int efficiency = -1;
    if (kinds < 2 || kind < 0 ||
        hwloc_cpukinds_get_info(raw, unsigned(kind), nullptr, &efficiency, nullptr, nullptr, 0) < 0)
        return 0;
    return efficiency < 0 ? 0 : static_cast<std::uint32_t>(kinds - 1 - efficiency);
}

void read_cpus(hwloc_topology_t raw, Topology &topology) {
    if (topology.cpus.empty()) {
        const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(raw);
        for (int cpu = -1; (cpu = hwloc_bitmap_next(allowed, cpu)) >= 0;)
            topology.cpus.push_back({static_cast<std::uint32_t>(cpu)});
    }
    topology.cpus_of_machine = std::uint32_t(hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PU));
    const auto cores = std::uint32_t(std::max(0, hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE)));
    std::map<std::uint32_t, std::uint32_t> threads_of_core;
    for (Cpu &cpu : topology.cpus) {
        cpu.core = cores + cpu.os_index; // of its own, unless hwloc knows better
        const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(raw, cpu.os_index);
        if (!pu)
            continue;
        cpu.core = ancestor_index(raw, HWLOC_OBJ_CORE, pu, cpu.core);
        cpu.smt_rank = threads_of_core[cpu.core]++;
        cpu.package = ancestor_index(raw, HWLOC_OBJ_PACKAGE, pu, 0);
        cpu.core_kind = core_kind(raw, pu);
        cpu.node = node_of(raw, pu).value_or(0);
    }
}

void read_caches(hwloc_topology_t raw, Topology &topology) {
    if (const hwloc_obj_t l2 = hwloc_get_obj_by_type(raw, HWLOC_OBJ_L2CACHE, 0))
        topology.l2_bytes = l2->attr->cache.size;
    if (const hwloc_obj_t l3 = hwloc_get_obj_by_type(raw, HWLOC_OBJ_L3CACHE, 0)) {
        topology.l3_bytes = l3->attr->cache.size;
        topology.l3_cpus = std::uint32_t(hwloc_bitmap_weight(l3->cpuset));
    }
}

void read_nodes(hwloc_topology_t raw, Topology &topology) {
    std::map<std::uint32_t, NumaNode> nodes;
    for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PU, pu));)
        if (const auto number = node_of(raw, pu))
            nodes[*number].has_cpus = true;
    const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_nodeset(raw);
    for (hwloc_obj_t found = nullptr;
         (found = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_NUMANODE, found));) {
        NumaNode &node = nodes[found->os_index];
        node.memory_bytes = found->attr->numanode.local_memory;
        node.memory_allowed = hwloc_bitmap_isset(allowed, found->os_index) != 0;
        node.memory_kind = ordinary(kind_of(found)) ? "" : kind_of(found);
    }
    for (auto &[number, node] : nodes) {
        node.os_index = number;
        topology.nodes.push_back(std::move(node));
    }
}

// Where a description lacks those of a node without memory, the usual ones stand for them.
void read_distances(hwloc_topology_t raw, Topology &topology) {
    hwloc_distances_s *matrix = nullptr;
    unsigned matrices = 1;
    if (hwloc_distances_get_by_type(raw, HWLOC_OBJ_NUMANODE, &matrices, &matrix,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
        matrices == 0)
        return;
    topology.distances_known = true;
    std::map<std::uint32_t, std::size_t> place;
    for (std::size_t i = 0; i < matrix->nbobjs; ++i)
        if (matrix->objs[i])
            place[matrix->objs[i]->os_index] = i;
    for (NumaNode &from : topology.nodes)
        for (const NumaNode &to : topology.nodes) {
            const auto row = place.find(from.os_index);
            const auto column = place.find(to.os_index);
            if (row != place.end() && column != place.end())
                from.distances.push_back(static_cast<std::uint32_t>(
                    matrix->values[row->second * matrix->nbobjs + column->second]));
            else
                from.distances.push_back(&from == &to ? kDistanceOwn : kDistanceOther);
        }
    hwloc_distances_release(raw, matrix);
}

} // namespace

Result<void> describe_by_hwloc(const TopologySource &source, Topology &topology) {
    Result<HwlocTopology> loaded = load(source);
    if (!loaded)
        return loaded.error();
    const hwloc_topology_t raw = loaded->get();
    read_cpus(raw, topology);
    read_caches(raw, topology);
    read_nodes(raw, topology);
    read_distances(raw, topology);
    return {};
}

} // namespace gristmill::os
