// Samples in long form: a line of CSV for each phase of each sample of each record.
#pragma once

#include <string_view>

#include "report/records.h"
#include "table/text.h"

namespace laptime {

// The configuration columns (narrow.h), `created` and `run`, then `phase`, `sample` (from 0, in the order of time) and
// `seconds`. A record without samples, and one whose times are predicted, has no lines.
void samples_csv(const Records& records, const TextSink& sink);

}  // namespace laptime
