// Checks and sorts samples; an error names the first one that is not finite or is too large.
#include "distribution/samples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/error.h"

namespace laptime {

std::vector<double> sorted_samples(std::span<const double> samples) {
  constexpr double kLargest = 1e100;
  if (samples.empty()) throw Error("no samples; measure at least one step");
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!std::isfinite(samples[i]) || std::fabs(samples[i]) > kLargest) {
      throw Error::format("sample {} of {} is {}: a sample must be a finite number; measure again or remove the record",
                          i + 1, samples.size(), samples[i]);
    }
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace laptime
