// Finds a record's times, and computes statistics of samples.
#include "record/time_stats.h"

#include <string>

#include "distribution/bootstrap.h"

namespace laptime {

TimeStats make_time_stats(std::span<const double> samples) {
  return {summarize(samples), "s", {samples.begin(), samples.end()}};
}

const TimeStats* time_of(const Record& record, std::string_view phase) {
  const auto found = record.time.find(std::string(phase));
  const TimeStats* const of_phase = found == record.time.end() ? nullptr : &found->second;
  const TimeStats* const time = phase.empty() ? record.main_time() : of_phase;
  return time == nullptr || time->count == 0 ? nullptr : time;
}

std::optional<double> known_within(const Summary& time) {
  if (!time.ci_low || !time.ci_high) return std::nullopt;
  return relative_half_width({*time.ci_low, *time.ci_high}, time.median);
}

}  // namespace laptime
