// The processors this process may use.
#pragma once

#include <vector>

namespace laptime::cpu {

// Numbers of the processors in the affinity mask, ascending.
std::vector<int> allowed_cores();

// One thread for each allowed processor, no more than the control groups' quota rounded up; at least 1.
int default_threads();

}  // namespace laptime::cpu
