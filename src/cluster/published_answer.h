// published_answer: the deviation of predictions from published figures, for `laptime plan --published`.
#pragma once

#include <string>

#include "cluster/predicted_run.h"
#include "report/answer.h"

namespace laptime {

// A summary line, tables of errors by hardware, program, size and source, and a row for each figure. Flagged figures
// are separate. A terminal shows the rows only with `verbose`.
PointAnswer published_answer(const PredictedRuns& predicted, const std::string& name, bool verbose);

// For example "914 of 1120 figures predicted: median error 4.7 %, 90 % within 15 %". Excludes flagged figures.
std::string published_conclusion(const PredictedRuns& predicted);

// For example "pytorch-eager, one GPU".
std::string program_words(const DescribedRun& run);

// The launches of each share, and for each run the numbers from which times are predicted. Input of tools/fit_machines.
PointAnswer published_work_answer(const PredictedRuns& predicted, const std::string& name);

}  // namespace laptime
