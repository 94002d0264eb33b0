// The plan for machines of many shapes, against plans worked out by hand.
#include <string>

#include <gtest/gtest.h>

#include "machines.hpp"

namespace gristmill {
namespace {

using namespace test;

std::string text(const Numbers &numbers) {
    std::string text;
    for (const std::uint32_t number : numbers)
        text.append(text.empty() ? "" : " ").append(std::to_string(number));
    return text;
}

// A line for each node: "os 0 | cpus 0 1 | workers 2 | memory 0 | steal 0 1".
std::string nodes_of(const Plan &plan) {
    std::string lines;
    for (const PlannedNode &node : plan.nodes)
        lines += "os " + std::to_string(node.os_node) + " | cpus " + text(node.cpus) +
                 " | workers " + std::to_string(node.workers) + " | memory " +
                 (node.memory_node ? std::to_string(*node.memory_node) : "none") + " | steal " +
                 text(node.steal_order) + "\n";
    return lines;
}

std::string cpus_of(const Plan &plan) { return text(cpus(plan)); }

bool says(const Plan &plan, const std::string &what) {
    for (const std::string &reason : plan.reasons)
        if (reason.find(what) != std::string::npos)
            return true;
    ADD_FAILURE() << "no reason says '" << what << "':";
    for (const std::string &reason : plan.reasons)
        ADD_FAILURE() << reason;
    return false;
}

TEST(PlanMachines, four_cores) {
    const Topology machine = described("core:4 pu:1");
    const Plan made = plan(machine, wish({}));
    EXPECT_EQ(nodes_of(made), "os 0 | cpus 0 1 2 3 | workers 4 | memory 0 | steal 0\n");
    EXPECT_EQ(made.reasons.size(), 2u) << "nothing else was to choose";
    EXPECT_TRUE(says(made, "1 node: all that have CPUs to use"));
    EXPECT_TRUE(says(made, "4 workers: one for each usable CPU"));
    const Plan parts = plan(machine, wish({}, "@8"));
    EXPECT_EQ(text(nodes(parts)), "0 1 2 3");
    EXPECT_EQ(cpus_of(parts), "0 1 2 3");
    EXPECT_EQ(parts.nodes[5].cpus, (Numbers{1}));
    EXPECT_EQ(parts.nodes[5].memory_node, 0u);
    EXPECT_EQ(text(parts.nodes[5].steal_order), "5 6 7 0 1 2 3 4");
    EXPECT_TRUE(says(parts, "there are only 4 cores, so nodes share them"));
    EXPECT_TRUE(says(parts, "no worker on nodes 4-7"));
}

TEST(PlanMachines, one_socket_with_smt) {
    const Topology machine = described("pack:1 core:4 pu:2");
    EXPECT_EQ(cpus_of(plan(machine, wish({}))), "0 2 4 6 1 3 5 7");
    const Plan five = plan(machine, wish(5));
    EXPECT_EQ(cpus_of(five), "0 2 4 6 1");
    EXPECT_TRUE(says(five, "physical cores first: 4 workers there, 1 on SMT siblings"));
    const Plan halves = plan(machine, wish({}, "@2"));
    EXPECT_EQ(nodes_of(halves), "os 0 | cpus 0 4 1 5 | workers 4 | memory 0 | steal 0 1\n"
                                "os 0 | cpus 2 6 3 7 | workers 4 | memory 0 | steal 1 0\n");
    EXPECT_TRUE(says(halves, "2 logical nodes: whole cores dealt out in turn"));
    const Plan cores = plan(machine, wish({}, "@4", false));
    EXPECT_EQ(cpus_of(cores), "0 2 4 6");
    EXPECT_TRUE(says(cores, "smt=False leaves 4 SMT siblings unused"));
    // More logical nodes than cores: the siblings of a core are in both nodes that share it.
    EXPECT_EQ(cpus_of(plan(machine, wish({}, "@8"))), "0 2 4 6 1 3 5 7");
}

TEST(PlanMachines, two_sockets) {
    const Topology machine = described("pack:2 [numa(memory=8GB)] core:2 pu:2");
    const Plan made = plan(machine, wish({}));
    EXPECT_EQ(nodes_of(made), "os 0 | cpus 0 2 1 3 | workers 4 | memory 0 | steal 0 1\n"
                              "os 1 | cpus 4 6 5 7 | workers 4 | memory 1 | steal 1 0\n");
    EXPECT_EQ(cpus_of(made), "0 4 2 6 1 5 3 7");
    EXPECT_TRUE(says(made, "2 nodes: all that have CPUs to use"));
    EXPECT_TRUE(says(made, "memory of each node: that of the node on which its CPUs lie"));
    EXPECT_TRUE(says(made, "takes from the other nodes in turn: all are equally far"));
    EXPECT_EQ(nodes_of(plan(machine, wish({}, "@2"))), nodes_of(made)) << "the sockets";
    EXPECT_EQ(cpus_of(plan(machine, wish(5))), "0 4 2 6 1");
}

TEST(PlanMachines, logical_nodes_of_two_sockets) {
    const Topology machine = described("pack:2 [numa(memory=8GB)] core:2 pu:2");
    const Plan four = plan(machine, wish(4, "@4"));
    EXPECT_EQ(nodes_of(four), "os 0 | cpus 0 1 | workers 1 | memory 0 | steal 0 1 2 3\n"
                              "os 0 | cpus 2 3 | workers 1 | memory 0 | steal 1 0 2 3\n"
                              "os 1 | cpus 4 5 | workers 1 | memory 1 | steal 2 3 0 1\n"
                              "os 1 | cpus 6 7 | workers 1 | memory 1 | steal 3 2 0 1\n");
    EXPECT_EQ(cpus_of(four), "0 2 4 6") << "a core each";
    EXPECT_TRUE(says(four, "each within one node of the machine: 2 in node 0, 2 in node 1"));
    EXPECT_TRUE(says(four, "takes from the nearest node first"));
    EXPECT_EQ(nodes_of(plan(machine, wish({}, "@3"))),
              "os 0 | cpus 0 1 | workers 2 | memory 0 | steal 0 1 2\n"
              "os 0 | cpus 2 3 | workers 2 | memory 0 | steal 1 0 2\n"
              "os 1 | cpus 4 6 5 7 | workers 4 | memory 1 | steal 2 0 1\n");
    const Plan one = plan(machine, wish({}, "@1"));
    EXPECT_EQ(nodes_of(one), "os 0 | cpus 0 2 4 6 1 3 5 7 | workers 8 | memory none | steal 0\n");
    EXPECT_TRUE(says(one,
                     "node 0: its CPUs lie on the machine's nodes 0, 1, so its memory is bound "
                     "to none of them"));
}

TEST(PlanMachines, one_socket_as_four_nodes) {
    const Topology machine = described("pack:1 group:4 [numa(memory=8GB)] core:2 pu:2");
    const Plan made = plan(machine, wish({}));
    EXPECT_EQ(nodes_of(made), "os 0 | cpus 0 2 1 3 | workers 4 | memory 0 | steal 0 1 2 3\n"
                              "os 1 | cpus 4 6 5 7 | workers 4 | memory 1 | steal 1 2 3 0\n"
                              "os 2 | cpus 8 10 9 11 | workers 4 | memory 2 | steal 2 3 0 1\n"
                              "os 3 | cpus 12 14 13 15 | workers 4 | memory 3 | steal 3 0 1 2\n")
        << "equally far ones in turn, so that not all take from node 0 first";
    EXPECT_EQ(cpus_of(plan(machine, wish(6))), "0 4 8 12 2 6");
    EXPECT_EQ(cpus_of(plan(machine, wish({}, "2", false))), "0 4 2 6");
    const Plan listed = plan(machine, wish({}, "3,1", false));
    EXPECT_EQ(nodes_of(listed), "os 3 | cpus 12 14 | workers 2 | memory 3 | steal 0 1\n"
                                "os 1 | cpus 4 6 | workers 2 | memory 1 | steal 1 0\n");
    EXPECT_EQ(plan(machine, wish({}, "@8")).nodes[7].cpus, (Numbers{14, 15}));
}

TEST(PlanMachines, eight_nodes_with_256_cpus) {
    const Topology machine = described("pack:2 group:4 [numa(memory=32GB)] core:16 pu:2");
    const Plan made = plan(machine, wish({}));
    ASSERT_EQ(made.workers.size(), 256u);
    for (std::uint32_t i = 0; i < 256; ++i) { // first threads have even numbers
        EXPECT_EQ(made.workers[i].node, i % 8);
        EXPECT_EQ(made.workers[i].cpu, 32 * (i % 8) + 2 * (i % 128 / 8) + i / 128);
    }
    EXPECT_EQ(text(made.nodes[6].steal_order), "6 7 0 1 2 3 4 5");
    const Plan sockets = plan(machine, wish({}, "@2"));
    EXPECT_TRUE(says(sockets, "neighbouring nodes of the machine become one: 0-3 | 4-7"));
    EXPECT_EQ(sockets.nodes[1].cpus.size(), 128u);
    EXPECT_EQ(sockets.nodes[1].cpus[1], 130u) << "first threads first";
    const Plan few = plan(machine, wish(3));
    EXPECT_EQ(cpus_of(few), "0 32 64");
    EXPECT_TRUE(
        says(few, "no worker on nodes 3-7: the workers of the other nodes do all the work"));
    EXPECT_EQ(plan(machine, wish({}, "@16")).nodes[3].cpus.front(), 34u) << "two in each node";
}

TEST(PlanMachines, sub_numa_clusters) {
    const Topology machine = described("sub-numa-clusters");
    const Plan made = plan(machine, wish({}));
    EXPECT_EQ(nodes_of(made), "os 0 | cpus 0 1 8 9 | workers 4 | memory 0 | steal 0 1 2 3\n"
                              "os 1 | cpus 2 3 10 11 | workers 4 | memory 1 | steal 1 0 3 2\n"
                              "os 2 | cpus 4 5 12 13 | workers 4 | memory 2 | steal 2 3 0 1\n"
                              "os 3 | cpus 6 7 14 15 | workers 4 | memory 3 | steal 3 2 1 0\n");
    EXPECT_EQ(cpus_of(made), "0 2 4 6 1 3 5 7 8 10 12 14 9 11 13 15");
    EXPECT_EQ(nodes_of(plan(machine, wish(2, "@2"))),
              "os 0 | cpus 0 1 2 3 8 9 10 11 | workers 1 | memory none | steal 0 1\n"
              "os 2 | cpus 4 5 6 7 12 13 14 15 | workers 1 | memory none | steal 1 0\n")
        << "the sockets";
}

TEST(PlanMachines, distances_that_differ_by_direction) {
    const Topology machine = described("ring-of-four");
    const Plan made = plan(machine, wish({}));
    EXPECT_EQ(nodes_of(made), "os 0 | cpus 0 1 | workers 2 | memory 0 | steal 0 1 3 2\n"
                              "os 1 | cpus 2 3 | workers 2 | memory 1 | steal 1 2 0 3\n"
                              "os 2 | cpus 4 5 | workers 2 | memory 2 | steal 2 3 1 0\n"
                              "os 3 | cpus 6 7 | workers 2 | memory 3 | steal 3 0 2 1\n");
    // {0, 1}, {2} and {3}: 24 and 27 from the first, 27 and 16 from the second, 24 and 22.
    EXPECT_EQ(nodes_of(plan(machine, wish(3, "@3"))),
              "os 0 | cpus 0 1 2 3 | workers 1 | memory none | steal 0 1 2\n"
              "os 2 | cpus 4 5 | workers 1 | memory 2 | steal 1 2 0\n"
              "os 3 | cpus 6 7 | workers 1 | memory 3 | steal 2 1 0\n");
}

TEST(PlanMachines, high_bandwidth_memory) {
    const Topology machine = described("two-sockets-with-hbm");
    EXPECT_EQ(machine.nodes[3].memory_kind, "HBM");
    EXPECT_FALSE(machine.nodes[3].has_cpus);
    const Plan made = plan(machine, wish({}));
    EXPECT_EQ(nodes_of(made), "os 0 | cpus 0 1 4 5 | workers 4 | memory 0 | steal 0 1\n"
                              "os 1 | cpus 2 3 6 7 | workers 4 | memory 1 | steal 1 0\n");
    EXPECT_TRUE(says(made, "the machine's nodes 2, 3: memory without CPUs; no workers, and nothing "
                           "is placed there"));
    EXPECT_NE(make_plan(machine, wish({}, "2,3")).error().message.find("nodes 0, 1"),
              std::string::npos);
}

TEST(PlanMachines, a_container_with_3_of_64_cpus) {
    const Topology machine = described("container-3-of-64-cpus");
    const Plan made = plan(machine, wish({}));
    EXPECT_EQ(nodes_of(made), "os 0 | cpus 5 40 37 | workers 3 | memory none | steal 0\n");
    EXPECT_EQ(cpus_of(made), "5 40 37") << "37 is the sibling of 5";
    EXPECT_TRUE(says(made, "3 CPUs of the machine's 64"));
    EXPECT_TRUE(says(made, "the control group does not allow its memory (cpuset.mems)"));
    EXPECT_TRUE(says(made, "the machine's node 1: this process may use none of its CPUs"));
    EXPECT_EQ(nodes_of(plan(machine, wish({}, "@2"))),
              "os 0 | cpus 5 37 | workers 2 | memory none | steal 0 1\n"
              "os 0 | cpus 40 | workers 1 | memory none | steal 1 0\n");
    EXPECT_FALSE(make_plan(machine, wish({}, "2"))) << "CPUs of one node are usable";
}

TEST(PlanMachines, a_hybrid_of_fast_and_slow_cores) {
    const Topology machine = described("hybrid-laptop");
    const Plan six = plan(machine, wish(6));
    EXPECT_EQ(cpus_of(six), "0 2 4 6 8 9");
    EXPECT_TRUE(says(six, "the fastest cores first: 4 workers there, 2 on slower cores, 0 on SMT"));
    EXPECT_EQ(cpus_of(plan(machine, wish({}))), "0 2 4 6 8 9 10 11 12 13 14 15 1 3 5 7");
    EXPECT_EQ(plan(machine, wish({}, "auto", false)).workers.size(), 12u);
    EXPECT_EQ(nodes_of(plan(machine, wish(6, "@2"))),
              "os 0 | cpus 0 4 8 10 12 14 1 5 | workers 3 | memory 0 | steal 0 1\n"
              "os 0 | cpus 2 6 9 11 13 15 3 7 | workers 3 | memory 0 | steal 1 0\n")
        << "as many fast cores in each";
}

TEST(PlanMachines, cpus_without_memory) {
    const Plan made = plan(described("cpus-without-memory"), wish({}));
    EXPECT_EQ(nodes_of(made), "os 0 | cpus 0 1 | workers 2 | memory 0 | steal 0 2 1\n"
                              "os 1 | cpus 2 3 | workers 2 | memory 2 | steal 1 2 0\n"
                              "os 2 | cpus 4 5 | workers 2 | memory 2 | steal 2 1 0\n");
    EXPECT_TRUE(says(made,
                     "node 1 has no memory of its own: that of the machine's node 2 is nearest "
                     "(distance 15)"));
    EXPECT_TRUE(says(made, "memory of the other nodes: that on which their CPUs lie"));
}

TEST(PlanMachines, guests) {
    EXPECT_EQ(nodes_of(plan(described("guest-cpus-without-memory"), wish({}))),
              "os 0 | cpus 0 1 | workers 2 | memory 0 | steal 0 1 2 3\n"
              "os 1 | cpus 2 3 | workers 2 | memory 1 | steal 1 2 3 0\n"
              "os 2 | cpus 4 5 | workers 2 | memory 2 | steal 2 3 0 1\n"
              "os 3 | cpus 6 7 | workers 2 | memory 0 | steal 3 0 1 2\n");
    EXPECT_EQ(nodes_of(plan(described("guest-memory-without-cpus"), wish({}))),
              "os 0 | cpus 0 1 | workers 2 | memory 0 | steal 0 1\n"
              "os 1 | cpus 2 3 | workers 2 | memory 1 | steal 1 0\n");
    EXPECT_EQ(nodes_of(plan(described("guest-two-sockets-four-nodes"), wish({}))),
              "os 0 | cpus 0 1 | workers 2 | memory 0 | steal 0 1 2 3\n"
              "os 1 | cpus 2 3 | workers 2 | memory 1 | steal 1 0 3 2\n"
              "os 2 | cpus 4 5 | workers 2 | memory 2 | steal 2 3 0 1\n"
              "os 3 | cpus 6 7 | workers 2 | memory 3 | steal 3 2 1 0\n");
}

} // namespace
} // namespace gristmill
