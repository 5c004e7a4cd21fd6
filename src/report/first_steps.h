// first_steps_text: how much longer the first steps of a run took than later ones, and where.
#pragma once

#include <string>

#include "record/record.h"

namespace laptime {

// "first 2 steps together 55.41 ms longer; where: backward 33.10 ms (matmul 30.20 ms), forward 21.40 ms (matmul 20.10
// ms); why: page faults 4.310 ms, not known for 51.10 ms".
// Says so where no first step was longer, and where a later step was as long. The transient of the record must have an
// excess.
std::string first_steps_text(const Record& record);

}  // namespace laptime
