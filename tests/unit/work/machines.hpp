// Machines, wishes and plans of the tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gristmill/topology.hpp>

namespace gristmill::test {

using Numbers = std::vector<std::uint32_t>;

// `cores` cores on each of `nodes` nodes, with `threads` hardware threads each; the siblings have
// the numbers behind all first threads, as on most machines.
inline Topology machine(std::uint32_t nodes, std::uint32_t cores, std::uint32_t threads) {
    Topology topology;
    for (std::uint32_t rank = 0; rank < threads; ++rank)
        for (std::uint32_t core = 0; core < nodes * cores; ++core)
            topology.cpus.push_back(
                {rank * nodes * cores + core, core, rank, core / cores, core / cores});
    return topology;
}

inline EngineOptions wish(std::optional<std::uint32_t> workers, const std::string &nodes = "auto",
                          bool smt = true) {
    EngineOptions options;
    options.workers = workers;
    options.nodes = NodeRequest::parse(nodes).value();
    options.smt = smt;
    return options;
}

inline Plan plan(const Topology &topology, const EngineOptions &options) {
    Result<Plan> made = make_plan(topology, options);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made ? *made : Plan{};
}

inline Numbers cpus(const Plan &plan) {
    Numbers numbers;
    for (const PlannedWorker &worker : plan.workers)
        numbers.push_back(worker.cpu);
    return numbers;
}

inline Numbers nodes(const Plan &plan) {
    Numbers numbers;
    for (const PlannedWorker &worker : plan.workers)
        numbers.push_back(worker.node);
    return numbers;
}

// A file of the folder "machines", or hwloc's short text for a machine.
inline Topology described(const std::string &machine) {
    const bool file = machine.find(':') == std::string::npos;
    const std::string where = file ? TEST_MACHINES "/" + machine + ".xml" : machine;
    Result<Topology> topology = read_topology(TopologySource::parse(where));
    EXPECT_TRUE(topology) << (topology ? "" : topology.error().message);
    return topology ? *topology : Topology{};
}

// Every machine that the plan is tested on: a name for messages, and what `described` takes.
struct Described {
    const char *name;
    const char *machine;
};
inline constexpr Described kMachines[] = {
    {"four cores", "core:4 pu:1"},
    {"one socket with SMT", "pack:1 core:4 pu:2"},
    {"two sockets", "pack:2 [numa(memory=8GB)] core:2 pu:2"},
    {"one socket as four nodes", "pack:1 group:4 [numa(memory=8GB)] core:2 pu:2"},
    {"eight nodes, 256 CPUs", "pack:2 group:4 [numa(memory=32GB)] core:16 pu:2"},
    {"sub-NUMA clusters", "sub-numa-clusters"},
    {"a ring of four", "ring-of-four"},
    {"HBM", "two-sockets-with-hbm"},
    {"a container", "container-3-of-64-cpus"},
    {"a hybrid", "hybrid-laptop"},
    {"CPUs without memory", "cpus-without-memory"},
    {"a guest: CPUs without memory", "guest-cpus-without-memory"},
    {"a guest: memory without CPUs", "guest-memory-without-cpus"},
    {"a guest: two sockets, four nodes", "guest-two-sockets-four-nodes"},
};

} // namespace gristmill::test
