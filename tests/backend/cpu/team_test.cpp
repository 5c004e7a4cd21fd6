// Team: every index runs exactly once, for any number of threads and cores, even while other threads are busy.
#include "backend/cpu/team.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "base/available_memory.h"
#include "support/error_of.h"
#include "support/types.h"

namespace laptime::cpu {
namespace {

class TeamSizes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, TeamSizes, testing::Values(1, 2, 3, 7),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(TeamSizes, RunsEveryIndexOnce) {
  Team team(GetParam());
  EXPECT_EQ(team.size(), GetParam());
  for (const int64_t count : {0, 1, 2, 3, 17, 1000}) {
    std::vector<int> runs(static_cast<size_t>(count), 0);
    team.parallel_for(count, [&](int64_t index) { ++runs[static_cast<size_t>(index)]; });
    EXPECT_EQ(std::accumulate(runs.begin(), runs.end(), 0), count);
    EXPECT_TRUE(std::all_of(runs.begin(), runs.end(), [](int n) { return n == 1; })) << count;
  }
}

// Each thread waits at its first index until all threads have started. Until then, no thread can steal.
TEST_P(TeamSizes, ThreadsStartInSeparateRanges) {
  Team team(GetParam());
  const auto threads = static_cast<size_t>(team.size());
  for (const int64_t count : {team.size(), 100, 1000}) {
    std::vector<int64_t> first(threads, -1);
    std::atomic<int> arrived{0};
    std::vector<int> runs(static_cast<size_t>(count), 0);
    team.parallel_ranges(count, [&](int64_t index, int thread) {
      ++runs[static_cast<size_t>(index)];
      if (first[static_cast<size_t>(thread)] >= 0) return;
      first[static_cast<size_t>(thread)] = index;
      arrived.fetch_add(1);
      while (arrived.load() < team.size()) std::this_thread::yield();
    });
    for (size_t thread = 0; thread < threads; ++thread)
      EXPECT_EQ(first[thread], count * static_cast<int64_t>(thread) / team.size()) << thread << " of " << count;
    EXPECT_EQ(runs, std::vector<int>(static_cast<size_t>(count), 1));
  }
}

// The first index waits for all other indices, so other threads must steal the rest of its range.
TEST_P(TeamSizes, IdleThreadsStealWork) {
  Team team(GetParam());
  if (team.size() == 1) return;  // no other thread can steal
  constexpr int64_t kCount = 100;
  std::atomic<int64_t> others{0};
  team.parallel_ranges(kCount, [&](int64_t index) {
    if (index > 0) others.fetch_add(1);
    while (index == 0 && others.load() < kCount - 1) std::this_thread::yield();
  });
  EXPECT_EQ(others.load(), kCount - 1);
}

TEST_P(TeamSizes, BlocksCoverTheRange) {
  Team team(GetParam());
  for (const int64_t grain : {1, 7, 64, 5000}) {
    std::vector<int> runs(1000, 0);
    team.parallel_blocks(1000, grain, [&](int64_t begin, int64_t end) {
      ASSERT_LE(end - begin, grain);
      for (int64_t i = begin; i < end; ++i) ++runs[static_cast<size_t>(i)];
    });
    EXPECT_EQ(runs, std::vector<int>(1000, 1));
  }
}

// Each run reads what the previous run wrote, possibly on another thread. Most of the 20,000 runs are too short for a
// worker to join.
TEST_P(TeamSizes, ShortRunsSeeEarlierWrites) {
  Team team(GetParam());
  constexpr int64_t kRuns = 20'000;
  std::vector<int64_t> values(8, 0);
  for (int64_t run = 0; run < kRuns; ++run) {
    team.parallel_for(8, [&](int64_t index) {
      const auto at = static_cast<size_t>(index);
      ASSERT_EQ(values[at], run);
      values[at] = run + 1;
    });
  }
  EXPECT_EQ(values, std::vector<int64_t>(8, kRuns));
}

TEST_P(TeamSizes, WakesSleepingThreads) {
  Team team(GetParam());
  std::atomic<int64_t> sum{0};
  for (int run = 0; run < 20; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // much longer than a thread spins before it sleeps
    team.parallel_for(100, [&](int64_t index) { sum += index; });
  }
  EXPECT_EQ(sum.load(), 20 * 4950);
}

TEST_P(TeamSizes, EachThreadHasItsOwnScratch) {
  Team team(GetParam());
  team.parallel_for(200, [&](int64_t index, int thread) {
    ASSERT_GE(thread, 0);
    ASSERT_LT(thread, team.size());
    auto* const scratch = reinterpret_cast<volatile int64_t*>(team.scratch(thread));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(scratch) % 64, 0U);
    const int64_t last = Team::kScratchBytes / 8 - 1;
    scratch[0] = index;
    scratch[last] = index;
    std::this_thread::yield();
    ASSERT_EQ(scratch[0], index);
    ASSERT_EQ(scratch[last], index);
  });
}

TEST_P(TeamSizes, RunsATaskOnceOnEachThread) {
  Team team(GetParam());
  for (int run = 0; run < 50; ++run) {
    std::vector<int> runs(static_cast<size_t>(team.size()), 0);
    std::vector<std::thread::id> ids(runs.size());
    team.on_each_thread([&](int thread) {
      ++runs[static_cast<size_t>(thread)];
      ids[static_cast<size_t>(thread)] = std::this_thread::get_id();
    });
    EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
    EXPECT_EQ(ids[0], std::this_thread::get_id());
  }
}

// A team with more threads than most machines have cores runs while a second team competes for the cores.
TEST(Team, RunsMoreThreadsThanCores) {
  Team large(40);
  Team other(3);
  std::atomic<bool> stop{false};
  std::thread neighbour([&] {
    while (!stop.load()) other.parallel_for(10, [](int64_t) {});
  });
  std::atomic<int64_t> sum{0};
  for (int run = 0; run < 300; ++run) large.parallel_for(50, [&](int64_t index) { sum += index; });
  stop.store(true);
  neighbour.join();
  EXPECT_EQ(sum.load(), 300 * 1225);
}

TEST(Team, CreatesAndDestroysTeamsRepeatedly) {
  for (int i = 0; i < 50; ++i) {
    Team team(1 + i % 4);
    if (i % 2 == 0) team.parallel_for(3, [](int64_t) {});
  }
}

TEST(TeamDeathTest, NestedRunOrZeroThreadsAborts) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        Team team(2);
        team.parallel_for(4, [&](int64_t) { team.parallel_for(4, [](int64_t) {}); });
      },
      "parallel_for calls must not be nested");
  EXPECT_DEATH(Team(0), "0 threads");
}

// Prints the error of a team of 24 threads and ends the process.
[[noreturn]] void print_error_of_team() {
  std::fputs(test::error_of([] { const Team team(24); }).c_str(), stderr);
  std::_Exit(0);
}

[[noreturn]] void start_team_without_processes() {
  // Leaves root, who is exempt from the limit. In a container this may fail, but there root is limited, too.
  [[maybe_unused]] const int changed = geteuid() == 0 ? setuid(54321) : 0;
  const rlimit only_this{1, 1};
  setrlimit(RLIMIT_NPROC, &only_this);
  print_error_of_team();
}

#ifndef LAPTIME_SANITIZES_MEMORY  // sanitizers reserve terabytes of address space
// Leaves room for all scratch, and for some of the stacks.
[[noreturn]] void start_team_without_memory() {
  constexpr int64_t kRoom = 24 * Team::kScratchBytes + 20 * test::kMebibyte;
  const auto bytes = static_cast<rlim_t>(read_memory_bounds().address_space_used.value() + kRoom);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  print_error_of_team();
}
#endif

TEST(TeamDeathTest, ThrowsIfThreadsCannotStart) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(start_team_without_processes(), testing::ExitedWithCode(0),
              "cannot start 24 threads: the system allows no more; lower --threads");
#ifndef LAPTIME_SANITIZES_MEMORY
  EXPECT_EXIT(start_team_without_memory(), testing::ExitedWithCode(0),
              "cannot start 24 threads: one more thread needs .* of stack and heap, .*; lower --threads");
#endif
}

}  // namespace
}  // namespace laptime::cpu
