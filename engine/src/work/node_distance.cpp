#include "work/node_distance.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "work/node_choice.hpp"

namespace gristmill::work {

namespace {

const NumaNode *find_node(const Topology &topology, std::uint32_t number) {
    for (const NumaNode &node : topology.nodes)
        if (node.os_index == number)
            return &node;
    return nullptr;
}

// As seen from `from`: distances need not be the same both ways.
std::uint32_t distance(const Topology &topology, std::uint32_t from, std::uint32_t to) {
    const NumaNode *own = find_node(topology, from);
    const NumaNode *other = find_node(topology, to);
    if (!own || !other || own->distances.size() != topology.nodes.size())
        return from == to ? kDistanceOwn : kDistanceOther;
    return own->distances[std::size_t(other - topology.nodes.data())];
}

// The machine's nodes on which these CPUs lie.
std::vector<std::uint32_t> places_of(const std::vector<Cpu> &cpus) {
    std::set<std::uint32_t> places;
    for (const Cpu &cpu : cpus)
        places.insert(cpu.node);
    return {places.begin(), places.end()};
}

// The nearest memory that this process may use, ordinary memory before any other.
const NumaNode *nearest_memory(const Topology &topology, std::uint32_t from) {
    const NumaNode *nearest = nullptr;
    const auto rank = [&](const NumaNode &node) {
        return std::tuple(!node.memory_kind.empty(), distance(topology, from, node.os_index));
    };
    for (const NumaNode &node : topology.nodes)
        if (node.memory_bytes > 0 && node.memory_allowed &&
            (!nearest || rank(node) < rank(*nearest)))
            nearest = &node;
    return nearest;
}

// The memory of one node; a sentence is added to the reasons unless it is simply its own.
std::optional<std::uint32_t> memory_of(const Topology &topology, const std::vector<Cpu> &cpus,
                                       const std::string &name, std::vector<std::string> &reasons) {
    const std::vector<std::uint32_t> places = places_of(cpus);
    if (places.size() > 1) {
        reasons.push_back(name + ": its CPUs lie on the machine's " + named(places) +
                          ", so its memory is bound to none of them");
        return std::nullopt;
    }
    const NumaNode *own = find_node(topology, places[0]);
    if (!own)
        return std::nullopt;
    if (own->memory_bytes == 0) {
        const NumaNode *nearest = nearest_memory(topology, places[0]);
        if (!nearest)
            return std::nullopt;
        reasons.push_back(name + " has no memory of its own: that of the machine's node " +
                          std::to_string(nearest->os_index) + " is nearest (distance " +
                          std::to_string(distance(topology, places[0], nearest->os_index)) + ")");
        return nearest->os_index;
    }
    if (!own->memory_allowed) {
        reasons.push_back(name + ": the control group does not allow its memory (cpuset.mems), " +
                          "so the kernel chooses where its memory lies");
        return std::nullopt;
    }
    return own->os_index;
}

// The mean over all pairs of the nodes on which their CPUs lie.
double mean_distance(const Topology &topology, const std::vector<std::uint32_t> &from,
                     const std::vector<std::uint32_t> &to) {
    double sum = 0;
    for (const std::uint32_t one : from)
        for (const std::uint32_t other : to)
            sum += distance(topology, one, other);
    return sum / double(from.size() * to.size());
}

} // namespace

void place_memory(const Topology &topology, const NodeCpus &cpus, Plan &plan) {
    std::vector<std::string> exceptions;
    for (std::size_t i = 0; i < plan.nodes.size(); ++i)
        plan.nodes[i].memory_node =
            memory_of(topology, cpus[i], "node " + std::to_string(i), exceptions);
    if (topology.nodes.size() > 1 && exceptions.size() < plan.nodes.size())
        plan.reasons.push_back(exceptions.empty()
                                   ? "memory of each node: that of the node on which its CPUs lie"
                                   : "memory of the other nodes: that on which their CPUs lie");
    plan.reasons.insert(plan.reasons.end(), exceptions.begin(), exceptions.end());
    const auto memories = std::count_if(topology.nodes.begin(), topology.nodes.end(),
                                        [](const NumaNode &node) { return node.memory_bytes > 0; });
    const bool somewhere = std::any_of(plan.nodes.begin(), plan.nodes.end(),
                                       [](const PlannedNode &node) { return node.memory_node; });
    if (memories > 1 && somewhere)
        plan.placement = Placement::wanted;
}

void order_stealing(const Topology &topology, const NodeCpus &cpus, Plan &plan) {
    const auto nodes = std::uint32_t(plan.nodes.size());
    std::vector<std::vector<std::uint32_t>> places;
    for (const std::vector<Cpu> &own : cpus)
        places.push_back(places_of(own));
    bool all_equal = true;
    for (std::uint32_t self = 0; self < nodes; ++self) {
        std::vector<std::tuple<double, std::uint32_t>> others; // distance, steps behind itself
        for (std::uint32_t step = 1; step < nodes; ++step)
            others.emplace_back(
                mean_distance(topology, places[self], places[(self + step) % nodes]), step);
        std::sort(others.begin(), others.end());
        all_equal = all_equal &&
                    (others.empty() || std::get<0>(others.front()) == std::get<0>(others.back()));
        std::vector<std::uint32_t> &order = plan.nodes[self].steal_order;
        order = {self};
        for (const auto &[far, step] : others)
            order.push_back((self + step) % nodes);
    }
    if (nodes > 1)
        plan.reasons.push_back(
            all_equal ? "a worker that finds nothing at home takes from the other nodes in turn: "
                        "all are equally far"
                      : "a worker that finds nothing at home takes from the nearest node first");
}

} // namespace gristmill::work
