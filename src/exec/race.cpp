// Rounds of a race.
#include "exec/race.h"

#include <algorithm>
#include <limits>
#include <numeric>
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

}  // namespace

RaceResult race(size_t candidates, const std::function<Seconds(size_t)>& run) {
  LAPTIME_CHECK(candidates > 0, "no candidates");
  constexpr Seconds kNever(std::numeric_limits<double>::infinity());
  std::vector<size_t> left(candidates);
  std::iota(left.begin(), left.end(), size_t{0});
  std::vector<Seconds> shortest(candidates, kNever);
  Seconds spent{};
  Seconds best{};
  for (int round = 0; round < kRounds; ++round) {
    best = kNever;
    for (const size_t candidate : left) {
      const Seconds seconds = run(candidate);
      shortest[candidate] = std::min(shortest[candidate], seconds);
      best = std::min(best, shortest[candidate]);
      spent += seconds;
    }
    const Seconds limit = round == 0 ? kBehindAtFirst * best + kOnce : kBehind * best;
    std::erase_if(left, [&](size_t candidate) { return shortest[candidate] > limit; });
    if (left.size() == 1 || (round > 0 && spent > kLong)) break;
  }
  const auto winner =
      std::find_if(left.begin(), left.end(), [&](size_t candidate) { return shortest[candidate] == best; });
  return {*winner, best, std::move(shortest)};
}

}  // namespace laptime
