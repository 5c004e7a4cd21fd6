// Samples beside their statistics.
#include "record/time_stats.h"

namespace laptime {

TimeStats make_time_stats(std::span<const double> samples) {
  return {summarize(samples), "s", {samples.begin(), samples.end()}};
}

std::optional<TimeRatio> ratio_of_medians(const TimeStats& above, const TimeStats& below) {
  if (below.median <= 0) return std::nullopt;
  if (above == below) return TimeRatio{1, std::nullopt};
  return TimeRatio{above.median / below.median, bootstrap_ratio_interval(above.samples, below.samples)};
}

}  // namespace laptime
