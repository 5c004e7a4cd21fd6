// Compares lost time, spread and traced steps with their limits.
#include "measure/disturbed_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "distribution/bootstrap.h"
#include "distribution/moments.h"
#include "distribution/verdict.h"
#include "record/machine_state.h"

namespace laptime {
namespace {

// Costs of launches are kept for later predictions, so that less disturbs them than makes a verdict unstable.
constexpr double kDisturbingLoss = 0.03;

// Stolen time is counted in ticks, of which a short run has too few to say anything.
constexpr Seconds kFewTicks{0.02};

std::string time_lost(const Measurement& run, int64_t threads) {
  const auto first = static_cast<size_t>(run.sampling.warmup);
  if (run.states.empty() || first >= run.states.size() || run.states.size() > run.sampling.steps.size()) return "";
  const MachineState lost = counter_change(run, first, run.states.size());
  const Seconds wall = run.sampling.steps[run.states.size() - 1].end - run.sampling.steps[first].begin;
  const bool has_ticks = kDisturbingLoss * static_cast<double>(threads) * wall > kFewTicks;
  const double stolen = has_ticks ? lost_fraction(lost.stolen_seconds, wall, threads).value_or(0) : 0;
  const double throttled = lost_fraction(lost.throttled_seconds, wall, threads).value_or(0);
  const double waiting = lost_fraction(lost.waiting_seconds, wall, threads).value_or(0);
  const double most = std::max({stolen, throttled, waiting});
  if (most <= kDisturbingLoss) return "";
  return fmt::format("{:.0f} % of the time was lost {}", 100 * most,
                     most == stolen      ? kLostToGuests
                     : most == throttled ? kLostToQuota
                                         : kLostWaiting);
}

std::string spread(std::vector<double> samples) {
  if (static_cast<int64_t>(samples.size()) < kFewestForInterval) return "";
  std::sort(samples.begin(), samples.end());
  const Moments moments = moments_of_sorted(samples);
  const double deviation = moments.std_sample.value_or(0);
  if (moments.mean <= 0 || deviation < kNoisySpread * moments.mean) return "";
  return fmt::format("steps varied by {:.0f} % (standard deviation)", 100 * deviation / moments.mean);
}

std::string traced_longer(const std::optional<StepTrace>& trace) {
  if (!trace || !is_disturbed(*trace)) return "";
  return fmt::format("traced steps took {:.2f} times as long as those beside them", *traced_over_untraced(*trace));
}

}  // namespace

std::string disturbance_of(const Measurement& run, const std::vector<double>& samples,
                           const std::optional<StepTrace>& trace, std::optional<int64_t> threads) {
  std::string text = threads ? time_lost(run, *threads) : "";
  if (text.empty()) text = spread(samples);
  return text.empty() ? traced_longer(trace) : text;
}

}  // namespace laptime
