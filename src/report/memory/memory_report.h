// memory_report: what the memory of a step is held for, as sentences and tables.
#pragma once

#include <array>
#include <cstdint>

#include "analysis/memory_findings.h"
#include "record/record.h"
#include "record/step_trace.h"
#include "report/grid.h"

namespace laptime {

enum class MemoryView : uint8_t { kSummary, kCategories, kSaved, kLargest, kTimeline, kAll };

constexpr auto choices_of(MemoryView) {
  return std::array{
      Choice<MemoryView>{MemoryView::kSummary, "summary"},   Choice<MemoryView>{MemoryView::kCategories, "categories"},
      Choice<MemoryView>{MemoryView::kSaved, "saved"},       Choice<MemoryView>{MemoryView::kLargest, "largest"},
      Choice<MemoryView>{MemoryView::kTimeline, "timeline"}, Choice<MemoryView>{MemoryView::kAll, "all"}};
}

struct MemoryQuery {
  MemoryView view = MemoryView::kAll;
  int64_t top = 10;  // rows of the largest allocations; 0: all
};

// One sentence: the peak, what holds most of it, and where.
std::string peak_sentence(const Record& record, const StepTrace& trace);

// The conclusion and the tables of the view; the summary has no table.
PointReport memory_report(const Record& record, const StepTrace& trace, const MemoryQuery& query);

}  // namespace laptime
