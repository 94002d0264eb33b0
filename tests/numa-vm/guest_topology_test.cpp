// Topology and plan on a real kernel with several nodes: one test for each shape of guest, see
// run-shape. What is found is compared with the shape that was asked for, and with what the kernel
// itself does: on which node each CPU is, and where memory comes from that is touched there.
#include <algorithm>
#include <cstring>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <gristmill/topology.hpp>

namespace gristmill {
namespace {

using Numbers = std::vector<std::uint32_t>;

constexpr long kNodeOfAddress = 3; // MPOL_F_NODE | MPOL_F_ADDR

Topology found() {
    Result<Topology> topology = discover_topology();
    EXPECT_TRUE(topology) << (topology ? "" : topology.error().message);
    return topology ? *topology : Topology{};
}

Plan planned(const Topology &topology, const std::string &nodes = "auto",
             std::optional<std::uint32_t> workers = std::nullopt) {
    EngineOptions options;
    options.nodes = NodeRequest::parse(nodes).value();
    options.workers = workers;
    Result<Plan> plan = make_plan(topology, options);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    return plan ? *plan : Plan{};
}

std::string text(const Numbers &numbers) {
    std::string text;
    for (const std::uint32_t number : numbers)
        text.append(text.empty() ? "" : " ").append(std::to_string(number));
    return text;
}

// "0: cpus 0 1, memory, 10 20" for each node of the machine.
std::string nodes_of(const Topology &topology) {
    std::string lines;
    for (const NumaNode &node : topology.nodes) {
        Numbers cpus;
        for (const Cpu &cpu : topology.cpus)
            if (cpu.node == node.os_index)
                cpus.push_back(cpu.os_index);
        lines += std::to_string(node.os_index) + ": cpus " + text(cpus) + ", " +
                 (node.memory_bytes == 0 ? "no memory"
                  : node.memory_allowed  ? "memory"
                                         : "memory that is not allowed") +
                 ", " + text(node.distances) + "\n";
    }
    return lines;
}

// "0: cpus 0 1, memory on 0, steals 0 1" for each node of the plan, by its number on the machine.
std::string nodes_of(const Plan &plan) {
    std::string lines;
    for (const PlannedNode &node : plan.nodes)
        lines += std::to_string(node.os_node) + ": cpus " + text(node.cpus) + ", memory on " +
                 (node.memory_node ? std::to_string(*node.memory_node) : "any") + ", steals " +
                 text(node.steal_order) + "\n";
    return lines;
}

void run_on(std::uint32_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof set, &set), 0) << std::strerror(errno);
}

// The node on which a fresh page lies that this thread touches first.
int node_of_fresh_page() {
    const std::size_t size = 1 << 16;
    void *page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(page, MAP_FAILED);
    ::madvise(page, size, MADV_NOHUGEPAGE);
    std::memset(page, 1, size);
    int node = -1;
    EXPECT_EQ(::syscall(SYS_get_mempolicy, &node, nullptr, 0, page, kNodeOfAddress), 0);
    ::munmap(page, size);
    return node;
}

// The kernel agrees about each CPU of the plan, and about the memory that is nearest to it.
void check_against_kernel(const Plan &plan) {
    cpu_set_t before;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    for (const PlannedNode &node : plan.nodes)
        for (const std::uint32_t cpu : node.cpus) {
            run_on(cpu);
            unsigned here = 0, node_here = 0;
            ASSERT_EQ(::syscall(SYS_getcpu, &here, &node_here, nullptr), 0);
            EXPECT_EQ(here, cpu);
            EXPECT_EQ(node_here, node.os_node) << "CPU " << cpu;
            if (node.memory_node) {
                EXPECT_EQ(node_of_fresh_page(), int(*node.memory_node)) << "CPU " << cpu;
            }
        }
    ::sched_setaffinity(0, sizeof before, &before);
}

TEST(Guest, two_nodes) {
    const Topology topology = found();
    EXPECT_EQ(nodes_of(topology), "0: cpus 0 1, memory, 10 20\n"
                                  "1: cpus 2 3, memory, 20 10\n");
    EXPECT_TRUE(topology.distances_known);
    EXPECT_EQ(topology.cpus_of_machine, 4u);
    const Plan plan = planned(topology);
    EXPECT_EQ(nodes_of(plan), "0: cpus 0 1, memory on 0, steals 0 1\n"
                              "1: cpus 2 3, memory on 1, steals 1 0\n");
    check_against_kernel(plan);
    EXPECT_EQ(nodes_of(planned(topology, "@4")), "0: cpus 0, memory on 0, steals 0 1 2 3\n"
                                                 "0: cpus 1, memory on 0, steals 1 0 2 3\n"
                                                 "1: cpus 2, memory on 1, steals 2 3 0 1\n"
                                                 "1: cpus 3, memory on 1, steals 3 2 0 1\n");
    check_against_kernel(planned(topology, "@4"));
}

// Two sockets of two nodes, two threads in each core, and distances of three kinds.
TEST(Guest, four_unequal_nodes) {
    const Topology topology = found();
    EXPECT_EQ(nodes_of(topology), "0: cpus 0 1, memory, 10 12 20 25\n"
                                  "1: cpus 2 3, memory, 12 10 25 20\n"
                                  "2: cpus 4 5, memory, 20 25 10 12\n"
                                  "3: cpus 6 7, memory, 25 20 12 10\n");
    const Plan plan = planned(topology);
    EXPECT_EQ(nodes_of(plan), "0: cpus 0 1, memory on 0, steals 0 1 2 3\n"
                              "1: cpus 2 3, memory on 1, steals 1 0 3 2\n"
                              "2: cpus 4 5, memory on 2, steals 2 3 0 1\n"
                              "3: cpus 6 7, memory on 3, steals 3 2 1 0\n");
    check_against_kernel(plan);
    Numbers order;
    for (const PlannedWorker &worker : plan.workers)
        order.push_back(worker.cpu);
    EXPECT_EQ(text(order), "0 2 4 6 1 3 5 7") << "a core each, then the siblings";
    EXPECT_EQ(nodes_of(planned(topology, "@2")), "0: cpus 0 2 1 3, memory on any, steals 0 1\n"
                                                 "2: cpus 4 6 5 7, memory on any, steals 1 0\n");
}

TEST(Guest, memory_without_cpus) {
    const Topology topology = found();
    EXPECT_EQ(nodes_of(topology), "0: cpus 0 1, memory, 10 20 40\n"
                                  "1: cpus 2 3, memory, 20 10 40\n"
                                  "2: cpus , memory, 40 40 10\n");
    EXPECT_FALSE(topology.nodes[2].has_cpus);
    const Plan plan = planned(topology);
    EXPECT_EQ(nodes_of(plan), "0: cpus 0 1, memory on 0, steals 0 1\n"
                              "1: cpus 2 3, memory on 1, steals 1 0\n");
    check_against_kernel(plan);
}

// hwloc shows node 3 only when nodes that are not allowed are asked for, too.
TEST(Guest, cpus_without_memory) {
    const Topology topology = found();
    EXPECT_EQ(nodes_of(topology), "0: cpus 0, memory, 10 20 20 30\n"
                                  "1: cpus 1, memory, 20 10 20 15\n"
                                  "2: cpus 2, memory, 20 20 10 30\n"
                                  "3: cpus 3, no memory, 30 15 30 10\n");
    const Plan plan = planned(topology);
    EXPECT_EQ(nodes_of(plan), "0: cpus 0, memory on 0, steals 0 1 2 3\n"
                              "1: cpus 1, memory on 1, steals 1 3 2 0\n"
                              "2: cpus 2, memory on 2, steals 2 0 1 3\n"
                              "3: cpus 3, memory on 1, steals 3 1 0 2\n");
    check_against_kernel(plan);
}

// Nodes 1 and 2 of four, as a container would see them.
TEST(Guest, two_of_four_nodes_allowed) {
    const Topology topology = found();
    EXPECT_EQ(nodes_of(topology), "0: cpus , memory that is not allowed, 10 20 20 20\n"
                                  "1: cpus 1, memory, 20 10 20 20\n"
                                  "2: cpus 2, memory, 20 20 10 20\n"
                                  "3: cpus , memory that is not allowed, 20 20 20 10\n");
    EXPECT_TRUE(topology.nodes[3].has_cpus);
    EXPECT_EQ(topology.cpus_of_machine, 4u);
    const Plan plan = planned(topology);
    EXPECT_EQ(nodes_of(plan), "1: cpus 1, memory on 1, steals 0 1\n"
                              "2: cpus 2, memory on 2, steals 1 0\n");
    EXPECT_EQ(plan.workers.size(), 2u);
    check_against_kernel(plan);
    EngineOptions options;
    options.nodes = NodeRequest::parse("0,1").value();
    EXPECT_FALSE(make_plan(topology, options)) << "node 0 is not ours";
}

// CPUs 0 and 1, which lie on nodes 0 and 1, with the memory of nodes 2 and 3; and half a CPU.
TEST(Guest, memory_of_other_nodes_allowed) {
    const Topology topology = found();
    EXPECT_EQ(topology.cpu_quota, 0.5);
    const Plan plan = planned(topology);
    EXPECT_EQ(nodes_of(plan), "0: cpus 0, memory on any, steals 0 1\n"
                              "1: cpus 1, memory on any, steals 1 0\n");
    EXPECT_EQ(plan.workers.size(), 1u);
    check_against_kernel(plan);
}

} // namespace
} // namespace gristmill
