// The default number of threads, and the caches of threads, on made-up machines.
#include "base/cores.h"

#include <gtest/gtest.h>

#include <string>

#include "support/fake_root.h"

namespace laptime {
namespace {

// A machine of four cores with two hardware threads each. CPUs i and i + 4 share a core.
class DefaultThreadsWithSmt : public testing::Test {
 protected:
  DefaultThreadsWithSmt() {
    allow("0-7");
    for (int thread = 0; thread < 8; ++thread) {
      root_.write("sys/devices/system/cpu/cpu" + std::to_string(thread) + "/topology/thread_siblings_list",
                  std::to_string(thread % 4) + "," + std::to_string(thread % 4 + 4) + "\n");
    }
  }

  void allow(const std::string& list) {
    root_.write("proc/self/status", "Name:\tlaptime\nCpus_allowed_list:\t" + list + "\n");
  }
  void set_environment(const std::string& entry) {
    using std::string_literals::operator""s;
    root_.write("proc/self/environ", "HOME=/root\0"s + entry + "\0SHELL=/bin/sh\0"s);
  }
  void set_quota(const std::string& quota) {
    root_.write("proc/self/cgroup", "0::/job\n");
    root_.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    root_.write("sys/fs/cgroup/job/cpu.max", quota + " 100000\n");
  }
  DefaultThreads found() const { return default_threads(root_.path()); }

  FakeRoot root_;
};

TEST_F(DefaultThreadsWithSmt, CountsPhysicalCores) {
  EXPECT_EQ(found().threads, 4);
  EXPECT_EQ(found().reason, "4 cores of 8 hardware threads");
  EXPECT_TRUE(found().is_unusual);
}

TEST_F(DefaultThreadsWithSmt, CountsOnlyAllowedCores) {
  allow("1,2,5");
  EXPECT_EQ(found().threads, 2);
  EXPECT_EQ(found().reason, "2 cores of 3 hardware threads");
  allow("0-3");
  EXPECT_EQ(found().threads, 4);
  EXPECT_EQ(found().reason, "4 cores");
  EXPECT_FALSE(found().is_unusual);
}

TEST_F(DefaultThreadsWithSmt, RoundsQuotaDown) {
  set_quota("270000");
  EXPECT_EQ(found().threads, 2);
  EXPECT_EQ(found().reason, "a CPU quota of 2.7 cores");
  set_quota("50000");
  EXPECT_EQ(found().threads, 1);
  set_quota("900000");
  EXPECT_EQ(found().threads, 4);
  set_quota("max");
  EXPECT_EQ(found().threads, 4);
}

TEST_F(DefaultThreadsWithSmt, FollowsOpenMpVariable) {
  set_environment("OMP_NUM_THREADS=6");
  EXPECT_EQ(found().threads, 6);
  EXPECT_EQ(found().reason, "OMP_NUM_THREADS");
  set_environment("OMP_NUM_THREADS=3,2");
  EXPECT_EQ(found().threads, 3);
  set_environment("OMP_NUM_THREADS=64");
  EXPECT_EQ(found().threads, 8);
  for (const char* const entry :
       {"OMP_NUM_THREADS=", "OMP_NUM_THREADS=0", "OMP_NUM_THREADS=many", "XOMP_NUM_THREADS=2"}) {
    set_environment(entry);
    EXPECT_EQ(found().threads, 4) << entry;
  }
}

TEST_F(DefaultThreadsWithSmt, FollowsSlurmVariable) {
  set_environment("SLURM_CPUS_PER_TASK=3");
  EXPECT_EQ(found().threads, 3);
  EXPECT_EQ(found().reason, "SLURM_CPUS_PER_TASK");
  set_environment("SLURM_CPUS_PER_TASK=8");
  EXPECT_EQ(found().threads, 4);
}

TEST(DefaultThreads, CountsHardwareThreadsIfCoresAreUnknown) {
  const FakeRoot root;
  EXPECT_EQ(default_threads(root.path()).threads, 1);
  root.write("proc/self/status", "Cpus_allowed_list:\t0-2\n");
  EXPECT_EQ(default_threads(root.path()).threads, 3);
}

TEST(AllowedCores, FollowTheAffinityMaskIfKnown) {
  const FakeRoot root;
  EXPECT_TRUE(allowed_cores(root.path()).empty());
  root.write("sys/devices/system/cpu/online", "0-1\n");
  EXPECT_EQ(allowed_cores(root.path()), (std::vector<int64_t>{0, 1}));
  root.write("proc/self/status", "Cpus_allowed_list:\t3,5\n");
  EXPECT_EQ(allowed_cores(root.path()), (std::vector<int64_t>{3, 5}));
}

TEST(AllowedCores, LeaveOutOfflineCores) {
  const FakeRoot root;
  root.write("sys/devices/system/cpu/online", "0-1,3\n");
  root.write("proc/self/status", "Cpus_allowed_list:\t1-127\n");
  EXPECT_EQ(allowed_cores(root.path()), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(default_threads(root.path()).threads, 2);
}

// A machine of four cores, two for each L3 cache. CPUs i and i + 4 share a core.
TEST(CacheBytes, CountsTheCachesThatThreadsCanUse) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  constexpr int64_t kHalf = kMiB / 2;  // size of each L2 cache
  const FakeRoot root;
  EXPECT_FALSE(cache_bytes(2, root.path()));
  for (int thread = 0; thread < 8; ++thread) {
    const int core = thread % 4;
    const std::string of_core = std::to_string(core) + "," + std::to_string(core + 4);
    const struct {
      const char* level;
      const char* type;
      const char* size;
      std::string users;
    } caches[] = {{"1", "Data", "32K", of_core},
                  {"1", "Instruction", "32K", of_core},
                  {"2", "Unified", "512K", of_core},
                  {"3", "Unified", core < 2 ? "32M" : "96M", core < 2 ? "0-1,4-5" : "2-3,6-7"}};
    for (int i = 0; i < 4; ++i) {
      const std::string cache =
          "sys/devices/system/cpu/cpu" + std::to_string(thread) + "/cache/index" + std::to_string(i) + "/";
      root.write(cache + "level", caches[i].level);
      root.write(cache + "type", caches[i].type);
      root.write(cache + "size", caches[i].size);
      root.write(cache + "shared_cpu_list", caches[i].users);
    }
  }
  const auto allow = [&](const std::string& list) {
    root.write("proc/self/status", "Cpus_allowed_list:\t" + list + "\n");
  };
  allow("0-7");
  EXPECT_EQ(cache_bytes(8, root.path()), 4 * kHalf + 128 * kMiB);
  EXPECT_EQ(cache_bytes(3, root.path()), 3 * kHalf + 128 * kMiB);
  EXPECT_EQ(cache_bytes(1, root.path()), kHalf + 96 * kMiB);
  allow("0-1,4");
  EXPECT_EQ(cache_bytes(8, root.path()), 2 * kHalf + 32 * kMiB);
}

}  // namespace
}  // namespace laptime
