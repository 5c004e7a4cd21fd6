// Samples far from the others: flagged, never dropped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace laptime {

// Places of outlying samples, from 0, in the order of time.
struct Outliers {
  // 0.6745 |x - median| / MAD > 3.5 (Iglewicz and Hoaglin 1993). Where more than half of the samples are equal, so that
  // the MAD is 0, the mean distance from the median takes its place: |x - median| / (1.2533 mean distance) > 3.5.
  std::vector<int64_t> modified_z;
  // Beyond Tukey's fences, 1.5 times the interquartile range below the first or above the third quartile.
  std::vector<int64_t> tukey;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("modified_z", self.modified_z);
    visit("tukey", self.tukey);
  }
};

// Throws Error as sorted_samples does.
Outliers find_outliers(std::span<const double> samples);

}  // namespace laptime
