// Runs the rounds of a race.
#include "exec/race.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace laptime {
namespace {

constexpr int kRounds = 4;
constexpr Seconds kLongRace{0.02};     // total time after which two rounds are enough
constexpr Seconds kVeryLongRace{1.0};  // total time after which one round is enough
// A candidate is dropped when it is slower than the best by this factor. The first round has a wider margin and allows
// extra time, because code and operands are not in the caches yet.
constexpr double kDropFactor = 1.1;
constexpr double kFirstRoundDropFactor = 1.25;
constexpr Seconds kSetupAllowance{0.003};

}  // namespace

RaceResult race(size_t candidates, const std::function<Seconds(size_t)>& run) {
  LAPTIME_CHECK(candidates > 0, "no candidates");
  constexpr Seconds kNever(std::numeric_limits<double>::infinity());
  std::vector<size_t> remaining(candidates);
  std::iota(remaining.begin(), remaining.end(), size_t{0});
  std::vector<Seconds> shortest(candidates, kNever);
  Seconds spent{};
  Seconds best{};
  for (int round = 0; round < kRounds; ++round) {
    best = kNever;
    for (const size_t candidate : remaining) {
      const Seconds seconds = run(candidate);
      shortest[candidate] = std::min(shortest[candidate], seconds);
      best = std::min(best, shortest[candidate]);
      spent += seconds;
    }
    const Seconds limit = round == 0 ? kFirstRoundDropFactor * best + kSetupAllowance : kDropFactor * best;
    std::erase_if(remaining, [&](size_t candidate) { return shortest[candidate] > limit; });
    if (remaining.size() == 1 || spent > kVeryLongRace || (round > 0 && spent > kLongRace)) break;
  }
  const auto winner =
      std::find_if(remaining.begin(), remaining.end(), [&](size_t candidate) { return shortest[candidate] == best; });
  return {*winner, best, std::move(shortest)};
}

std::optional<size_t> fastest_of(const RaceResult& result, const std::function<bool(size_t)>& counts) {
  std::optional<size_t> fastest;
  for (size_t candidate = 0; candidate < result.shortest.size(); ++candidate) {
    if (!counts(candidate)) continue;
    if (!fastest || result.shortest[candidate] < result.shortest[*fastest]) fastest = candidate;
  }
  return fastest;
}

size_t clear_winner(const RaceResult& result, const std::function<bool(size_t)>& is_favoured) {
  if (is_favoured(result.winner)) return result.winner;
  const std::optional<size_t> favoured = fastest_of(result, is_favoured);
  return favoured && result.shortest[*favoured] < kClearLead * result.seconds ? *favoured : result.winner;
}

std::vector<size_t> tied_with(const RaceResult& result, size_t candidate, const std::function<bool(size_t)>& counts) {
  const Seconds own = result.shortest[candidate];
  std::vector<size_t> tied;
  for (size_t other = 0; other < result.shortest.size(); ++other) {
    const Seconds seconds = result.shortest[other];
    if (counts(other) && seconds <= kClearLead * own && own <= kClearLead * seconds) tied.push_back(other);
  }
  return tied;
}

}  // namespace laptime
