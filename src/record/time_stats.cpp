// Computes statistics of samples, and trust from them and the record's verdict.
#include "record/time_stats.h"

namespace laptime {

TimeStats make_time_stats(std::span<const double> samples) {
  return {summarize(samples), "s", {samples.begin(), samples.end()}};
}

std::optional<TimeRatio> ratio_of_medians(const TimeStats& above, const TimeStats& below) {
  if (below.median <= 0) return std::nullopt;
  if (above == below) return TimeRatio{1, std::nullopt};
  return TimeRatio{above.median / below.median, bootstrap_ratio_interval(above.samples, below.samples)};
}

std::optional<double> known_within(const Summary& time) {
  if (!time.ci_low || !time.ci_high) return std::nullopt;
  return relative_half_width({*time.ci_low, *time.ci_high}, time.median);
}

std::optional<Trust> trust_of(const Record& record) {
  const TimeStats* const time = record.main_time();
  const Verdict& verdict = record.verdict;
  if (time == nullptr || verdict.rating == kPredicted) return std::nullopt;
  Trust trust{.within = known_within(*time), .lost = verdict.lost, .lost_to = verdict.lost_to};
  trust.has_few_samples = !trust.within.has_value();
  trust.drifts = verdict.rating == name_of(Stability::kNoSteadyState);
  trust.is_busy = verdict.lost.value_or(0) > kUnstableLoss;
  // Every other cause of an unstable verdict has a number of its own in Trust.
  trust.is_meaningless = verdict.rating == name_of(Stability::kUnstable) && !trust.is_busy &&
                         trust.within.value_or(0) <= kTrustedWithin && record.binary.build_type != "Release";
  return trust;
}

}  // namespace laptime
