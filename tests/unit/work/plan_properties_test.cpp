// What holds for every plan, whatever the machine and the wishes.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machines.hpp"
#include "support/random.hpp"

namespace gristmill {
namespace {

using namespace test;
using Tier = std::pair<std::uint32_t, std::uint32_t>;

std::map<std::uint32_t, Cpu> by_number(const Topology &machine) {
    std::map<std::uint32_t, Cpu> cpus;
    for (const Cpu &cpu : machine.cpus)
        cpus[cpu.os_index] = cpu;
    return cpus;
}

// Workers stand on CPUs of their nodes, those on usable CPUs, and the counts add up.
void check_counts(const Topology &machine, const Plan &plan) {
    const auto known = by_number(machine);
    Numbers workers(plan.nodes.size());
    for (const PlannedNode &node : plan.nodes) {
        EXPECT_FALSE(node.cpus.empty());
        EXPECT_EQ(known.at(node.cpus[0]).node, node.os_node);
        for (const std::uint32_t cpu : node.cpus)
            EXPECT_TRUE(known.count(cpu));
        EXPECT_EQ(std::set<std::uint32_t>(node.cpus.begin(), node.cpus.end()).size(),
                  node.cpus.size());
    }
    for (const PlannedWorker &worker : plan.workers) {
        ASSERT_LT(worker.node, plan.nodes.size());
        const Numbers &own = plan.nodes[worker.node].cpus;
        EXPECT_NE(std::find(own.begin(), own.end(), worker.cpu), own.end());
        ++workers[worker.node];
    }
    for (std::size_t i = 0; i < plan.nodes.size(); ++i)
        EXPECT_EQ(workers[i], plan.nodes[i].workers);
}

// Among the CPUs of all nodes, the preferred ones have as many workers as the others or one more.
void check_preference(const Topology &machine, const Plan &plan) {
    const auto known = by_number(machine);
    std::map<std::uint32_t, std::size_t> load;
    for (const PlannedNode &node : plan.nodes)
        for (const std::uint32_t cpu : node.cpus)
            load[cpu] = 0;
    for (const PlannedWorker &worker : plan.workers)
        ++load[worker.cpu];
    for (const auto &[one, ones] : load)
        for (const auto &[other, others] : load) {
            const Cpu &a = known.at(one);
            const Cpu &b = known.at(other);
            EXPECT_LE(ones, others + 1) << one << " before " << other;
            if (Tier{a.smt_rank, a.core_kind} < Tier{b.smt_rank, b.core_kind}) {
                EXPECT_GE(ones, others) << one << " after " << other;
            }
        }
}

// All threads of a core in one node, and nodes within one node of the machine, where there are
// enough cores and not too many nodes of the machine.
void check_logical(const Topology &machine, const EngineOptions &options, const Plan &plan) {
    const auto known = by_number(machine);
    std::map<std::uint32_t, std::set<std::size_t>> of_core;
    std::set<std::uint32_t> real;
    std::size_t cpus = 0;
    for (std::size_t i = 0; i < plan.nodes.size(); ++i)
        for (const std::uint32_t cpu : plan.nodes[i].cpus) {
            of_core[known.at(cpu).core].insert(i);
            real.insert(known.at(cpu).node);
            ++cpus;
        }
    EXPECT_EQ(plan.nodes.size(), options.nodes.count);
    for (const PlannedNode &node : plan.nodes)
        for (const std::uint32_t cpu : node.cpus)
            if (real.size() <= plan.nodes.size()) {
                EXPECT_EQ(known.at(cpu).node, node.os_node);
            }
    std::map<std::uint32_t, std::size_t> cores_of, parts_of; // of each node of the machine
    for (const auto &[core, nodes] : of_core)
        ++cores_of[plan.nodes[*nodes.begin()].os_node];
    for (const PlannedNode &node : plan.nodes)
        ++parts_of[node.os_node];
    for (const auto &[core, nodes] : of_core) {
        const std::uint32_t own = plan.nodes[*nodes.begin()].os_node;
        if (parts_of[own] <= cores_of[own]) {
            EXPECT_EQ(nodes.size(), 1u) << "core " << core;
        }
    }
}

void check_memory(const Topology &machine, const Plan &plan) {
    const auto known = by_number(machine);
    for (const PlannedNode &node : plan.nodes) {
        bool one_place = true;
        for (const std::uint32_t cpu : node.cpus)
            one_place = one_place && known.at(cpu).node == node.os_node;
        if (!one_place) {
            EXPECT_FALSE(node.memory_node);
        }
        for (const NumaNode &numa : machine.nodes) {
            if (node.memory_node == numa.os_index) {
                EXPECT_TRUE(numa.memory_bytes > 0 && numa.memory_allowed);
            }
            if (one_place && numa.os_index == node.os_node && numa.memory_bytes > 0) {
                EXPECT_EQ(node.memory_node.has_value(), numa.memory_allowed);
            }
        }
    }
}

void check_stealing(const Plan &plan) {
    for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
        Numbers order = plan.nodes[i].steal_order;
        ASSERT_EQ(order.size(), plan.nodes.size());
        EXPECT_EQ(order[0], i);
        std::sort(order.begin(), order.end());
        for (std::uint32_t j = 0; j < order.size(); ++j)
            EXPECT_EQ(order[j], j) << "a permutation";
    }
}

void check(const Topology &machine, const EngineOptions &options) {
    const Result<Plan> made = make_plan(machine, options);
    ASSERT_TRUE(made) << made.error().message;
    if (options.workers) {
        EXPECT_EQ(made->workers.size(), *options.workers);
    }
    check_counts(machine, *made);
    check_preference(machine, *made);
    if (options.nodes.kind == NodeRequest::Kind::logical)
        check_logical(machine, options, *made);
    check_memory(machine, *made);
    check_stealing(*made);
    EXPECT_FALSE(made->reasons.empty());
    const Result<Plan> again = make_plan(machine, options);
    EXPECT_EQ(again->reasons, made->reasons) << "a pure function";
}

std::size_t nodes_with_cpus(const Topology &machine) {
    std::set<std::uint32_t> nodes;
    for (const Cpu &cpu : machine.cpus)
        nodes.insert(cpu.node);
    return nodes.size();
}

void check_all_wishes(const Topology &machine, std::uint32_t most_workers) {
    std::vector<std::string> nodes = {"auto"};
    for (std::uint32_t count = 1; count <= 8; ++count)
        nodes.push_back(std::string("@").append(std::to_string(count)));
    for (std::size_t count = 1; count <= nodes_with_cpus(machine); ++count)
        nodes.push_back(std::to_string(count));
    for (const std::string &wished : nodes)
        for (const bool smt : {true, false}) {
            SCOPED_TRACE(std::string("nodes=").append(wished).append(smt ? "" : ", smt=False"));
            check(machine, wish({}, wished, smt));
            for (std::uint32_t workers = 0; workers <= most_workers; ++workers) {
                SCOPED_TRACE("workers=" + std::to_string(workers));
                check(machine, wish(workers, wished, smt));
                if (testing::Test::HasFailure())
                    return;
            }
        }
}

TEST(PlanProperties, every_machine_and_every_wish) {
    for (const Described &each : kMachines) {
        SCOPED_TRACE(each.name);
        const Topology machine = described(each.machine);
        ASSERT_FALSE(machine.cpus.empty());
        ASSERT_FALSE(machine.nodes.empty());
        check_all_wishes(machine, machine.cpus.size() > 64 ? 1 : 8);
        ASSERT_FALSE(HasFailure());
    }
}

// Any number of nodes with any number of cores, threads, kinds and distances, of which any part may
// be used.
Topology random_machine(Random &random) {
    Topology machine;
    std::uint32_t core = 0, number = 0;
    const auto nodes = static_cast<std::uint32_t>(random.between(1, 6));
    for (std::uint32_t node = 0; node < nodes; ++node) {
        NumaNode numa;
        numa.os_index = node * 2;
        numa.memory_bytes = random.one_in(5) ? 0 : 1 << 20;
        numa.memory_allowed = !random.one_in(6);
        for (std::uint32_t other = 0; other < nodes; ++other)
            numa.distances.push_back(other == node ? 10 : std::uint32_t(random.between(11, 40)));
        for (std::uint64_t cores = random.between(0, 4); cores > 0; --cores, ++core) {
            const auto kind = static_cast<std::uint32_t>(random.below(2));
            std::uint32_t rank = 0;
            for (std::uint64_t threads = random.between(1, 3); threads > 0; --threads, ++number)
                if (!random.one_in(3))
                    machine.cpus.push_back({number, core, rank++, node / 2, node * 2, kind});
        }
        machine.nodes.push_back(std::move(numa));
    }
    if (machine.cpus.empty())
        machine.cpus.push_back({number, core, 0, 0, 0, 0});
    machine.cpus_of_machine = number;
    return machine;
}

TEST(PlanProperties, random_machines) {
    const SeedRange seeds(100);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        SCOPED_TRACE(replay(seed));
        Random random(seed);
        check_all_wishes(random_machine(random), 8);
        ASSERT_FALSE(HasFailure());
    }
}

} // namespace
} // namespace gristmill
