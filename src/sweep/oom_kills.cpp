// Reads /proc/vmstat.
#include "sweep/oom_kills.h"

#include <fstream>
#include <string>

namespace laptime {

std::optional<int64_t> KernelKills::count() {
  std::ifstream counters("/proc/vmstat");
  std::string name;
  for (int64_t value = 0; counters >> name >> value;) {
    if (name == "oom_kill") return value;
  }
  return std::nullopt;
}

}  // namespace laptime
