// Upper bounds on the speed-up of loops, and a thread team that only counts work.
#include "backend/launch_loop.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/team.h"

namespace laptime {
namespace {

TEST(LaunchLoop, SpeedUpIsLimitedByWholeRounds) {
  const std::vector<LaunchLoop> loops{{80, {}}};
  EXPECT_DOUBLE_EQ(speed_up_bound(loops, 1), 1);
  EXPECT_DOUBLE_EQ(speed_up_bound(loops, 8), 8);
  EXPECT_DOUBLE_EQ(speed_up_bound(loops, 64), 40);  // 64 threads run 80 units in two rounds
  EXPECT_DOUBLE_EQ(speed_up_bound(loops, 128), 80);
  EXPECT_DOUBLE_EQ(largest_unit_share(loops), 1.0 / 80);
}

TEST(LaunchLoop, SpeedUpIsLimitedByTheLargestUnit) {
  const std::vector<LaunchLoop> loops{{100, {.flops = 1, .largest = 2}}};
  EXPECT_DOUBLE_EQ(speed_up_bound(loops, 32), 32);
  EXPECT_DOUBLE_EQ(speed_up_bound(loops, 64), 50);
  EXPECT_DOUBLE_EQ(largest_unit_share(loops), 0.02);
}

TEST(LaunchLoop, SpeedUpWeighsLoopsByWork) {
  const std::vector<LaunchLoop> loops{{1000, {.flops = 90}}, {1, {.flops = 10}}};
  EXPECT_NEAR(speed_up_bound(loops, 10), 100 / (9.0 + 10.0), 1e-12);
  EXPECT_DOUBLE_EQ(largest_unit_share(loops), 0.1);
}

TEST(LaunchLoop, WorkOutsideLoopsIsOneUnit) {
  EXPECT_EQ(speed_up_bound({}, 64), 1);
  EXPECT_EQ(largest_unit_share({}), 1);
}

TEST(LaunchLoop, CountingTeamRecordsLoopsWithoutRunningThem) {
  std::vector<LaunchLoop> loops;
  cpu::Team team(64, loops);
  EXPECT_EQ(team.size(), 64);
  EXPECT_EQ(team.scratch(63), nullptr);
  const auto fail = [](auto...) { FAIL() << "a loop ran"; };
  team.parallel_for(10, [&](int64_t index) { fail(index); });
  team.parallel_blocks(
      100, 30, [&](int64_t begin, int64_t end) { fail(begin, end); }, moving(5));
  team.share(8, 48, [&](int thread) { fail(thread); }, {.flops = 3});
  team.parallel_for(0, [&](int64_t index) { fail(index); });
  ASSERT_EQ(loops.size(), 3U);
  EXPECT_EQ(loops[0].units, 10);
  EXPECT_EQ(loops[1].units, 4);
  EXPECT_DOUBLE_EQ(loops[1].work.flops, 5 * kFlopsPerElement);
  EXPECT_EQ(loops[2].units, 48);
}

}  // namespace
}  // namespace laptime
