// history_answers: tracks one metric of each point over time, and marks where its level changed.
#pragma once

#include <vector>

#include "record/metrics.h"
#include "report/answer.h"
#include "report/records.h"

namespace laptime {

struct HistoryOptions {
  const Metric* metric = nullptr;
  double least = 0;       // smallest relevant change, as a fraction
  bool by_commit = true;  // one value per build, the median of all its records; otherwise one per record
};

// One answer for each combination of point, machine, arithmetic and options that has at least two values, ordered by
// first record, with its newest kMostOfSeries values. Records that are not ok, are predicted or lack the metric are
// skipped. `skipped`, if given, is increased by the number of series with a single value.
std::vector<PointAnswer> history_answers(const Records& records, const HistoryOptions& options,
                                         size_t* skipped = nullptr);

}  // namespace laptime
