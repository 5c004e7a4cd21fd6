// The host's clock, and the frequency of a core as measured with a fake clock and with the real clock.
#include "base/host_clock.h"

#include <gtest/gtest.h>

#include <chrono>

namespace laptime {
namespace {

TEST(Clock, IsMonotonicWithFineResolution) {
  Seconds last = host_now();
  for (int i = 0; i < 1000; ++i) {
    const Seconds reading = host_now();
    ASSERT_GE(reading, last);
    last = reading;
  }
  const ClockQuality quality = measure_host_clock();
  EXPECT_GT(quality.resolution.count(), 0);
  EXPECT_LT(quality.resolution.count(), 1e-3);
  EXPECT_GT(quality.overhead.count(), 0);
  EXPECT_LT(quality.overhead.count(), 1e-4);
}

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
