// A race: which of several candidates is the fastest, found in few runs.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/units.h"

namespace laptime {

struct RaceResult {
  size_t winner = 0;
  Seconds seconds{};              // its shortest run
  std::vector<Seconds> shortest;  // runs of all
};

// `run(candidate)` runs a candidate once and says how long that took. All run in turn, so that a machine that slows
// down slows all of them. Who is clearly behind runs no more; for the first run, which may do what later ones need not,
// that is further behind. At most four rounds; two where they take long, since long runs are less noisy.
RaceResult race(size_t candidates, const std::function<Seconds(size_t)>& run);

}  // namespace laptime
