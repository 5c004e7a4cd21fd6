// The counters that reveal a disturbed run.
#include "base/machine_state.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "support/fake_root.h"

namespace laptime {
namespace {

TEST(MachineCounters, ReadProcFiles) {
  const FakeRoot root;
  root.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t1-2\n");
  root.write("proc/stat",
             "cpu  0 0 0 0 0 0 0 99 0 0\ncpu0 0 0 0 0 0 0 0 50\ncpu1 0 0 0 0 0 0 0 30\ncpu2 0 0 0 0 0 0 0 20\n");
  root.write("proc/loadavg", "1.50 1.00 0.50 1/92 5456\n");
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/cpu.stat", "nr_throttled 3\nthrottled_usec 2500\n");
  root.write("proc/self/task/7/schedstat", "394552 3000000000 2\n");
  root.write("proc/self/task/8/schedstat", "1 500000000 9\n");
  const MachineState state = MachineCounters(root.path()).read();
  ASSERT_TRUE(state.stolen_seconds.has_value());
  EXPECT_DOUBLE_EQ(*state.stolen_seconds, 50.0 / static_cast<double>(sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(state.throttled_periods, 3);
  EXPECT_DOUBLE_EQ(state.throttled_seconds.value_or(0), 2.5e-3);
  EXPECT_DOUBLE_EQ(state.waiting_seconds.value_or(0), 3.5);
  EXPECT_EQ(state.load, 1.5);
}

TEST(MachineCounters, MissingFilesLeaveFieldsEmpty) {
  const FakeRoot root;
  const MachineState state = MachineCounters(root.path()).read();
  EXPECT_FALSE(state.stolen_seconds);
  EXPECT_FALSE(state.throttled_seconds);
  EXPECT_FALSE(state.waiting_seconds);
  EXPECT_FALSE(state.load);
  EXPECT_TRUE(state.minor_faults);  // read by a system call, not from a file
}

TEST(MachineCounters, CountPageFaultsOfThisProcess) {
  const MachineCounters counters;
  const MachineState before = counters.read();
  constexpr size_t kBytes = size_t{8} << 20U;
  std::vector<char> touched(kBytes, 1);
  ASSERT_EQ(touched[kBytes / 2], 1);
  const MachineState grown = change(before, counters.read());
  ASSERT_TRUE(grown.minor_faults.has_value());
  EXPECT_GE(*grown.minor_faults, 4);  // 8 MiB: 2,048 small pages, or four huge ones
  EXPECT_GE(grown.involuntary_switches.value_or(-1), 0);
}

TEST(MachineCounters, CountTheCpuTimeOfThisProcess) {
  const MachineCounters counters;
  const MachineState before = counters.read();
  MachineState grown;
  for (double sum = 0; grown.user_seconds.value_or(0) + grown.system_seconds.value_or(0) < 0.01;) {
    for (int i = 0; i < 100'000; ++i) sum += 1.0 / (1 + i);
    ASSERT_GT(sum, 0);
    grown = change(before, counters.read());
  }
  EXPECT_GE(*grown.user_seconds, 0);
  EXPECT_GE(*grown.system_seconds, 0);
}

TEST(Change, SubtractsCountersAndKeepsTheLoad) {
  MachineState before;
  before.stolen_seconds = 1.5;
  before.minor_faults = 100;
  before.major_faults = 7;
  before.involuntary_switches = 10;
  before.load = 9;
  MachineState after = before;
  after.stolen_seconds = 1.75;
  after.minor_faults = 130;
  after.major_faults = 6;  // a counter that decreased
  after.throttled_periods = 3;
  after.load = 2;
  const MachineState grown = change(before, after);
  EXPECT_EQ(grown.stolen_seconds, 0.25);
  EXPECT_EQ(grown.minor_faults, 30);
  EXPECT_EQ(grown.major_faults, 0);
  EXPECT_EQ(grown.involuntary_switches, 0);
  EXPECT_FALSE(grown.throttled_periods);  // absent from the first reading
  EXPECT_EQ(grown.load, 2);
}

TEST(LostFraction, IsRelativeToThreadTime) {
  MachineState grown;
  EXPECT_FALSE(lost_fraction(grown.stolen_seconds, Seconds(1), 2));
  grown.stolen_seconds = 0.1;
  grown.throttled_seconds = 50;
  grown.waiting_seconds = 1;
  EXPECT_DOUBLE_EQ(lost_fraction(grown.stolen_seconds, Seconds(2), 2).value(), 0.025);
  EXPECT_DOUBLE_EQ(lost_fraction(grown.throttled_seconds, Seconds(2), 2).value(),
                   1);  // at most 1, although the counter includes other processes of the group
  EXPECT_DOUBLE_EQ(lost_fraction(grown.waiting_seconds, Seconds(2), 2).value(), 0.25);
  EXPECT_FALSE(lost_fraction(grown.stolen_seconds, Seconds(0), 2));
}

}  // namespace
}  // namespace laptime
