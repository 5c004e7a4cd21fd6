// Reads uncertainty and lost time from records.
#include "report/trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analysis/speedup.h"
#include "base/words.h"
#include "distribution/verdict.h"
#include "record/metrics.h"
#include "table/value_text.h"

namespace laptime {
namespace {

constexpr double kTrusted = 0.05;  // half the 95 % interval of the median, as a fraction of it

}  // namespace

double lost_time(const Record& record) {
  for (const std::string& reason : record.verdict.reasons) {
    if (reason.find("of the time was lost") == std::string::npos) continue;
    double percent = 0;
    const auto [end, error] = std::from_chars(reason.data(), reason.data() + reason.size(), percent);
    if (error == std::errc() && percent > 100 * kUnstableLoss) return percent / 100;
  }
  return 0;
}

void TrustLine::add(const Record& record) {
  const TimeStats* const time = record.main_time();
  if (time == nullptr || time->count == 0) return;
  if (is_predicted(record)) {
    is_predicted_ = true;
    return;
  }
  ++rows_;
  lost_ = std::max(lost_, lost_time(record));
  uncertainty_ = std::max(uncertainty_, uncertainty_of(*time).value_or(0));
  if (time->count < kFewestForInterval) few_samples_ = std::min(few_samples_.value_or(time->count), time->count);
  const std::string& rating = record.verdict.rating;
  const bool is_unsteady = rating == name_of(Stability::kUnstable) || rating == name_of(Stability::kNoSteadyState);
  if (is_unsteady && unsteady_.empty() && !record.verdict.reasons.empty())
    unsteady_ = record.verdict.reasons.front().substr(0, record.verdict.reasons.front().find(" ("));
}

std::string TrustLine::line() const {
  if (rows_ == 0) return is_predicted_ ? "! predicted, not measured" : "";
  std::string why;
  if (lost_ > 0) {
    why = fmt::format("{:.0f} % of the time lost to other programs", 100 * lost_);
  } else if (few_samples_) {
    why = fmt::format("{} only", counted(*few_samples_, "sample"));
  } else if (uncertainty_ > kTrusted) {
    why = fmt::format("times are known to {}", plus_minus_text(uncertainty_));
  } else if (!unsteady_.empty()) {
    return "! " + unsteady_;
  } else {
    return "";
  }
  const std::string good = fmt::format(": good to about {:.0f} %", 100 * std::max(uncertainty_, kTrusted));
  if (rows_ == 1)
    return fmt::format("! {}{}", why, lost_ > 0 ? ": compare ratios, not times" : few_samples_ ? good : "");
  const double least = 1 + (lost_ > 0 ? 3 : 2) * std::max(uncertainty_, kTrusted);
  return fmt::format("! {}: ignore differences below {:.1f}x", why, std::max(least, 1.1));
}

}  // namespace laptime
