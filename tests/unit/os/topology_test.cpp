// What is found of a machine: by the kernel's files, by hwloc's descriptions, and here.
#include <algorithm>
#include <sched.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gristmill/topology.hpp>

#include "folder_tree.hpp"
#include "os/kernel_view.hpp"

namespace gristmill::os {
namespace {

using Numbers = std::vector<std::uint32_t>;
using test::FolderTree;

const std::string kNodes = "/sys/devices/system/node";

Topology described(const std::string &text) {
    Result<Topology> topology = read_topology(TopologySource::parse(text));
    EXPECT_TRUE(topology) << (topology ? "" : topology.error().message);
    return topology ? *topology : Topology{};
}

TEST(KernelView, lists_of_numbers) {
    EXPECT_EQ(parse_number_list("0"), (Numbers{0}));
    EXPECT_EQ(parse_number_list("0-2,8,10-11\n"), (Numbers{0, 1, 2, 8, 10, 11}));
    for (const char *none : {"", "\n", "x", "-3", ",", "4294967295", "0-4294967295"})
        EXPECT_EQ(parse_number_list(none), Numbers{}) << none;
    EXPECT_EQ(parse_number_list("5-3"), Numbers{});
    EXPECT_EQ(parse_number_list("1,x"), (Numbers{1}));
}

TEST(KernelView, memory_that_is_allowed) {
    FolderTree tree;
    tree.add("/proc/self/status", "Name:\tx\nMems_allowed:\t6\nMems_allowed_list:\t1-2\nx:\t1\n");
    EXPECT_EQ(allowed_memory_nodes(tree.root()), (Numbers{1, 2}));
    EXPECT_EQ(allowed_memory_nodes(FolderTree().root()), std::nullopt);
    tree.add("/proc/self/status", "Mems_allowed_list:\tx\n");
    EXPECT_EQ(allowed_memory_nodes(tree.root()), std::nullopt);
}

TEST(KernelView, plain_machines_need_no_hwloc) {
    const std::string cpus = "/sys/devices/system/cpu";
    FolderTree tree({{kNodes + "/online", "0\n"}, {cpus + "/smt/active", "0\n"}});
    EXPECT_TRUE(is_plain_machine({0, 1}, tree.root()));
    tree.add(cpus + "/cpu0/cpu_capacity", "1024\n");
    tree.add(cpus + "/cpu1/cpu_capacity", "1024\n");
    EXPECT_TRUE(is_plain_machine({0, 1}, tree.root()));
    tree.add(cpus + "/cpu1/cpu_capacity", "446\n");
    EXPECT_FALSE(is_plain_machine({0, 1}, tree.root())) << "two kinds of cores";
    EXPECT_TRUE(is_plain_machine({0}, tree.root())) << "of which we may use one";
    tree.add("/sys/devices/cpu_atom/cpus", "8-15\n");
    EXPECT_FALSE(is_plain_machine({0}, tree.root())) << "a hybrid of Intel's";
    const FolderTree threaded({{kNodes + "/online", "0\n"}, {cpus + "/smt/active", "1\n"}});
    EXPECT_FALSE(is_plain_machine({0}, threaded.root()));
    const FolderTree two({{kNodes + "/online", "0-1\n"}, {cpus + "/smt/active", "0\n"}});
    EXPECT_FALSE(is_plain_machine({0}, two.root()));
}

TEST(Topology, a_described_machine) {
    const Topology found = described("pack:2 [numa(memory=8589934592)] l3:1(size=32MiB) "
                                     "l2:2(size=1MiB) core:1 pu:2");
    ASSERT_EQ(found.cpus.size(), 8u);
    EXPECT_EQ(found.cpus_of_machine, 8u);
    EXPECT_EQ(found.cpus[5].os_index, 5u);
    EXPECT_EQ(found.cpus[5].core, 2u);
    EXPECT_EQ(found.cpus[5].smt_rank, 1u);
    EXPECT_EQ(found.cpus[5].package, 1u);
    EXPECT_EQ(found.cpus[5].node, 1u);
    ASSERT_EQ(found.nodes.size(), 2u);
    EXPECT_EQ(found.nodes[1].memory_bytes, std::uint64_t{8} << 30);
    EXPECT_TRUE(found.nodes[1].has_cpus);
    EXPECT_TRUE(found.nodes[1].memory_allowed);
    EXPECT_FALSE(found.distances_known);
    EXPECT_EQ(found.nodes[1].distances, (Numbers{kDistanceOther, kDistanceOwn}));
    EXPECT_EQ(found.l2_bytes, 1u << 20);
    EXPECT_EQ(found.l3_bytes, 32u << 20);
    EXPECT_EQ(found.l3_cpus, 4u);
    EXPECT_EQ(found.cpu_quota, 0) << "ours does not count for another machine";
}

// A node of a part of a chip keeps to its own CPUs, though no other object stands for that part.
TEST(Topology, nodes_of_a_part_of_a_chip) {
    const Topology found = described("pack:2 group:2 [numa] core:2 pu:1");
    ASSERT_EQ(found.cpus.size(), 8u);
    Numbers nodes;
    for (const Cpu &cpu : found.cpus)
        nodes.push_back(cpu.node);
    EXPECT_EQ(nodes, (Numbers{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(Topology, descriptions_that_are_none) {
    const Result<Topology> words = read_topology(TopologySource::parse("my laptop"));
    ASSERT_FALSE(words);
    EXPECT_EQ(words.error().kind, ErrorKind::invalid_option);
    EXPECT_NE(words.error().message.find("'my laptop'"), std::string::npos);
    const Result<Topology> missing = read_topology(TopologySource::parse("/nowhere/at-all.xml"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::source);
    EXPECT_EQ(missing.error().path, "/nowhere/at-all.xml");
    const test::TestFolder folder;
    EXPECT_FALSE(read_topology(TopologySource::parse(folder.write("a.xml", "<html></html>"))));
}

TEST(Topology, this_machine) {
    cpu_set_t mask;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
    for (const TopologyDetail detail : {TopologyDetail::enough, TopologyDetail::full}) {
        const Result<Topology> found = discover_topology(detail);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->cpus.size(), std::size_t(CPU_COUNT(&mask)));
        for (std::size_t i = 0; i < found->cpus.size(); ++i) {
            EXPECT_TRUE(CPU_ISSET(found->cpus[i].os_index, &mask));
            EXPECT_TRUE(i == 0 || found->cpus[i - 1].os_index < found->cpus[i].os_index);
        }
        ASSERT_FALSE(found->nodes.empty());
        for (const NumaNode &node : found->nodes)
            EXPECT_EQ(node.distances.size(), found->nodes.size());
        EXPECT_GT(found->nodes[0].memory_bytes, 0u);
    }
}

// A29: the mask is never widened, by whatever else is known of the machine.
TEST(Topology, the_affinity_mask_is_kept) {
    cpu_set_t before;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    std::uint32_t last = 0;
    for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        last = CPU_ISSET(cpu, &before) ? cpu : last;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    for (const TopologyDetail detail : {TopologyDetail::enough, TopologyDetail::full}) {
        const Result<Topology> found = discover_topology(detail);
        ASSERT_TRUE(found);
        ASSERT_EQ(found->cpus.size(), 1u);
        EXPECT_EQ(found->cpus[0].os_index, last);
        EXPECT_EQ(found->cpus[0].smt_rank, 0u) << "its core's first that we may use";
    }
    ::sched_setaffinity(0, sizeof before, &before);
}

} // namespace
} // namespace gristmill::os
