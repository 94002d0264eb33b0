// Limits of control groups, from trees as kernels, containers and careless tools lay them out.
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "folder_tree.hpp"
#include "os/control_group.hpp"

namespace gristmill::os {
namespace {

using test::FolderTree;

const std::string kGroups = "/proc/self/cgroup";
const std::string kMounts = "/proc/self/mountinfo";
const std::string kTop = "/sys/fs/cgroup";
const std::string kUnified = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

// CPUs under a group of version 2 whose folder is the top.
double quota_for(const std::string &cpu_max) {
    const FolderTree tree({{kGroups, "0::/\n"}, {kTop + "/cpu.max", cpu_max}});
    return cpu_quota(tree.root()).cpus;
}

TEST(ControlGroup, limits_of_this_machine_make_sense) {
    EXPECT_GE(cpu_quota().cpus, 0.0);
    EXPECT_GT(memory_headroom_bytes(), 0u);
}

// A27.
TEST(ControlGroup, a_quota_or_none_whatever_the_file_says) {
    EXPECT_EQ(quota_for("50000 100000\n"), 0.5);
    EXPECT_EQ(quota_for("150000 100000\n"), 1.5);
    EXPECT_EQ(quota_for("40000 20000\n"), 2);
    EXPECT_EQ(quota_for("50000"), 0.5) << "the usual period";
    for (const char *none : {"", "\n", "max 100000\n", "max", "garbage", "-1 100000", "0 100000",
                             "100000 0", "nan 1", "1e308 1e-308", "\xff\xfe"})
        EXPECT_EQ(quota_for(none), 0) << none;
}

TEST(ControlGroup, nothing_at_all_is_no_limit) {
    const FolderTree empty;
    EXPECT_EQ(cpu_quota(empty.root()).cpus, 0);
    EXPECT_EQ(memory_headroom_bytes(empty.root()), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(oom_kills(empty.root()), 0u);
    for (const char *groups : {"", "\n", "0:", "0::", "::", "0::no/slash", "garbage", "1:cpu:/"}) {
        const FolderTree odd({{kGroups, groups}, {kMounts, "garbage\n1 2 - cgroup2\n\\0 cgroup"}});
        EXPECT_EQ(cpu_quota(odd.root()).cpus, 0) << groups;
    }
}

// A27: outside of containers the limit is that of a group within groups.
TEST(ControlGroup, the_tightest_of_all_ancestors_counts) {
    FolderTree tree({{kGroups, "0::/user.slice/job/step\n"},
                     {kMounts, kUnified},
                     {kTop + "/user.slice/cpu.max", "700000 100000"},
                     {kTop + "/user.slice/job/cpu.max", "300000 100000"},
                     {kTop + "/user.slice/job/step/cpu.max", "max 100000"},
                     {kTop + "/other/cpu.max", "100000 100000"}});
    EXPECT_EQ(cpu_quota(tree.root()).cpus, 3);
    EXPECT_EQ(cpu_quota(tree.root()).file, tree.root() + kTop + "/user.slice/job/cpu.max");
    tree.add(kTop + "/user.slice/cpu.max", "250000 100000");
    EXPECT_EQ(cpu_quota(tree.root()).cpus, 2.5) << "an ancestor may be tighter";
    tree.add(kTop + "/user.slice/job/step/cpu.max", "100000 100000");
    EXPECT_EQ(cpu_quota(tree.root()).cpus, 1);
}

TEST(ControlGroup, version_1) {
    const std::string cpu = "/sys/fs/cgroup/cpu,cpuacct";
    FolderTree tree(
        {{kGroups, "4:memory:/a\n3:cpu,cpuacct:/a/b\n"},
         {kMounts, "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup "
                   "rw,cpu,cpuacct\n"},
         {cpu + "/cpu.cfs_quota_us", "-1"},
         {cpu + "/a/cpu.cfs_quota_us", "400000"},
         {cpu + "/a/cpu.cfs_period_us", "200000"},
         {cpu + "/a/b/cpu.cfs_quota_us", "-1"},
         {kTop + "/memory/a/memory.limit_in_bytes", "1000"},
         {kTop + "/memory/a/memory.usage_in_bytes", "400"},
         {kTop + "/memory/a/memory.oom_control", "under_oom 0\noom_kill 3\n"}});
    EXPECT_EQ(cpu_quota(tree.root()).cpus, 2);
    EXPECT_EQ(memory_headroom_bytes(tree.root()), 600u) << "at the usual place: no mount is named";
    EXPECT_EQ(oom_kills(tree.root()), 3u);
    tree.add(cpu + "/a/b/cpu.cfs_quota_us", "100000");
    EXPECT_EQ(cpu_quota(tree.root()).cpus, 1) << "the usual period";
}

// Version 2 beside version 1, as systemd mounts it in "hybrid" mode: each may have the controller.
TEST(ControlGroup, both_versions_side_by_side) {
    FolderTree tree({{kGroups, "2:cpu:/one\n1:name=systemd:/one\n0::/two\n"},
                     {kMounts, "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                               "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"},
                     {kTop + "/cpu/one/cpu.cfs_quota_us", "600000"}});
    EXPECT_EQ(cpu_quota(tree.root()).cpus, 6);
    tree.add(kTop + "/unified/two/cpu.max", "500000 100000");
    EXPECT_EQ(cpu_quota(tree.root()).cpus, 5);
    tree.add(kTop + "/unified/one/cpu.max", "100000 100000");
    EXPECT_EQ(cpu_quota(tree.root()).cpus, 5) << "not ours";
}

// The mount shows only the container's part of the hierarchy, but the group has its whole name.
TEST(ControlGroup, a_container_that_sees_its_own_part) {
    const std::string mounts =
        "32 31 0:29 /docker/c0ffee /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
    FolderTree tree({{kGroups, "1:cpu:/docker/c0ffee/inner\n"},
                     {kMounts, mounts},
                     {kTop + "/cpu/cpu.cfs_quota_us", "400000"},
                     {kTop + "/cpu/inner/cpu.cfs_quota_us", "300000"}});
    EXPECT_EQ(cpu_quota(tree.root()).cpus, 3);
    for (const char *group : {"/", "/docker/c0ffee", "/docker/other", "/docker/c0ffee2", "/../x"}) {
        tree.add(kGroups, std::string("1:cpu:") + group + "\n");
        EXPECT_EQ(cpu_quota(tree.root()).cpus, 4) << group << ": what is seen at the top";
    }
}

TEST(ControlGroup, a_place_with_spaces) {
    const FolderTree tree({{kGroups, "0::/a b\n"},
                           {kMounts, "9 8 0:7 / /my\\040groups rw - cgroup2 cgroup2 rw\n"},
                           {"/my groups/a b/cpu.max", "200000 100000"}});
    EXPECT_EQ(cpu_quota(tree.root()).cpus, 2);
}

TEST(ControlGroup, memory_of_version_2) {
    const FolderTree tree({{kGroups, "0::/a/b\n"},
                           {kMounts, kUnified},
                           {kTop + "/a/memory.max", "5000"},
                           {kTop + "/a/memory.current", "4500"},
                           {kTop + "/a/b/memory.max", "2000"},
                           {kTop + "/a/b/memory.current", "1000"},
                           {kTop + "/a/b/memory.events", "low 1\noom 9\noom_kill 7\n"}});
    EXPECT_EQ(memory_headroom_bytes(tree.root()), 500u);
    EXPECT_EQ(oom_kills(tree.root()), 7u);
}

} // namespace
} // namespace gristmill::os
