// Measures the frequency of a core with a fake clock and with the real clock.
#include "base/host_clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace laptime {
namespace {

TEST(ClockSpeed, UsesTheFastestRound) {
  // Each round of 262,144 additions appears to take 1 ms, except the third, which takes 0.5 ms.
  int reading = 0;
  double time = 0;
  const auto now = [&] {
    ++reading;
    if (reading % 2 == 0) time += reading == 6 ? 0.5e-3 : 1e-3;
    return Seconds(time);
  };
  const auto hz = measure_clock_hz(now);
  ASSERT_TRUE(hz.has_value());
  EXPECT_NEAR(*hz, 262144 / 0.5e-3, 1);
}

TEST(ClockSpeed, RejectsAStoppedClock) {
  EXPECT_FALSE(measure_clock_hz([] { return Seconds(1); }));
}

TEST(ClockSpeed, IsPlausibleOnThisMachine) {
  const auto hz = measure_clock_hz([] { return Seconds(std::chrono::steady_clock::now().time_since_epoch()); });
  ASSERT_TRUE(hz.has_value());
  EXPECT_GT(*hz, 0.3e9);
  EXPECT_LT(*hz, 7e9);
}

}  // namespace
}  // namespace laptime
