// history_answers: one figure of each point over time, and where its level changed.
#pragma once

#include <vector>

#include "record/metrics.h"
#include "report/answer.h"
#include "report/records.h"

namespace laptime {

struct HistoryOptions {
  const Metric* metric = nullptr;
  double least = 0;       // a change that does not matter, as a fraction
  bool by_commit = true;  // one figure for each build, the median of its records; else one for each record
};

// An answer for each point and machine that has at least two figures, in the order of their first records. Records
// that are not ok, are predicted or do not know the metric are left out. `skipped`, if given, counts points with a
// single figure.
std::vector<PointAnswer> history_answers(const Records& records, const HistoryOptions& options,
                                         size_t* skipped = nullptr);

}  // namespace laptime
