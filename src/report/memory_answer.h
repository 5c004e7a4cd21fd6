// memory_answer: what the memory of a step is held for, for `laptime memory`.
#pragma once

#include <array>
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
  using enum MemoryView;
  return std::to_array<Choice<MemoryView>>({{kSummary, "summary"},
                                            {kPhases, "phases"},
                                            {kAccounts, "accounts"},
                                            {kSaved, "saved"},
                                            {kLargest, "largest"},
                                            {kTimeline, "timeline"},
                                            {kAll, "all"}});
}

struct MemoryQuery {
  MemoryView view = MemoryView::kSummary;
  int64_t top = 10;  // rows of the largest allocations; 0: all
  bool verbose = false;
};

// The peak and where it is, its parts, a timeline, and the tables of the view.
PointAnswer memory_answer(const Record& record, const StepTrace& trace, const MemoryQuery& query);

// The tables of a view: categories, phases, accounts, saved_blocks, saved_contributors, saved_by_op, largest, timeline.
std::vector<Table> memory_tables(const Record& record, const StepTrace& trace, const MemoryQuery& query);

// The bytes held over a step as `rows` lines of bars as wide as the terminal, with the phases below them.
std::string timeline_text(const MemoryLedger& ledger, size_t rows, const TextStyle& style);

// The peaks of the points of a sweep.
class MemoryPeaks {
 public:
  // `order` is a column of the table "peaks", "peak_bytes" or "peak_bytes:desc"; empty: as the points come. Throws
  // Error for an unknown column.
  explicit MemoryPeaks(std::string_view order);

  void add(const Record& record, const std::optional<StepTrace>& trace);

  // One table for people. If the points differ in pass or number type it is a grid: these along one side, all other
  // differences along the other. Otherwise it has a row for each point with the parts of its peak. Programs get both.
  PointAnswer answer() const;

 private:
  std::string order_;
  std::vector<Record> records_;
  Table table_;  // a row for each
};

// The peaks of records by pass and number type; none where all have the same. Those that do not fit are marked.
std::optional<Table> peaks_by_pass(const std::vector<const Record*>& records);

}  // namespace laptime
