// What the first touch of a page costs here.
#pragma once

#include "base/units.h"

namespace laptime::cpu {

// Mean over a few hundred small pages of fresh memory. Takes about a millisecond.
Seconds measure_page_fault();

}  // namespace laptime::cpu
