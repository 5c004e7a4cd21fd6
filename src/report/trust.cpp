// Words for the lowest trust among the rows of a table.
#include "report/trust.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/speedup.h"
#include "base/words.h"
#include "distribution/bootstrap.h"
#include "record/time_stats.h"
#include "table/value_text.h"

namespace laptime {

void TrustLine::add(const Record& record) {
  const TimeStats* const time = record.main_time();
  if (time == nullptr || time->count == 0) return;
  const std::optional<Trust> trust = trust_of(record);
  if (!trust) {
    is_predicted_ = true;
    return;
  }
  ++rows_;
  if (trust->is_busy) lost_ = std::max(lost_, trust->lost.value_or(0));
  uncertainty_ = std::max(uncertainty_, uncertainty_of(*time).value_or(0));
  if (time->count < kFewestForInterval) few_samples_ = std::min(few_samples_.value_or(time->count), time->count);
  if ((trust->drifts || trust->is_meaningless) && unsteady_.empty() && !record.verdict.reasons.empty())
    unsteady_ = record.verdict.reasons.front().substr(0, record.verdict.reasons.front().find(" ("));
}

std::string TrustLine::line() const {
  if (rows_ == 0) return is_predicted_ ? "! predicted, not measured" : "";
  std::string why;
  if (lost_ > 0) {
    why = fmt::format("{:.0f} % of the time lost to other programs", 100 * lost_);
  } else if (few_samples_) {
    why = fmt::format("{} only", counted(*few_samples_, "sample"));
  } else if (uncertainty_ > kTrustedWithin) {
    why = fmt::format("times are known to {}", plus_minus_text(uncertainty_));
  } else if (!unsteady_.empty()) {
    return "! " + unsteady_;
  } else {
    return "";
  }
  const std::string good = fmt::format(": good to about {:.0f} %", 100 * std::max(uncertainty_, kTrustedWithin));
  if (rows_ == 1)
    return fmt::format("! {}{}", why, lost_ > 0 ? ": compare ratios, not times" : few_samples_ ? good : "");
  const double least = 1 + (lost_ > 0 ? 3 : 2) * std::max(uncertainty_, kTrustedWithin);
  return fmt::format("! {}: ignore differences below {:.1f}x", why, std::max(least, 1.1));
}

}  // namespace laptime
