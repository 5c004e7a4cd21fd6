// published_answer: the deviation of predictions from published figures, for `laptime plan --published`.
#pragma once

#include <string>

#include "cluster/predicted_run.h"
#include "report/answer.h"

namespace laptime {

// A summary line, tables of errors by hardware, program, size and source, and a row for each figure. Flagged figures
// are separate. A terminal shows the rows only with `verbose`.
PointAnswer published_answer(const PredictedRuns& predicted, const std::string& name, bool verbose);

// The JSON block of published.js; values are in seconds or bytes. Excludes flagged figures.
Json published_page(const PredictedRuns& predicted, const std::string& name);

// The input of tools/fit_machines: launches of each share, and the numbers from which each run's time is predicted.
PointAnswer published_work_answer(const PredictedRuns& predicted, const std::string& name);

}  // namespace laptime
