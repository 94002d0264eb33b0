// Which worker runs where: a pure function of the machine and the wishes.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "machines.hpp"

namespace gristmill {
namespace {

using namespace test;

TEST(Plan, one_worker_for_each_cpu) {
    const Plan made = plan(machine(1, 4, 1), wish({}));
    EXPECT_EQ(cpus(made), (Numbers{0, 1, 2, 3}));
    EXPECT_EQ(nodes(made), (Numbers{0, 0, 0, 0}));
    ASSERT_EQ(made.nodes.size(), 1u);
    EXPECT_EQ(made.nodes[0].workers, 4u);
    EXPECT_FALSE(made.reasons.empty());
}

TEST(Plan, cores_before_siblings) {
    const Topology topology = machine(1, 2, 2);
    EXPECT_EQ(cpus(plan(topology, wish(2))), (Numbers{0, 1}));
    EXPECT_EQ(cpus(plan(topology, wish({}))), (Numbers{0, 1, 2, 3}));
    EXPECT_EQ(cpus(plan(topology, wish({}, "auto", false))), (Numbers{0, 1}));
    Topology paired = topology; // siblings side by side, as on some machines
    paired.cpus = {{0, 0, 0, 0, 0}, {1, 0, 1, 0, 0}, {2, 1, 0, 0, 0}, {3, 1, 1, 0, 0}};
    EXPECT_EQ(cpus(plan(paired, wish(2))), (Numbers{0, 2}));
}

TEST(Plan, workers_are_dealt_out_over_the_nodes) {
    const Plan made = plan(machine(2, 2, 1), wish(3));
    EXPECT_EQ(nodes(made), (Numbers{0, 1, 0}));
    EXPECT_EQ(cpus(made), (Numbers{0, 2, 1}));
    EXPECT_EQ(made.nodes[0].workers, 2u);
    EXPECT_EQ(made.nodes[1].workers, 1u);
}

TEST(Plan, any_number_of_workers) {
    for (std::uint32_t workers = 0; workers <= 8; ++workers) {
        const Plan made = plan(machine(2, 2, 1), wish(workers));
        ASSERT_EQ(made.workers.size(), workers);
        std::uint32_t total = 0;
        for (const PlannedNode &node : made.nodes)
            total += node.workers;
        EXPECT_EQ(total, workers);
        for (const PlannedWorker &worker : made.workers) {
            const Numbers &own = made.nodes[worker.node].cpus;
            EXPECT_NE(std::find(own.begin(), own.end(), worker.cpu), own.end());
        }
    }
}

TEST(Plan, a_small_node_does_not_get_more_workers_than_cpus) {
    Topology uneven = machine(1, 6, 1);
    uneven.cpus[4].node = uneven.cpus[5].node = 1; // nodes of 4 and of 2 CPUs
    const Plan made = plan(uneven, wish({}));
    Numbers used = cpus(made);
    std::sort(used.begin(), used.end());
    EXPECT_EQ(used, (Numbers{0, 1, 2, 3, 4, 5})) << "each CPU once";
}

TEST(Plan, a_cpu_quota_limits_the_default_and_not_the_wish) {
    Topology topology = machine(1, 8, 1);
    topology.cpu_quota = 2.5;
    EXPECT_EQ(plan(topology, wish({})).workers.size(), 3u);
    EXPECT_EQ(plan(topology, wish(6)).workers.size(), 6u);
    topology.cpu_quota = 0.2;
    EXPECT_EQ(plan(topology, wish({})).workers.size(), 1u);
    topology.cpu_quota = 100;
    EXPECT_EQ(plan(topology, wish({})).workers.size(), 8u);
}

TEST(Plan, nodes_by_count_and_by_list) {
    const Topology topology = machine(4, 2, 1);
    EXPECT_EQ(cpus(plan(topology, wish({}, "2"))), (Numbers{0, 2, 1, 3}));
    const Plan listed = plan(topology, wish(2, "3,1"));
    EXPECT_EQ(cpus(listed), (Numbers{6, 2}));
    EXPECT_EQ(listed.nodes[0].os_node, 3u);
    EXPECT_FALSE(make_plan(topology, wish({}, "5")));
    EXPECT_FALSE(make_plan(topology, wish({}, "0,7")));
    EXPECT_FALSE(make_plan(topology, wish({}, "1,1"))) << "named twice";
    EXPECT_NE(make_plan(topology, wish({}, "5")).error().message.find("'@5'"), std::string::npos);
}

TEST(Plan, logical_nodes_share_what_there_is) {
    const Plan two = plan(machine(1, 4, 1), wish({}, "@2"));
    ASSERT_EQ(two.nodes.size(), 2u);
    EXPECT_EQ(two.nodes[0].cpus, (Numbers{0, 2}));
    EXPECT_EQ(two.nodes[1].cpus, (Numbers{1, 3}));
    EXPECT_EQ(two.workers.size(), 4u);
    const Plan many = plan(machine(1, 2, 1), wish(8, "@4"));
    EXPECT_EQ(many.nodes.size(), 4u);
    EXPECT_EQ(cpus(many), (Numbers{0, 1, 0, 1, 0, 1, 0, 1}));
    EXPECT_EQ(nodes(many), (Numbers{0, 1, 2, 3, 0, 1, 2, 3}));
    EXPECT_EQ(plan(machine(1, 2, 1), wish({}, "@4")).workers.size(), 2u);
}

// Two nodes of one package after the other, or in turn: neighbours are those of one package.
TEST(Plan, logical_nodes_join_nodes_of_one_package) {
    Topology in_turn = machine(4, 1, 1);
    for (Cpu &cpu : in_turn.cpus)
        cpu.package = cpu.node % 2;
    const Plan made = plan(in_turn, wish({}, "@2"));
    EXPECT_EQ(made.nodes[0].cpus, (Numbers{0, 2}));
    EXPECT_EQ(made.nodes[1].cpus, (Numbers{1, 3}));
}

TEST(Plan, fast_cores_first_whatever_their_numbers) {
    Topology hybrid = machine(1, 4, 1);
    hybrid.cpus[0].core_kind = hybrid.cpus[2].core_kind = 1;
    EXPECT_EQ(plan(hybrid, wish(1)).nodes[0].cpus, (Numbers{1, 3, 0, 2}));
    EXPECT_EQ(cpus(plan(hybrid, wish(3))), (Numbers{1, 3, 0}));
    // Over all nodes: the second node has slow cores alone.
    Topology split = machine(2, 2, 1);
    split.cpus[2].core_kind = split.cpus[3].core_kind = 1;
    EXPECT_EQ(nodes(plan(split, wish(3))), (Numbers{0, 0, 1}));
}

// Cores of a large node come before siblings of a small one.
TEST(Plan, physical_cores_of_all_nodes_first) {
    Topology uneven = machine(1, 4, 2); // CPUs 4 to 7 are siblings of 0 to 3
    uneven.cpus[3].node = uneven.cpus[7].node = 1;
    EXPECT_EQ(cpus(plan(uneven, wish(5))), (Numbers{0, 3, 1, 2, 7}));
}

TEST(Plan, ordinary_memory_serves_before_special_memory) {
    Topology topology = machine(3, 1, 1);
    topology.cpus.resize(1);
    topology.nodes = {{0, 0, true, true, "", {10, 15, 20}},
                      {1, 1 << 20, false, true, "HBM", {15, 10, 20}},
                      {2, 1 << 20, false, true, "", {20, 20, 10}}};
    EXPECT_EQ(plan(topology, wish(1)).nodes[0].memory_node, 2u);
    topology.nodes[2].memory_allowed = false;
    EXPECT_EQ(plan(topology, wish(1)).nodes[0].memory_node, 1u);
    topology.nodes[1].memory_bytes = 0;
    EXPECT_EQ(plan(topology, wish(1)).nodes[0].memory_node, std::nullopt);
}

TEST(Plan, a_quota_beyond_all_bounds) {
    Topology topology = machine(1, 2, 1);
    topology.cpu_quota = 1e300;
    EXPECT_EQ(plan(topology, wish({})).workers.size(), 2u);
}

TEST(Plan, no_cpu_is_an_error) { EXPECT_FALSE(make_plan(Topology{}, wish(1))); }

TEST(Plan, of_this_machine) {
    for (const TopologyDetail detail : {TopologyDetail::enough, TopologyDetail::full}) {
        const Result<Topology> topology = discover_topology(detail);
        ASSERT_TRUE(topology);
        const Plan made = plan(*topology, wish({}));
        for (const PlannedNode &node : made.nodes)
            EXPECT_TRUE(node.memory_node) << node.os_node;
    }
}

} // namespace
} // namespace gristmill
