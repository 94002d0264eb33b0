#include "work/node_choice.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace gristmill::work {

namespace {

using Cpus = std::vector<Cpu>;

Error bad_nodes(const std::string &message) { return {ErrorKind::invalid_option, message}; }

// The machine's nodes by number.
std::map<std::uint32_t, Cpus> nodes_of_machine(const Cpus &cpus) {
    std::map<std::uint32_t, Cpus> nodes;
    for (const Cpu &cpu : cpus)
        nodes[cpu.node].push_back(cpu);
    return nodes;
}

std::vector<std::uint32_t> numbers_of(const std::map<std::uint32_t, Cpus> &nodes) {
    std::vector<std::uint32_t> numbers;
    for (const auto &[number, cpus] : nodes)
        numbers.push_back(number);
    return numbers;
}

Result<NodeChoice> listed_nodes(std::map<std::uint32_t, Cpus> nodes,
                                const std::vector<std::uint32_t> &wanted) {
    const std::string there = named(numbers_of(nodes));
    NodeChoice choice;
    for (auto number = wanted.begin(); number != wanted.end(); ++number) {
        if (std::find(wanted.begin(), number, *number) != number)
            return bad_nodes("nodes: node " + std::to_string(*number) + " is named twice");
        const auto found = nodes.find(*number);
        if (found == nodes.end())
            return bad_nodes("nodes: node " + std::to_string(*number) + " has no CPU that this " +
                             "process may use; it has CPUs of " + there);
        choice.nodes.push_back(std::move(found->second));
    }
    choice.reason = plural(choice.nodes.size(), "node") + ", as listed";
    return choice;
}

Result<NodeChoice> first_nodes(std::map<std::uint32_t, Cpus> nodes, const NodeRequest &request) {
    const bool all = request.kind == NodeRequest::Kind::automatic;
    const std::size_t wanted = all ? nodes.size() : request.count;
    if (wanted > nodes.size())
        return bad_nodes("nodes=" + std::to_string(wanted) + ", but this process may use " +
                         plural(nodes.size(), "node") + "; nodes='@" + std::to_string(wanted) +
                         "' makes logical ones");
    NodeChoice choice;
    for (auto &[number, cpus] : nodes)
        if (choice.nodes.size() < wanted)
            choice.nodes.push_back(std::move(cpus));
    choice.reason = all ? plural(wanted, "node") + ": all that have CPUs to use"
                        : plural(wanted, "node") + ": the first of " +
                              std::to_string(nodes.size()) + " that have CPUs to use";
    return choice;
}

// CPUs of one node, core by core, the preferred cores first.
std::vector<Cpus> cores_of(const Cpus &cpus) {
    std::map<std::uint32_t, std::size_t> places;
    std::vector<Cpus> cores;
    for (const Cpu &cpu : cpus) {
        const auto [place, added] = places.emplace(cpu.core, cores.size());
        if (added)
            cores.emplace_back();
        cores[place->second].push_back(cpu);
    }
    return cores;
}

// The cores of one node dealt out in turn, so that each part has as many fast ones.
void split(const Cpus &cpus, std::size_t parts, std::vector<Cpus> &into) {
    const std::vector<Cpus> cores = cores_of(cpus);
    std::vector<Cpus> split(parts);
    for (std::size_t i = 0; i < std::max(parts, cores.size()); ++i)
        for (const Cpu &cpu : cores[i % cores.size()])
            split[i % parts].push_back(cpu);
    for (Cpus &part : split) {
        std::stable_sort(part.begin(), part.end(), preferred);
        into.push_back(std::move(part));
    }
}

// How many of `parts` each gets: at least one, the others where they find the most cores.
std::vector<std::size_t> shares(const std::vector<Cpus> &nodes, std::size_t parts) {
    std::vector<std::size_t> cores;
    for (const Cpus &cpus : nodes)
        cores.push_back(cores_of(cpus).size());
    std::vector<std::size_t> shares(nodes.size(), 1);
    for (std::size_t given = nodes.size(); given < parts; ++given) {
        std::size_t most = 0;
        for (std::size_t i = 1; i < nodes.size(); ++i)
            if (cores[i] * (shares[most] + 1) > cores[most] * (shares[i] + 1))
                most = i;
        ++shares[most];
    }
    return shares;
}

// Fewer logical nodes than the machine has: neighbours become one.
NodeChoice joined(const std::vector<Cpus> &real, std::size_t count) {
    NodeChoice choice;
    choice.nodes.resize(count);
    std::vector<std::vector<std::uint32_t>> numbers(count);
    for (std::size_t i = 0; i < real.size(); ++i) {
        const std::size_t into = i * count / real.size();
        numbers[into].push_back(real[i].front().node);
        choice.nodes[into].insert(choice.nodes[into].end(), real[i].begin(), real[i].end());
    }
    std::string which;
    for (std::size_t i = 0; i < count; ++i) {
        std::stable_sort(choice.nodes[i].begin(), choice.nodes[i].end(), preferred);
        std::sort(numbers[i].begin(), numbers[i].end());
        which += i ? " | " : "";
        which += listed(numbers[i]);
    }
    choice.reason =
        plural(count, "logical node") + ": neighbouring nodes of the machine become one: " + which;
    return choice;
}

NodeChoice logical_nodes(const Cpus &cpus, std::size_t count) {
    std::vector<Cpus> real;
    for (auto &[number, own] : nodes_of_machine(cpus))
        real.push_back(std::move(own));
    std::stable_sort(real.begin(), real.end(), [](const Cpus &a, const Cpus &b) {
        return a.front().package < b.front().package;
    });
    if (count < real.size())
        return joined(real, count);
    NodeChoice choice;
    choice.reason = plural(count, "logical node") + ": whole cores dealt out in turn";
    const std::vector<std::size_t> parts = shares(real, count);
    std::size_t cores = 0;
    std::string which;
    for (std::size_t i = 0; i < real.size(); ++i) {
        cores += cores_of(real[i]).size();
        which += i ? ", " : "";
        which += std::to_string(parts[i]) + " in node " + std::to_string(real[i].front().node);
        split(real[i], parts[i], choice.nodes);
    }
    if (real.size() > 1)
        choice.reason += ", each within one node of the machine: " + which;
    if (cores < count)
        choice.reason += "; there are only " + plural(cores, "core") + ", so nodes share them";
    return choice;
}

} // namespace

bool preferred(const Cpu &a, const Cpu &b) {
    return std::tie(a.smt_rank, a.core_kind) < std::tie(b.smt_rank, b.core_kind);
}

Result<NodeChoice> choose_nodes(const std::vector<Cpu> &cpus, const NodeRequest &request) {
    if (request.kind == NodeRequest::Kind::logical)
        return logical_nodes(cpus, request.count);
    if (request.kind == NodeRequest::Kind::list)
        return listed_nodes(nodes_of_machine(cpus), request.list);
    return first_nodes(nodes_of_machine(cpus), request);
}

std::string plural(std::size_t count, const std::string &word) {
    return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::string listed(const std::vector<std::uint32_t> &numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
            ++last;
        text += i ? ", " : "";
        text += std::to_string(numbers[i]);
        if (last > i) {
            text += last == i + 1 ? ", " : "-";
            text += std::to_string(numbers[last]);
        }
        i = last + 1;
    }
    return text;
}

std::string named(const std::vector<std::uint32_t> &numbers) {
    return (numbers.size() == 1 ? "node " : "nodes ") + listed(numbers);
}

} // namespace gristmill::work
