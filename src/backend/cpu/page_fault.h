// Measures the cost of a page fault.
#pragma once

#include "base/units.h"

namespace laptime::cpu {

// Mean time of the first write to a small page, over a few hundred pages; 0 if they cannot be mapped. Takes about a
// millisecond.
Seconds measure_page_fault();

}  // namespace laptime::cpu
