// Two clear modes: a machine that is now fast and now slow, whose median alone would mislead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace laptime {

struct SampleMode {
  int64_t count = 0;
  double median = 0;
  double min = 0;
  double max = 0;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("count", self.count);
    visit("median", self.median);
    visit("min", self.min);
    visit("max", self.max);
  }
};

// One mode, or two, the faster first. The sorted samples are cut at their widest gap that leaves max(3, 15 %) samples
// or more on either side. Both parts are modes when
//   - Ashman's D = sqrt(2) |mean_1 - mean_2| / sqrt(var_1 + var_2) exceeds 4 + 30 / n (Ashman et al. 1994 ask for 2
//   where
//     the parts are fitted; a cut makes even one normal peak look like 2.6, and few samples more, hence the larger
//     limit: about 0.3 % of samples from one normal peak are taken for two, 1 to 3 % of skewed ones), and
//   - their medians are at least 1 % of the median of all samples apart: closer ones change no conclusion.
// Fewer than six samples have one mode. Throws Error as sorted_samples does.
std::vector<SampleMode> find_modes(std::span<const double> samples);

}  // namespace laptime
