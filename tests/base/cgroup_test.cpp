// Control groups of both versions, with files from several kinds of machines.
#include "base/cgroup.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/fake_root.h"

namespace laptime {
namespace {

constexpr const char* kMountVersion2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
constexpr const char* kMountsHybrid =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

std::vector<std::string> folders(const std::vector<Cgroup>& groups) {
  std::vector<std::string> names;
  names.reserve(groups.size());
  for (const Cgroup& group : groups) names.push_back(group.folder);
  return names;
}

TEST(Cgroups, FindsVersion2GroupsUpToTheMount) {
  const auto groups = parse_cgroups("memory", "0::/user.slice/job\n", kMountVersion2);
  EXPECT_EQ(folders(groups),
            (std::vector<std::string>{"/sys/fs/cgroup/user.slice/job", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"}));
  EXPECT_EQ(groups[0].name, "/user.slice/job");
  EXPECT_EQ(groups[2].name, "/");
  EXPECT_FALSE(groups[0].version1);
}

TEST(Cgroups, FindsVersion1Controllers) {
  const std::string own = "4:memory:/a\n2:cpu,cpuacct:/\n0::/b\n";
  const auto memory = parse_cgroups("memory", own, kMountsHybrid);
  EXPECT_EQ(folders(memory), (std::vector<std::string>{"/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"}));
  EXPECT_TRUE(memory[0].version1);
  EXPECT_EQ(folders(parse_cgroups("cpu", own, kMountsHybrid)), (std::vector<std::string>{"/sys/fs/cgroup/cpu"}));
  EXPECT_EQ(folders(parse_cgroups("io", own, kMountsHybrid)),
            (std::vector<std::string>{"/sys/fs/cgroup/unified/b", "/sys/fs/cgroup/unified"}));
}

TEST(Cgroups, ResolvesPathsInsideAContainer) {
  const std::string mount = "9 8 0:2 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  EXPECT_EQ(folders(parse_cgroups("cpu", "0::/docker/abc/job\n", mount)),
            (std::vector<std::string>{"/sys/fs/cgroup/job", "/sys/fs/cgroup"}));
  EXPECT_EQ(folders(parse_cgroups("cpu", "0::/docker/abc\n", mount)), (std::vector<std::string>{"/sys/fs/cgroup"}));
  // Paths outside and above the root of the mount.
  EXPECT_EQ(folders(parse_cgroups("cpu", "0::/docker/abcdef\n", mount)), (std::vector<std::string>{"/sys/fs/cgroup"}));
  EXPECT_EQ(folders(parse_cgroups("cpu", "0::/../other\n", kMountVersion2)),
            (std::vector<std::string>{"/sys/fs/cgroup"}));
}

TEST(Cgroups, UnescapesMountPoints) {
  const std::string mount = "9 8 0:2 / /mnt/control\\040groups rw - cgroup2 cgroup rw\n";
  EXPECT_EQ(folders(parse_cgroups("cpu", "0::/\n", mount)), (std::vector<std::string>{"/mnt/control groups"}));
}

TEST(Cgroups, IgnoresMalformedFiles) {
  for (const char* own : {"", "0", "0:", "0::", "x:y", "0::relative"}) {
    EXPECT_TRUE(parse_cgroups("cpu", own, kMountVersion2).empty()) << own;
  }
  for (const char* mounts : {"", "-", "1 2 3 / /x rw -", "1 2 3 / /x rw - cgroup2 a"}) {
    EXPECT_TRUE(parse_cgroups("cpu", "0::/a\n", mounts).empty()) << mounts;
  }
}

TEST(MemoryLimits, ReadsVersion2LimitsOfAllAncestors) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("proc/self/mountinfo", kMountVersion2);
  root.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  root.write("sys/fs/cgroup/a/b/memory.current", "500\n");
  root.write("sys/fs/cgroup/a/memory.max", "4096\n");
  root.write("sys/fs/cgroup/a/memory.current", "1000\n");
  root.write("sys/fs/cgroup/a/memory.stat", "anon 700\ninactive_file 300\nactive_file 0\n");
  const auto limits = memory_limits(cgroups_of("memory", root.path()));
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_EQ(limits[0].name, "/a");
  EXPECT_EQ(limits[0].limit, 4096);
  EXPECT_EQ(limits[0].used, 700);
}

TEST(MemoryLimits, ReadsMemoryHighAsASoftLimit) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("proc/self/mountinfo", kMountVersion2);
  root.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  root.write("sys/fs/cgroup/a/b/memory.high", "3000\n");
  root.write("sys/fs/cgroup/a/memory.max", "4096\n");
  root.write("sys/fs/cgroup/a/memory.high", "max\n");
  const auto limits = memory_limits(cgroups_of("memory", root.path()));
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_EQ(limits[0].limit, 3000);
  EXPECT_TRUE(limits[0].is_soft);
  EXPECT_EQ(limits[1].limit, 4096);
  EXPECT_FALSE(limits[1].is_soft);
}

TEST(MemoryLimits, ReadsVersion1Limits) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "4:memory:/a\n");
  root.write("proc/self/mountinfo", kMountsHybrid);
  root.write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2000\n");
  root.write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "600\n");
  root.write("sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 700\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "900\n");
  const auto limits = memory_limits(cgroups_of("memory", root.path()));
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_EQ(limits[0].limit, 2000);
  EXPECT_EQ(limits[0].used, 0);  // never negative, although total_inactive_file exceeds the usage
}

TEST(CpuQuota, TakesTheTightestQuota) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("proc/self/mountinfo", kMountVersion2);
  EXPECT_FALSE(cpu_quota(cgroups_of("cpu", root.path())));
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_FALSE(cpu_quota(cgroups_of("cpu", root.path())));
  root.write("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  root.write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(cpu_quota(cgroups_of("cpu", root.path())), 1.5);
}

TEST(CpuQuota, ReadsVersion1Quota) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "2:cpu,cpuacct:/a\n");
  root.write("proc/self/mountinfo", kMountsHybrid);
  root.write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cpu_quota(cgroups_of("cpu", root.path())));
  root.write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(cpu_quota(cgroups_of("cpu", root.path())), 0.5);
}

TEST(ThrottlingCounters, AddUpOverAncestorGroups) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("proc/self/mountinfo", kMountVersion2);
  EXPECT_FALSE(read_throttling(cgroups_of("cpu", root.path())));
  root.write("sys/fs/cgroup/a/b/cpu.stat", "usage_usec 9\nnr_periods 5\nnr_throttled 2\nthrottled_usec 1500000\n");
  root.write("sys/fs/cgroup/a/cpu.stat", "usage_usec 9\nnr_periods 5\nnr_throttled 1\nthrottled_usec 500000\n");
  root.write("sys/fs/cgroup/cpu.stat", "usage_usec 9\n");
  const auto throttling = read_throttling(cgroups_of("cpu", root.path()));
  ASSERT_TRUE(throttling.has_value());
  EXPECT_EQ(throttling->periods, 3);
  EXPECT_DOUBLE_EQ(throttling->seconds, 2.0);
}

TEST(ThrottlingCounters, ReadsVersion1Nanoseconds) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "2:cpu:/\n");
  root.write("proc/self/mountinfo", kMountsHybrid);
  root.write("sys/fs/cgroup/cpu/cpu.stat", "nr_periods 5\nnr_throttled 4\nthrottled_time 250000000\n");
  const auto throttling = read_throttling(cgroups_of("cpu", root.path()));
  ASSERT_TRUE(throttling.has_value());
  EXPECT_EQ(throttling->periods, 4);
  EXPECT_DOUBLE_EQ(throttling->seconds, 0.25);
}

}  // namespace
}  // namespace laptime
