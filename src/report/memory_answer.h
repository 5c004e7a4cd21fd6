// Answers of `laptime memory`: the use of memory in a step, and the peaks of several points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/memory_findings.h"
#include "config/option.h"
#include "record/record.h"
#include "record/step_trace.h"
#include "report/answer.h"

namespace laptime {

enum class MemoryView : uint8_t { kSummary, kPhases, kAccounts, kSaved, kLargest, kTimeline, kAll };

constexpr auto choices_of(MemoryView) {
  return choices<MemoryView>("summary", "phases", "accounts", "saved", "largest", "timeline", "all");
}

struct MemoryQuery {
  MemoryView view = MemoryView::kSummary;
  int64_t top = 10;  // rows in the table of largest allocations; 0: all
  bool verbose = false;
};

// The peak and where it occurs, its parts, a timeline, and the tables of the view.
PointAnswer memory_answer(const Record& record, const StepTrace& trace, const MemoryQuery& query);

// The tables of a view: categories, phases, accounts, saved_blocks, saved_contributors, saved_by_op, largest, timeline.
std::vector<Table> memory_tables(const Record& record, const StepTrace& trace, const MemoryQuery& query);

// Draws the memory held during a step as bars `rows` lines high and as wide as the terminal, with the phases below.
std::string timeline_text(const MemoryLedger& ledger, size_t rows, const TextStyle& style);

// The peaks of the points of a sweep.
class MemoryPeaks {
 public:
  // `order`: a column of the table of peaks, as in "peak_bytes" or "peak_bytes:desc"; empty: in the order of the
  // points. Throws Error for an unknown column.
  explicit MemoryPeaks(std::string_view order);

  void add(const Record& record, const std::optional<StepTrace>& trace);

  // One table for people. If the points differ in pass or number type and no order was given, the table is a grid: pass
  // and number type along one side, all other differences along the other. Otherwise it has a row per point with the
  // parts of the point's peak. Programs get both tables.
  PointAnswer answer() const;

 private:
  std::string order_;
  std::vector<Record> records_;
  Table table_;  // one row per point
};

// The peaks of records by pass and number type; none if all records share both. Peaks that do not fit are marked.
std::optional<Table> peaks_by_pass(const std::vector<const Record*>& records);

}  // namespace laptime
