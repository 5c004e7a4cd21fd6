// What `laptime explain` prints.
#pragma once

#include <string>

#include "record/explanation.h"

namespace laptime {

std::string print(const Explanation& explanation);

}  // namespace laptime
