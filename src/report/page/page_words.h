// Words of a page that its reader need not know, with what they mean in its records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "report/page/page_parts.h"

namespace laptime {

// "no steady state": the verdict on a record as people read it, kPredicted for a prediction; empty where there is none.
std::string verdict_text(const Record& record);

// Seconds of all steps in order, warm-up first.
std::vector<double> whole_series(const Record& record);

// How far and in which direction steps still went while sampled: "drifts +3.1 % over 60 samples", or by the median of
// the last five steps, or of the first five samples, over that of the five steps before: "last 5 steps -1.5 %". Empty
// where they went less than the limits of the verdict.
std::string drift_text(const Record& record);

// The verdict; with how far steps went where it is that they were not steady: "no steady state: last 5 steps -1.5 %".
std::string verdict_and_drift(const Record& record);

// A published time against one of the page's, both in seconds: "18.7 times as fast as here (18.5 .. 18.8)", where the
// brackets have what the 95 % interval of `own` allows; "roughly 1.30 times as slow as here" where the verdict on its
// record speaks against comparing. `as` follows the ratio: " as here".
std::string published_against(double published, const Record& record, const TimeStats& own, std::string_view as);

// The verdicts on these records, the best first.
std::vector<PageWord> verdict_words(const std::vector<const Record*>& records);

// The arithmetics of these records that are more than multiply-adds of a number type, in the words of their tables.
std::vector<PageWord> arithmetic_words(const std::vector<const Record*>& records);

}  // namespace laptime
