// How the times of traced steps, which have a mark after each launch, differ from the measured ones.
#pragma once

#include <string>
#include <vector>

#include "report/page/page_view.h"

namespace laptime {

// Whether a traced time is so far from the measured one, by more than 10 %, that a reader must be told.
bool differs_much(double traced, double measured);

// "+2.1 % from the 32.8 ms measured without marks" where both agree; else "2.33 times the 32.8 ms measured without
// marks: trust its shares rather than its times". Seconds; both must be positive.
std::string against_measured(double traced, double measured);

// Phases whose traced time is far from the measured one although the whole step need not be: "the optimizer took 62.5
// ms in these steps and 43.4 ms in the measured ones, so that its rates are rough". Empty where there is none.
std::string phases_doubt(const Record& record, const StepTrace& trace);

// What a reader of traced times must know: which of the page's times they are, how far from the measured ones, and how
// much of that the marks cost. Empty where no point was both traced and measured.
std::string traced_times_sentence(const std::vector<TracedPoint>& points);

// Why the shares of a trace are not to be relied on: the traced steps took much longer or shorter than the samples, so
// that the machine was disturbed in one of them, or the verdict on the samples says so. Empty where they are.
std::string trace_doubt(const TracedPoint& point);

}  // namespace laptime
