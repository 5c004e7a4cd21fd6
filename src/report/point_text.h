// Records in sentences: the answer of a point, its details, what did not fit, and how far times can be relied on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "record/record.h"
#include "report/names.h"
#include "table/text.h"

namespace laptime {

// Time, rate, memory and phases of a record, and the point itself: lines that end in a line break, the answer first.
// `is_stored`: the record was not measured by this command. `quiet` leaves the point out. `mfu`: the metric that states
// the share of the peak.
std::string point_text(const Record& record, const Heading& heading, const TextStyle& style, bool quiet, bool is_stored,
                       std::string_view mfu = "mfu");

// "of peak" for mfu, "of peak (causal)" for mfu_causal.
std::string peak_share_words(std::string_view metric);

// For --verbose, a line each: set-up, first steps, the peak behind the mfu, skipped updates, and the verdict with its
// reasons.
std::vector<std::string> details_of(const Record& record);

// "first 2 steps together 55.41 ms longer, 4.310 ms of it page faults", or that none was longer. The transient of the
// record must have an excess.
std::string first_steps_text(const Record& record);

// The phases within the pass that was asked for, in the order in which they ran. None of a record without that time.
std::vector<std::string> phases_of(const Record& record);

// Why a record is not ok: reason, bytes, op and scope; empty for ok.
std::string reason_of(const Record& record);

// Whether `a` is out of memory and asked for less than `b`, if there is one.
bool is_smaller_shortage(const Record& a, const std::optional<Record>& b);

// Explains a record that is out of memory: its configuration, how many bytes it needs and why they are not available,
// each large tensor that is live at its peak with its shape, and their sum. Whole lines.
std::string explain_shortage(const Record& record);

// How far the times of a table can be relied on: collects the worst of its rows.
class TrustLine {
 public:
  void add(const Record& record);

  // One line that begins with "!": what the times are good for. Empty if each median is known within 5 % and the
  // machine was quiet.
  std::string line() const;

 private:
  int64_t rows_ = 0;
  double lost_ = 0;
  double uncertainty_ = 0;              // the largest
  std::optional<int64_t> few_samples_;  // the fewest of a row with too few for an interval
  std::string unsteady_;                // the first reason of a verdict against the time
  bool is_predicted_ = false;
};

}  // namespace laptime
