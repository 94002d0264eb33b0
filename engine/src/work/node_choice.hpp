// Which CPUs make a node of a plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gristmill/error.hpp>
#include <gristmill/options.hpp>
#include <gristmill/topology.hpp>

namespace gristmill::work {

struct NodeChoice {
    std::vector<std::vector<Cpu>> nodes{}; // never an empty one; each in order of preference
    std::string reason{};                  // one sentence
};

// Whether `a` should have a worker before `b` has: the first thread of a core before its siblings,
// and of these the fastest kind of core first.
bool preferred(const Cpu &a, const Cpu &b);

// `cpus`: at least one, in order of preference. ErrorKind::invalid_option for nodes that are not
// there. Logical nodes: all threads of a core belong to one; and each belongs to one node of the
// machine, unless there are more of those. Only with fewer cores than logical nodes do these share
// cores.
Result<NodeChoice> choose_nodes(const std::vector<Cpu> &cpus, const NodeRequest &request);

// "1 node", "2 nodes".
std::string plural(std::size_t count, const std::string &word);

// "0-3, 8" for ascending numbers; and with the word before it: "node 4", "nodes 0-3, 8".
std::string listed(const std::vector<std::uint32_t> &numbers);
std::string named(const std::vector<std::uint32_t> &numbers);

} // namespace gristmill::work
