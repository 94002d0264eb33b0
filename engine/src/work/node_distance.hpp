// Where the memory of a plan's nodes lies, and who is near to whom.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gristmill/topology.hpp>

namespace gristmill::work {

using NodeCpus = std::vector<std::vector<Cpu>>; // of each node of a plan

// Sets PlannedNode::memory_node of every node, and says why.
void place_memory(const Topology &topology, const NodeCpus &cpus, Plan &plan);

// Sets PlannedNode::steal_order of every node, and says why.
void order_stealing(const Topology &topology, const NodeCpus &cpus, Plan &plan);

} // namespace gristmill::work
