#include <gristmill/topology.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace gristmill {

namespace {

std::string plural(std::size_t count, const std::string &word) {
    return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

Error bad_nodes(const std::string &message) { return {ErrorKind::invalid_option, message}; }

// CPUs in the order in which they get workers: first threads of all cores, then the siblings.
std::vector<Cpu> by_preference(const Topology &topology, bool smt, Plan &plan) {
    std::vector<Cpu> cpus = topology.cpus;
    const auto sibling = [](const Cpu &cpu) { return cpu.smt_rank > 0; };
    const auto siblings = std::size_t(std::count_if(cpus.begin(), cpus.end(), sibling));
    if (!smt && siblings > 0) {
        std::erase_if(cpus, sibling);
        plan.reasons.push_back("smt=False leaves " + plural(siblings, "SMT sibling") + " unused");
    }
    std::stable_sort(cpus.begin(), cpus.end(),
                     [](const Cpu &a, const Cpu &b) { return a.smt_rank < b.smt_rank; });
    return cpus;
}

// The nodes of the machine that the request names, with their CPUs in order of preference.
Result<std::vector<PlannedNode>> real_nodes(const std::vector<Cpu> &cpus,
                                            const NodeRequest &request) {
    std::map<std::uint32_t, PlannedNode> by_number;
    for (const Cpu &cpu : cpus) {
        PlannedNode &node = by_number[cpu.node];
        node.os_node = cpu.node;
        node.cpus.push_back(cpu.os_index);
    }
    std::vector<PlannedNode> nodes;
    if (request.kind == NodeRequest::Kind::list) {
        for (auto number = request.list.begin(); number != request.list.end(); ++number) {
            if (std::find(request.list.begin(), number, *number) != number)
                return bad_nodes("nodes: node " + std::to_string(*number) + " is named twice");
            const auto found = by_number.find(*number);
            if (found == by_number.end())
                return bad_nodes("nodes: node " + std::to_string(*number) +
                                 " has no CPU that this process may use");
            nodes.push_back(std::move(found->second));
        }
        return nodes;
    }
    for (auto &[number, node] : by_number)
        nodes.push_back(std::move(node));
    if (request.kind == NodeRequest::Kind::count) {
        if (request.count > nodes.size())
            return bad_nodes("nodes=" + std::to_string(request.count) + ", but this process may " +
                             "use " + plural(nodes.size(), "node") + "; nodes='@" +
                             std::to_string(request.count) + "' makes logical ones");
        nodes.resize(request.count);
    }
    return nodes;
}

// Logical nodes: the CPUs dealt out in turn. With fewer CPUs than nodes, nodes share them.
std::vector<PlannedNode> logical_nodes(const std::vector<Cpu> &cpus, std::uint32_t count) {
    std::vector<PlannedNode> nodes(count);
    for (std::size_t i = 0; i < std::max<std::size_t>(count, cpus.size()); ++i) {
        const Cpu &cpu = cpus[i % cpus.size()];
        PlannedNode &node = nodes[i % count];
        if (node.cpus.empty())
            node.os_node = cpu.node;
        node.cpus.push_back(cpu.os_index);
    }
    return nodes;
}

std::uint32_t default_workers(const Topology &topology, std::size_t cpus, Plan &plan) {
    const auto quota = static_cast<std::size_t>(std::ceil(topology.cpu_quota));
    if (topology.cpu_quota > 0 && quota < cpus) {
        plan.reasons.push_back(plural(quota, "worker") + ": the control group's CPU quota allows " +
                               plural(quota, "CPU") + " of " + std::to_string(cpus));
        return static_cast<std::uint32_t>(std::max<std::size_t>(1, quota));
    }
    plan.reasons.push_back(plural(cpus, "worker") + ": one for each usable CPU");
    return static_cast<std::uint32_t>(std::min<std::size_t>(cpus, kWorkersMax));
}

// Deals the workers out over the nodes in turn, each to the node's next CPU. A CPU gets a second
// worker only when every CPU has one.
void place_workers(std::uint32_t workers, Plan &plan) {
    std::uint64_t per_cpu = 1;
    std::size_t full = 0; // nodes in a row that had no CPU left
    for (std::uint32_t turn = 0; plan.workers.size() < workers; ++turn) {
        const auto index = static_cast<std::uint32_t>(turn % plan.nodes.size());
        PlannedNode &node = plan.nodes[index];
        if (node.workers == per_cpu * node.cpus.size()) {
            if (++full == plan.nodes.size()) {
                ++per_cpu;
                full = 0;
            }
            continue;
        }
        full = 0;
        plan.workers.push_back({index, node.cpus[node.workers % node.cpus.size()]});
        ++node.workers;
    }
}

} // namespace

Result<Plan> make_plan(const Topology &topology, const EngineOptions &options) {
    Plan plan;
    const std::vector<Cpu> cpus = by_preference(topology, options.smt, plan);
    if (cpus.empty())
        return Error{ErrorKind::system, "this process may use no CPU at all"};
    if (options.nodes.kind == NodeRequest::Kind::logical) {
        plan.nodes = logical_nodes(cpus, options.nodes.count);
        plan.reasons.push_back(plural(options.nodes.count, "logical node") +
                               ": the usable CPUs dealt out in turn, wherever they lie");
    } else {
        Result<std::vector<PlannedNode>> nodes = real_nodes(cpus, options.nodes);
        if (!nodes)
            return nodes.error();
        plan.nodes = std::move(*nodes);
        plan.reasons.push_back(plural(plan.nodes.size(), "node") + " with CPUs to use");
    }
    std::size_t usable = 0;
    for (const PlannedNode &node : plan.nodes)
        usable += node.cpus.size();
    usable = std::min(usable, cpus.size());
    if (options.workers)
        plan.reasons.push_back(*options.workers == 0
                                   ? "no workers: the calling thread does the work"
                                   : plural(*options.workers, "worker") + ", as asked for");
    const std::uint32_t workers =
        options.workers ? *options.workers : default_workers(topology, usable, plan);
    if (workers > usable)
        plan.reasons.push_back("more workers than usable CPUs: they share them");
    place_workers(workers, plan);
    return plan;
}

} // namespace gristmill
