// Samples beside their statistics.
#include "record/time_stats.h"

namespace laptime {

TimeStats make_time_stats(std::span<const double> samples) {
  return {summarize(samples), "s", {samples.begin(), samples.end()}};
}

}  // namespace laptime
