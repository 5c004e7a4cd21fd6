// Describes records in sentences: the result of a point, its details, what did not fit, and how reliable its times are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.h"
#include "report/names.h"
#include "table/text.h"

namespace laptime {

// Time, rate, memory and phases of a record, then the point itself, as lines that end in a line break. `is_stored`: the
// record comes from the store and was not measured by this command. `quiet` omits the point. `mfu`: the metric for the
// share of peak.
std::string point_text(const Record& record, const Heading& heading, const TextStyle& style, bool quiet, bool is_stored,
                       std::string_view mfu = "mfu");

// "of peak" for mfu, "of peak (causal)" for mfu_causal.
std::string peak_share_words(std::string_view metric);

// For --verbose, one line each: set-up, first steps, steps per sample, the peak used for mfu, skipped updates, and the
// verdict with its reasons. Empty for a prediction.
std::vector<std::string> details_of(const Record& record);

// "first 2 steps together 55.41 ms longer, 4.310 ms of it page faults", or that no step was longer. The record's
// transient must have an excess.
std::string first_steps_text(const Record& record);

// The phases within the requested pass, in execution order. Empty if the record lacks the time of the pass.
std::vector<std::string> phases_of(const Record& record);

// Why a record is not ok: reason, bytes, op and scope; empty if ok.
std::string reason_of(const Record& record);

// Whether `a` is out of memory and requested less than `b`; without `b`, whether `a` is out of memory. An unknown
// request counts as the largest.
bool is_smaller_shortage(const Record& a, const std::optional<Record>& b);

// Explains a record that is out of memory: its configuration, how many bytes it needs and why they are not available,
// each large tensor (with its shape) that is live at the peak, and their sum. Returns complete lines.
std::string explain_shortage(const Record& record);

// The last line of an answer whose times are all predicted.
inline constexpr std::string_view kPredictedLine = "! predicted, not measured";

// Says how reliable the times in a table are, based on its least reliable rows.
class TrustLine {
 public:
  void add(const Record& record);

  // One line that begins with "!" and says what the times can be used for. Empty if each row has enough samples and a
  // median known within 5 %, and neither a busy machine nor a verdict casts doubt on the times.
  std::string line() const;

 private:
  int64_t rows_ = 0;
  double lost_ = 0;  // largest fraction of time that a row lost because the machine was busy
  std::string lost_to_;
  std::optional<double> uncertainty_;   // the largest known uncertainty of any row
  std::optional<int64_t> few_samples_;  // fewest samples of a row with too few for an interval
  bool is_spread_unknown_ = false;      // a row has a single sample
  std::string unsteady_;                // why a time is unreliable, from the first verdict with such a reason
  bool is_predicted_ = false;
};

}  // namespace laptime
