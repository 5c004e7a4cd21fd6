// The bound on available memory: computed from made-up limits, read from files, and queried on this machine.
#include "base/available_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fake_root.h"

namespace laptime {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30U;

TEST(SmallestBound, NamesTheBoundAndHowItIsComputed) {
  MemoryBounds bounds;
  EXPECT_FALSE(smallest_bound(bounds).bytes);
  EXPECT_TRUE(smallest_bound(bounds).holds(8 * kGiB));
  EXPECT_EQ(smallest_bound(bounds).text(), "available memory unknown");

  bounds.free_memory = 9 * kGiB;
  EXPECT_EQ(smallest_bound(bounds).text(), "9.000 GiB available (free memory)");

  bounds.mem_available = 8 * kGiB;
  EXPECT_EQ(smallest_bound(bounds).bytes, 8 * kGiB);
  EXPECT_EQ(smallest_bound(bounds).bound_by, "MemAvailable");
  EXPECT_FALSE(smallest_bound(bounds).holds(8 * kGiB + 1));

  bounds.cgroups = {{"/a", 7 * kGiB, 2 * kGiB, true}};
  EXPECT_EQ(smallest_bound(bounds).bound_by, "memory.high of cgroup /a: 7.000 GiB - 2.000 GiB in use");

  bounds.cgroups = {{"/a/b", 100 * kGiB, 0}, {"/a", 6 * kGiB, 2 * kGiB}};
  EXPECT_EQ(smallest_bound(bounds).bytes, 4 * kGiB);
  EXPECT_EQ(smallest_bound(bounds).bound_by, "the memory limit of cgroup /a: 6.000 GiB - 2.000 GiB in use");

  bounds.address_space_limit = 3 * kGiB;
  bounds.address_space_used = kGiB;
  EXPECT_EQ(smallest_bound(bounds).bytes, 2 * kGiB);
  EXPECT_EQ(smallest_bound(bounds).bound_by, "the address space limit (ulimit -v): 3.000 GiB - 1.000 GiB in use");

  bounds.data_limit = 2 * kGiB;
  bounds.data_used = kGiB / 2;
  EXPECT_EQ(smallest_bound(bounds).bound_by, "the data limit (ulimit -d): 2.000 GiB - 512.0 MiB in use");
}

TEST(SmallestBound, ReserveReducesOnlyTheAddressSpaceLimit) {
  MemoryBounds bounds;
  bounds.mem_available = 2 * kGiB;
  bounds.reserve = kGiB;
  EXPECT_EQ(smallest_bound(bounds).bytes, 2 * kGiB);
  bounds.address_space_limit = 3 * kGiB;
  bounds.address_space_used = kGiB;
  EXPECT_EQ(smallest_bound(bounds).bytes, kGiB);
  EXPECT_EQ(smallest_bound(bounds).bound_by,
            "the address space limit (ulimit -v): 3.000 GiB - 1.000 GiB in use - 1.000 GiB for threads and libraries");
}

TEST(SmallestBound, IsNeverNegative) {
  MemoryBounds bounds;
  bounds.address_space_limit = kGiB;
  bounds.address_space_used = 2 * kGiB;
  EXPECT_EQ(smallest_bound(bounds).bytes, 0);
}

TEST(MemoryBounds, AreReadFromFiles) {
  const FakeRoot root;
  EXPECT_FALSE(read_memory_bounds(root.path()).mem_available);
  root.write("proc/meminfo", "MemTotal: 100 kB\nMemAvailable:   64 kB\n");
  root.write("proc/self/status", "Name:\tx\nVmSize:\t   12 kB\nVmData:\t    8 kB\n");
  const MemoryBounds bounds = read_memory_bounds(root.path());
  EXPECT_EQ(bounds.mem_available, 64 * 1024);
  EXPECT_EQ(bounds.address_space_used, 12 * 1024);
  EXPECT_EQ(bounds.data_used, 8 * 1024);
  EXPECT_TRUE(bounds.cgroups.empty());
  EXPECT_FALSE(bounds.free_memory);
}

TEST(AvailableMemoryHere, IsPositiveAndAtMostTotal) {
  const AvailableMemory memory = available_memory();
  EXPECT_GT(memory.bytes, 0);
  const auto pages = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES));
  EXPECT_LE(memory.bytes, pages * sysconf(_SC_PAGESIZE));
}

// Runs in a child process, so that the limit does not affect other tests.
TEST(AvailableMemoryHere, FollowsTheAddressSpaceLimit) {
  const auto used = read_memory_bounds().address_space_used;
  ASSERT_TRUE(used.has_value());
  if (*used > (int64_t{1} << 40U)) GTEST_SKIP() << "the sanitizer reserves terabytes of address space";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{static_cast<rlim_t>(*used + kGiB / 4), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    const AvailableMemory memory = available_memory();
    const bool bound = memory.bound_by.find("ulimit -v") != std::string::npos;
    _exit(bound && memory.bytes <= kGiB / 4 && memory.bytes > kGiB / 8 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace laptime
