// Adds up the launches of each op and phase.
#include "report/profile/roofline.h"

#include <algorithm>
#include <map>

#include "report/profile/launch_sums.h"

namespace laptime {

std::vector<RooflineDot> roofline_dots(const StepTrace& trace) {
  std::map<std::string, RooflineDot> named;
  const LaunchKey key = [&](const TraceLaunch& launch) {
    const RooflineDot dot{
        .phase = std::string(launch.phase), .op = std::string(launch.op), .work_class = std::string(launch.work_class)};
    return named.emplace(dot.name(), dot).first->first;
  };
  std::vector<RooflineDot> dots;
  for (const LaunchSum& sum : sum_launches(trace, key)) {
    if (sum.flops <= 0 || sum.bytes <= 0 || sum.total <= 0) continue;
    RooflineDot& dot = dots.emplace_back(named.at(sum.key));
    dot.intensity = sum.flops / sum.bytes;
    dot.rate = sum.flops / sum.total;
    dot.seconds = sum.total;
  }
  std::stable_sort(dots.begin(), dots.end(),
                   [](const RooflineDot& a, const RooflineDot& b) { return a.seconds > b.seconds; });
  return dots;
}

}  // namespace laptime
