// Whether a figure can be relied upon, in one word with its reasons.
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

// The word of a verdict, and what it tells a reader. The one home of these texts.
struct StabilityWord {
  Stability stability;
  std::string_view name;     // "stable", "untested", "noisy", "unstable", "no_steady_state"
  std::string_view meaning;  // a clause: what is known of the time
  std::string_view advice;   // what a user can do for a better verdict; empty for stable
};
std::span<const StabilityWord> stability_words();  // from best to worst
std::string_view name_of(Stability stability);

// Limits of a shared machine, such as people have: a value above its limit exceeds it.
inline constexpr double kNoisyInterval = 0.02;  // end of the 95 % interval from the median, as a fraction of it
inline constexpr double kUnstableInterval = 0.05;
inline constexpr double kNoisySpread = 0.10;  // sample standard deviation as a fraction of the mean
inline constexpr double kNoisyDrift = 0.02;   // change from the first sample to the last, as a fraction of the median
inline constexpr double kNoSteadyStateDrift = 0.05;
// How time was lost, after "5 % of the time was lost".
inline constexpr std::string_view kLostToGuests = "to other guests of the host";
inline constexpr std::string_view kLostToQuota = "to a CPU quota";
inline constexpr std::string_view kLostWaiting = "waiting for a core";
inline constexpr double kNoisyLoss = 0.02;  // of the time that was stolen, throttled or waited
inline constexpr double kUnstableLoss = 0.10;

// What a verdict looks at. The fractions are per sample, in the order of the samples, or empty where not known.
struct Observations {
  Summary summary;
  std::span<const double> samples;              // seconds, those that the summary is of
  std::span<const double> stolen_fractions;     // of the threads' time, by other guests of the host
  std::span<const double> throttled_fractions;  // of the threads' time, by a CPU quota
  std::span<const double> waiting_fractions;    // of the threads' time, for a core
  Seconds shortest_timed{};                     // the shortest region of time that was measured as one
  std::string meaningless{};                    // why no time of this program means anything; empty where times do
};

struct Judgement {
  Stability stability = Stability::kStable;
  // Clauses with their figures: first those that decide the word, then those of lesser words, last remarks that change
  // no word.
  std::vector<std::string> reasons;
  std::optional<double> lost;  // the largest of the three shares of lost time; none where none was counted
  std::string_view lost_to{};  // of that share; empty where there is none
};

// no_steady_state: the samples have a trend outside their own noise (distribution/drift.h), of more than 5 %.
// unstable: interval beyond 5 %, over 10 % of the time lost, or a program whose times mean nothing.
// noisy: interval beyond 2 %, a trend beyond 2 %, standard deviation of 10 % or more of the mean, two modes, or over 2
// % of the time lost. untested: too few samples for an interval. The worst that applies is the word; all that apply are
// reasons. Each sample's share of lost time is weighted by its length, because /proc/stat counts in ticks of 10 ms.
// Samples under 5 ms are stated but do not change the word.
Judgement judge(const Observations& seen);

}  // namespace laptime
