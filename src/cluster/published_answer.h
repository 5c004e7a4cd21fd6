// published_answer: how far predictions are from published figures, for `laptime plan --published`.
#pragma once

#include <string>

#include "cluster/predicted_run.h"
#include "report/answer.h"

namespace laptime {

// A line on all figures, errors by hardware, program, size and source, and a row for each figure; flagged figures
// apart. People see the rows with `verbose`.
PointAnswer published_answer(const PredictedRuns& predicted, const std::string& name, bool verbose);

// "914 of 1120 figures predicted: median error 4.7 %, 90 % within 15 %", without flagged ones.
std::string published_conclusion(const PredictedRuns& predicted);

// "pytorch-eager, one GPU".
std::string program_words(const DescribedRun& run);

// The launches of each share and the numbers of each run that times are predicted from, for tools/fit_machines.
PointAnswer published_work_answer(const PredictedRuns& predicted, const std::string& name);

}  // namespace laptime
