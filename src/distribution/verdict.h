// Judges whether a figure can be relied upon: one word, with reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "distribution/summary.h"

namespace laptime {

// From best to worst.
enum class Stability : uint8_t { kStable, kUntested, kNoisy, kUnstable, kNoSteadyState };

// A verdict as users see it: its word, what it means, and advice.
struct StabilityWord {
  Stability stability;
  std::string_view name;     // "stable", "untested", "noisy", "unstable", "no_steady_state"
  std::string_view meaning;  // a clause that states what is known about the time
  std::string_view advice;   // how a user can get a better verdict; empty for stable
};
std::span<const StabilityWord> stability_words();  // from best to worst
std::string_view name_of(Stability stability);

// Limits for a typical shared machine. A value equal to its limit is still within it, except for kNoisySpread. The
// first two limit the distance from the median to the farther end of its 95 % interval, as a fraction of the median.
inline constexpr double kNoisyInterval = 0.02;
inline constexpr double kUnstableInterval = 0.05;
inline constexpr double kNoisySpread = 0.10;  // sample standard deviation as a fraction of the mean
inline constexpr double kNoisyDrift = 0.02;   // drift from the first sample to the last, as a fraction of the median
inline constexpr double kNoSteadyStateDrift = 0.05;
// Each of these three completes the reason "5 % of the time was lost".
inline constexpr std::string_view kLostToGuests = "to other guests of the host";
inline constexpr std::string_view kLostToQuota = "to a CPU quota";
inline constexpr std::string_view kLostWaiting = "waiting for a core";
inline constexpr double kNoisyLoss = 0.02;  // share of the time that was stolen, throttled or spent waiting
inline constexpr double kUnstableLoss = 0.10;

// The input of a verdict. The fractions are per sample, in the order of the samples, or empty if unknown.
struct Observations {
  Summary summary;
  std::span<const double> samples;              // seconds; the samples of the summary
  std::span<const double> stolen_fractions;     // share of the threads' time lost to other guests of the host
  std::span<const double> throttled_fractions;  // share of the threads' time lost to a CPU quota
  std::span<const double> waiting_fractions;    // share of the threads' time lost waiting for a core
  Seconds shortest_timed{};                     // the shortest time that was measured as one interval
  std::string meaningless{};                    // why times of this program are meaningless; empty if they are valid
};

struct Judgement {
  Stability stability = Stability::kStable;
  // Clauses with their figures: first the reasons for this verdict, then those that on their own would give a better
  // verdict, and finally remarks, which do not affect the verdict.
  std::vector<std::string> reasons;
  std::optional<double> lost;  // the largest of the three shares of lost time; none if no share is known
  std::string_view lost_to{};  // kLostToGuests, kLostToQuota or kLostWaiting; empty if no share is known
};

// no_steady_state: the samples have a trend of more than 5 % that noise does not explain (distribution/drift.h).
// unstable: interval beyond 5 %, over 10 % of the time lost, or a program whose times are meaningless.
// noisy: interval beyond 2 %, a trend beyond 2 %, standard deviation of 10 % or more of the mean, two modes, or over 2
// % of the time lost. untested: too few samples for an interval. The worst condition that applies decides the word, and
// all that apply are reasons. Each sample's share of lost time is weighted by its length, because /proc/stat counts in
// ticks of 10 ms. Samples under 5 ms cause a remark but do not change the word.
Judgement judge(const Observations& seen);

}  // namespace laptime
