// The tests that determine a verdict, and the words for it.
#include "distribution/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "distribution/bootstrap.h"
#include "distribution/drift.h"
#include "distribution/stopping_rule.h"

namespace laptime {
namespace {

// In the order of enum Stability.
constexpr std::array kWords{
    StabilityWord{
        Stability::kStable, "stable",
        "the median is known to within 2 %, samples have no trend, and little time was lost to other programs", ""},
    StabilityWord{Stability::kUntested, "untested", "fewer than 6 samples, too few to judge the time",
                  "give more --steps, or omit --steps and --warmup to sample until the time is known"},
    StabilityWord{Stability::kNoisy, "noisy",
                  "good to a few percent: interval or trend of 2 to 5 %, standard deviation of 10 % of the mean or "
                  "more, two modes, or 2 to 10 % of the time lost to other programs",
                  "trust only differences larger than a few percent; laptime compare shows smaller ones"},
    StabilityWord{Stability::kUnstable, "unstable",
                  "known only roughly: interval beyond 5 %, or over 10 % of the time lost to other programs",
                  "use a quieter machine; laptime compare shows differences despite the noise"},
    StabilityWord{Stability::kNoSteadyState, "no_steady_state",
                  "steps got faster or slower while they were sampled: a trend of more than 5 %, beyond the noise",
                  "give more --warmup or a longer --budget; laptime compare shows differences despite the trend"}};
static_assert(kNoisyInterval == 0.02 && kUnstableInterval == 0.05 && kNoisySpread == 0.10, "stated in kWords");
static_assert(kNoisyDrift == 0.02 && kNoSteadyStateDrift == 0.05, "stated in kWords");
static_assert(kNoisyLoss == 0.02 && kUnstableLoss == 0.10, "stated in kWords");
static_assert(kFewestForInterval == 6, "stated in kWords");

constexpr bool words_are_in_order() {
  for (size_t i = 0; i < kWords.size(); ++i) {
    if (static_cast<size_t>(kWords.at(i).stability) != i) return false;
  }
  return kWords.back().stability == Stability::kNoSteadyState;
}
static_assert(words_are_in_order());

// A reason, and the verdict that it would cause on its own. A remark has kStable.
struct Finding {
  Stability stability = Stability::kStable;
  std::string reason;
};
using Findings = std::vector<Finding>;

// The share of all sampled time that was lost, computed from the share for each sample.
double weighted_fraction(std::span<const double> samples, std::span<const double> fractions) {
  LAPTIME_CHECK(fractions.size() == samples.size(), "{} fractions of {} samples", fractions.size(), samples.size());
  double lost = 0;
  double total = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    lost += samples[i] * fractions[i];
    total += samples[i];
  }
  return total > 0 ? lost / total : 0;
}

void judge_interval(const Summary& summary, Findings& findings) {
  if (!summary.ci_low || !summary.ci_high) {
    findings.push_back(
        {Stability::kUntested, fmt::format("{} sample{} too few for a 95 % interval (it needs {})", summary.count,
                                           summary.count == 1 ? " is" : "s are", kFewestForInterval)});
    return;
  }
  const double width = relative_half_width({*summary.ci_low, *summary.ci_high}, summary.median);
  if (width <= kNoisyInterval) return;
  const bool unstable = width > kUnstableInterval;
  const double limit = unstable ? kUnstableInterval : kNoisyInterval;
  findings.push_back({unstable ? Stability::kUnstable : Stability::kNoisy,
                      fmt::format("the median of {} samples is known only within {} (limit {:g} %)", summary.count,
                                  percent_beyond(width, limit), 100 * limit)});
}

void judge_drift(std::span<const double> samples, Findings& findings) {
  const Drift drift = find_drift(samples);
  const double change = std::fabs(drift.change);
  if (!drift.significant || change <= kNoisyDrift) return;
  const bool unsteady = change > kNoSteadyStateDrift;
  const double limit = unsteady ? kNoSteadyStateDrift : kNoisyDrift;
  findings.push_back({unsteady ? Stability::kNoSteadyState : Stability::kNoisy,
                      fmt::format("the samples {} by {} from the first to the last (limit {:g} %)",
                                  drift.change > 0 ? "rise" : "fall", percent_beyond(change, limit), 100 * limit)});
}

void judge_spread(const Summary& summary, Findings& findings) {
  judge_interval(summary, findings);
  if (summary.std && *summary.std > 0 && *summary.std >= kNoisySpread * summary.mean) {
    findings.push_back({Stability::kNoisy, fmt::format("the standard deviation is {:.1f} % of the mean (limit {:g} %)",
                                                       100 * *summary.std / summary.mean, 100 * kNoisySpread)});
  }
  if (summary.modes.size() == 2) {
    const SampleMode& fast = summary.modes[0];
    const SampleMode& slow = summary.modes[1];
    findings.push_back(
        {Stability::kNoisy, fmt::format("two modes: {} samples around {}, {} around {}", fast.count,
                                        format_seconds(fast.median), slow.count, format_seconds(slow.median))});
  }
}

void judge_loss(const Observations& seen, std::span<const double> fractions, std::string_view how, Judgement& judgement,
                Findings& findings) {
  if (fractions.empty()) return;
  const double lost = weighted_fraction(seen.samples, fractions);
  if (lost > judgement.lost.value_or(-1)) {
    judgement.lost = lost;
    judgement.lost_to = how;
  }
  if (lost <= kNoisyLoss) return;
  const bool unstable = lost > kUnstableLoss;
  const double limit = unstable ? kUnstableLoss : kNoisyLoss;
  findings.push_back(
      {unstable ? Stability::kUnstable : Stability::kNoisy,
       fmt::format("{} of the time was lost {} (limit {:g} %)", percent_beyond(lost, limit), how, 100 * limit)});
}

}  // namespace

std::span<const StabilityWord> stability_words() { return kWords; }

std::string_view name_of(Stability stability) { return kWords.at(static_cast<size_t>(stability)).name; }

Judgement judge(const Observations& seen) {
  Judgement judgement;
  Findings findings;
  if (!seen.meaningless.empty()) findings.push_back({Stability::kUnstable, seen.meaningless});
  judge_drift(seen.samples, findings);
  judge_spread(seen.summary, findings);
  judge_loss(seen, seen.stolen_fractions, kLostToGuests, judgement, findings);
  judge_loss(seen, seen.throttled_fractions, kLostToQuota, judgement, findings);
  judge_loss(seen, seen.waiting_fractions, kLostWaiting, judgement, findings);
  if (seen.shortest_timed > Seconds(0) && seen.shortest_timed < kShortestSample) {
    findings.push_back(
        {Stability::kStable,
         fmt::format("samples as short as {} (under {}) are distorted by every interrupt",
                     format_seconds(seen.shortest_timed.count()), format_seconds(kShortestSample.count()))});
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.stability > b.stability; });
  if (!findings.empty()) judgement.stability = findings.front().stability;
  for (Finding& finding : findings) judgement.reasons.push_back(std::move(finding.reason));
  return judgement;
}

}  // namespace laptime
