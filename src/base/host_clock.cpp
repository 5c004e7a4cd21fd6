// std::chrono::steady_clock, measured against itself.
#include "base/host_clock.h"

#include <algorithm>
#include <array>

namespace laptime {

Seconds host_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

ClockQuality measure_host_clock() {
  constexpr int kReadings = 256;
  std::array<double, 64> overheads{};
  double resolution = 1;
  for (double& overhead : overheads) {
    const Seconds begin = host_now();
    Seconds last = begin;
    for (int i = 0; i < kReadings; ++i) {
      const Seconds reading = host_now();
      if (reading > last) resolution = std::min(resolution, (reading - last).count());
      last = reading;
    }
    overhead = (last - begin).count() / kReadings;
  }
  const auto middle = overheads.begin() + overheads.size() / 2;
  std::nth_element(overheads.begin(), middle, overheads.end());
  return {Seconds(resolution), Seconds(*middle)};
}

}  // namespace laptime
