// The tests behind a verdict, one after the other.
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

// In the order of Stability.
constexpr std::array kWords{
    StabilityWord{Stability::kStable, "stable", "the median is known within 1 %, and steps have settled", ""},
    StabilityWord{Stability::kUntested, "untested", "too few steps or samples to say how good the time is",
                  "more --steps, or neither --steps nor --warmup: then it samples until the time is known"},
    StabilityWord{Stability::kNoisy, "noisy", "good to a few percent: interval or drift of 1 to 5 %, or two modes",
                  "believe larger differences alone; laptime compare tells smaller ones"},
    StabilityWord{Stability::kUnstable, "unstable",
                  "not to be relied on: interval beyond 5 %, or standard deviation beyond 10 % of the mean",
                  "a quieter machine; laptime compare tells differences in spite of it"},
    StabilityWord{Stability::kNoSteadyState, "no_steady_state",
                  "not to be relied on: steps still got faster or slower while sampled (drift beyond 5 %, or 5 steps "
                  "more than 1 % from the 5 before)",
                  "more --warmup or a longer --budget; laptime compare tells differences in spite of it"}};
static_assert(kNoisyInterval == 0.01 && kUnstableInterval == 0.05 && kUnstableSpread == 0.10, "as the words say");
static_assert(kNoisyDrift == 0.01 && kNoSteadyStateDrift == 0.05, "as the words say");
static_assert(kSteadyWindow == 5 && kSteadyTolerance == 0.01, "as the words say");

constexpr bool words_are_in_order() {
  for (size_t i = 0; i < kWords.size(); ++i) {
    if (static_cast<size_t>(kWords.at(i).stability) != i) return false;
  }
  return kWords.back().stability == Stability::kNoSteadyState;
}
static_assert(words_are_in_order());

void add(Judgement& judgement, Stability stability, std::string reason) {
  judgement.stability = std::max(judgement.stability, stability);
  judgement.reasons.push_back(std::move(reason));
}

// The share of all sampled time that was lost, from the share of each sample.
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

void judge_steady_state(const Observations& seen, Judgement& judgement) {
  if (seen.steady_state.steadiness == Steadiness::kReached) return;
  if (seen.steady_state.steadiness == Steadiness::kUnknown) {
    add(judgement, Stability::kUntested,
        fmt::format("{} {} too few to test for a steady state (it takes {})", counted(seen.steps, "step"),
                    seen.steps == 1 ? "is" : "are", 2 * kSteadyWindow));
    return;
  }
  add(judgement, Stability::kNoSteadyState,
      fmt::format("after {} the median of {} steps still differs by {:+.1f} % from the {} before (limit {:g} %)",
                  counted(seen.steady_state.after, "step"), kSteadyWindow, 100 * seen.steady_state.change,
                  kSteadyWindow, 100 * kSteadyTolerance));
}

void judge_interval(const Summary& summary, Judgement& judgement) {
  if (!summary.ci_low || !summary.ci_high) {
    add(judgement, Stability::kUntested,
        fmt::format("{} sample{} too few for a 95 % interval (it takes {})", summary.count,
                    summary.count == 1 ? " is" : "s are", kFewestForInterval));
    return;
  }
  const double width = relative_half_width({*summary.ci_low, *summary.ci_high}, summary.median);
  if (width <= kNoisyInterval) return;
  const bool unstable = width > kUnstableInterval;
  add(judgement, unstable ? Stability::kUnstable : Stability::kNoisy,
      fmt::format("the median of {} samples is known only within {:.1f} % (limit {:g} %)", summary.count, 100 * width,
                  100 * (unstable ? kUnstableInterval : kNoisyInterval)));
}

void judge_drift(std::span<const double> samples, Judgement& judgement) {
  const Drift drift = find_drift(samples);
  const double change = std::fabs(drift.change);
  if (!drift.significant || change <= kNoisyDrift) return;
  const bool unsteady = change > kNoSteadyStateDrift;
  add(judgement, unsteady ? Stability::kNoSteadyState : Stability::kNoisy,
      fmt::format("the samples {} by {:.1f} % from the first to the last (limit {:g} %)",
                  drift.change > 0 ? "rise" : "fall", 100 * change,
                  100 * (unsteady ? kNoSteadyStateDrift : kNoisyDrift)));
}

void judge_spread(const Summary& summary, Judgement& judgement) {
  judge_interval(summary, judgement);
  if (summary.std && *summary.std > 0 && *summary.std >= kUnstableSpread * summary.mean) {
    add(judgement, Stability::kUnstable,
        fmt::format("the standard deviation is {:.1f} % of the mean (limit {:g} %)", 100 * *summary.std / summary.mean,
                    100 * kUnstableSpread));
  }
  if (summary.modes.size() == 2) {
    const SampleMode& fast = summary.modes[0];
    const SampleMode& slow = summary.modes[1];
    add(judgement, Stability::kNoisy,
        fmt::format("two modes: {} samples around {}, {} around {}", fast.count, format_seconds(fast.median),
                    slow.count, format_seconds(slow.median)));
  }
}

void judge_loss(const Observations& seen, std::span<const double> fractions, const char* what, Judgement& judgement) {
  if (fractions.empty()) return;
  const double lost = weighted_fraction(seen.samples, fractions);
  if (lost <= kNoisyLoss) return;
  const bool unstable = lost > kUnstableLoss;
  add(judgement, unstable ? Stability::kUnstable : Stability::kNoisy,
      fmt::format("{:.1f} % of the time {} (limit {:g} %)", 100 * lost, what,
                  100 * (unstable ? kUnstableLoss : kNoisyLoss)));
}

}  // namespace

std::span<const StabilityWord> stability_words() { return kWords; }

std::string_view name_of(Stability stability) { return kWords.at(static_cast<size_t>(stability)).name; }

Judgement judge(const Observations& seen) {
  Judgement judgement;
  judge_steady_state(seen, judgement);
  judge_drift(seen.samples, judgement);
  judge_spread(seen.summary, judgement);
  judge_loss(seen, seen.stolen_fractions, "was stolen by other guests of the host", judgement);
  judge_loss(seen, seen.throttled_fractions, "was throttled by a CPU quota", judgement);
  judge_loss(seen, seen.waiting_fractions, "was spent waiting for a core that another thread or program held",
             judgement);
  if (seen.shortest_timed > Seconds(0) && seen.shortest_timed < kShortestSample) {
    judgement.reasons.push_back(fmt::format("samples as short as {} (under {}) feel every interrupt",
                                            format_seconds(seen.shortest_timed.count()),
                                            format_seconds(kShortestSample.count())));
  }
  return judgement;
}

}  // namespace laptime
