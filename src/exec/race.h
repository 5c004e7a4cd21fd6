// Finds the fastest of several candidates in few runs.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/units.h"

namespace laptime {

struct RaceResult {
  size_t winner = 0;
  Seconds seconds{};              // shortest run of the winner
  std::vector<Seconds> shortest;  // shortest run of each candidate
};

// `run(candidate)` runs a candidate once and returns the time it took. Candidates take turns, so that a machine that
// slows down affects all of them. A candidate far behind the leader is dropped; the first round uses a wider margin,
// because a first run may also pay for set-up. There are at most four rounds, or two if runs are long and therefore
// less noisy.
RaceResult race(size_t candidates, const std::function<Seconds(size_t)>& run);

}  // namespace laptime
