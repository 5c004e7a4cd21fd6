// Words of a page that its reader need not know, with what they mean in its records.
#pragma once

#include <string>
#include <vector>

#include "record/record.h"
#include "report/page/page_parts.h"

namespace laptime {

// "no steady state": the verdict on a record as people read it, kPredicted for a prediction; empty where there is none.
std::string verdict_text(const Record& record);

// The verdicts on these records, the best first.
std::vector<PageWord> verdict_words(const std::vector<const Record*>& records);

// The arithmetics of these records that are more than multiply-adds of a number type, in the words of their tables.
std::vector<PageWord> arithmetic_words(const std::vector<const Record*>& records);

}  // namespace laptime
