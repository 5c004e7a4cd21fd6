// Limits of control groups, read from made-up hierarchies.
#include "backend/cpu/control_groups.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace laptime::cpu {
namespace {

namespace fs = std::filesystem;

class ControlGroups : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("laptime_control_groups_" + std::to_string(getpid()));
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  ControlGroupLimits limits(const std::string& membership) {
    write("membership", membership);
    return control_group_limits(root_, root_ / "membership");
  }

  fs::path root_;
};

TEST_F(ControlGroups, NoneWithoutFiles) {
  EXPECT_FALSE(limits("0::/").cpus);
  EXPECT_FALSE(limits("0::/user/session").memory_left);
  EXPECT_FALSE(limits("").cpus);
  EXPECT_FALSE(limits("nonsense").cpus);
  EXPECT_FALSE(control_group_limits(root_, root_ / "missing").memory_left);
}

TEST_F(ControlGroups, Version2) {
  write("job/step/cpu.max", "150000 100000");
  write("job/step/memory.max", "1000000");
  write("job/step/memory.current", "400000");
  write("job/step/memory.stat", "anon 300000\ninactive_file 100000\nactive_file 7");
  const ControlGroupLimits of = limits("0::/job/step");
  EXPECT_DOUBLE_EQ(of.cpus.value(), 1.5);
  EXPECT_EQ(of.memory_left.value(), 700000);
}

TEST_F(ControlGroups, TheTightestOnTheWayUpCounts) {
  write("job/cpu.max", "50000 100000");
  write("job/step/cpu.max", "max 100000");
  write("job/memory.max", "500");
  write("job/memory.current", "600");
  write("job/step/memory.max", "max");
  write("job/step/memory.current", "1");
  const ControlGroupLimits of = limits("0::/job/step");
  EXPECT_DOUBLE_EQ(of.cpus.value(), 0.5);
  EXPECT_EQ(of.memory_left.value(), 0);
}

TEST_F(ControlGroups, AContainerSeesItsOwnGroupAsTheRoot) {
  write("memory.max", "5000");
  write("memory.current", "1000");
  EXPECT_EQ(limits("0::/docker/0123").memory_left.value(), 4000);
}

TEST_F(ControlGroups, Version1BesideVersion2) {
  write("memory/jobs/7/memory.limit_in_bytes", "9000");
  write("memory/jobs/7/memory.usage_in_bytes", "1000");
  write("memory/memory.limit_in_bytes", "9223372036854771712");
  write("memory/memory.usage_in_bytes", "123456");
  write("cpu/cpu.cfs_quota_us", "-1");
  write("cpu/cpu.cfs_period_us", "100000");
  write("unified/cpu.max", "300000 100000");
  const ControlGroupLimits of = limits("4:memory:/jobs/7\n3:cpu,cpuacct:/\n0::/");
  EXPECT_EQ(of.memory_left.value(), 8000);
  EXPECT_DOUBLE_EQ(of.cpus.value(), 3.0);
}

TEST_F(ControlGroups, Version1QuotaOfAJointMount) {
  write("cpu,cpuacct/jobs/cpu.cfs_quota_us", "20000");
  write("cpu,cpuacct/jobs/cpu.cfs_period_us", "10000");
  EXPECT_DOUBLE_EQ(limits("3:cpu,cpuacct:/jobs").cpus.value(), 2.0);
}

TEST_F(ControlGroups, NonsenseIsNoLimit) {
  write("cpu.max", "-5 0");
  write("memory.max", "lots");
  EXPECT_FALSE(limits("0::/").cpus);
  EXPECT_FALSE(limits("0::/").memory_left);
}

TEST(ControlGroupLimits, OfThisProcessCanBeRead) { EXPECT_GE(control_group_limits().memory_left.value_or(1), 0); }

}  // namespace
}  // namespace laptime::cpu
