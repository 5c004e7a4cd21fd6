// Finds the fastest of several candidates in few runs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
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
// because a first run may also pay for set-up. The race ends when one candidate is left, or after four rounds. Two
// rounds are enough if runs are long and therefore less noisy, and one is enough if it takes more than a second.
RaceResult race(size_t candidates, const std::function<Seconds(size_t)>& run);

// The candidate with the shortest run among those that `counts` selects; none if it selects none.
std::optional<size_t> fastest_of(const RaceResult& result, const std::function<bool(size_t)>& counts);

// The candidate to use after a race: the winner if no candidate is favoured or the winner leads the fastest favoured
// one by at least a factor of kClearLead; otherwise the fastest favoured one.
inline constexpr double kClearLead = 1.05;
size_t clear_winner(const RaceResult& result, const std::function<bool(size_t)>& is_favoured);

// The candidates that might win another race against `candidate`: those that `counts` selects and whose time is within
// a factor kClearLead of the candidate's. If `counts` selects `candidate`, the result includes it.
std::vector<size_t> tied_with(const RaceResult& result, size_t candidate, const std::function<bool(size_t)>& counts);

}  // namespace laptime
