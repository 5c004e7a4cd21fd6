// Activities: what a device says that it ran, by records of its own.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace laptime {

struct Activities {
  std::string records;  // what recorded, "CUPTI"
  std::string missing;  // why there are no records; empty: there are
  int64_t kernels = 0;
  int64_t copies = 0;  // copies and fills of memory
  Seconds busy{};      // time in which at least one of them ran
};

}  // namespace laptime
