// Rounds of a race.
#include "exec/race.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"

namespace laptime {
namespace {

constexpr int kRounds = 4;
constexpr Seconds kLong{0.02};  // of a race: two rounds are enough then
// Behind the best by this factor a candidate is out. In the first round it also has so much time to spare for what it
// does once: code that is generated, buffers that are taken.
constexpr double kBehind = 1.1;
constexpr double kBehindAtFirst = 1.25;
constexpr Seconds kOnce{0.003};

struct Candidate {
  size_t index;
  Seconds shortest{std::numeric_limits<double>::infinity()};
};

}  // namespace

RaceResult race(size_t candidates, const std::function<Seconds(size_t)>& run) {
  LAPTIME_CHECK(candidates > 0, "nobody runs");
  std::vector<Candidate> left;
  for (size_t i = 0; i < candidates; ++i) left.push_back({i});
  std::vector<Seconds> shortest(candidates);
  Seconds spent{};
  Seconds best{};
  for (int round = 0; round < kRounds; ++round) {
    best = Seconds(std::numeric_limits<double>::infinity());
    for (Candidate& candidate : left) {
      const Seconds seconds = run(candidate.index);
      candidate.shortest = std::min(candidate.shortest, seconds);
      shortest[candidate.index] = candidate.shortest;
      best = std::min(best, candidate.shortest);
      spent += seconds;
    }
    const Seconds limit = round == 0 ? kBehindAtFirst * best + kOnce : kBehind * best;
    std::erase_if(left, [&](const Candidate& candidate) { return candidate.shortest > limit; });
    if (left.size() == 1 || (round > 0 && spent > kLong)) break;
  }
  const auto winner = std::find_if(left.begin(), left.end(), [&](const auto& other) { return other.shortest == best; });
  return {winner->index, winner->shortest, std::move(shortest)};
}

}  // namespace laptime
