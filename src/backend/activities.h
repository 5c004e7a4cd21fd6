// Activities: a summary of what ran on a device, according to the device's own records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace laptime {

struct Activities {
  std::string records;  // the source of the records, such as "CUPTI"
  std::string missing;  // why there are no records; empty if there are some
  int64_t kernels = 0;
  int64_t copies = 0;  // memory copies and memory fills
  Seconds busy{};      // time during which at least one activity ran
  // Busy time between consecutive marks; empty if the device cannot tell.
  std::vector<Seconds> between_marks;
};

}  // namespace laptime
