// Reads the affinity mask and the cache size from the operating system.
#include "backend/cpu/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/cgroup.h"

namespace laptime::cpu {

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  for (int capacity = 1024; capacity <= (1 << 20); capacity *= 2) {  // fails until the mask is as large as the kernel's
    cpu_set_t* const mask = CPU_ALLOC(static_cast<size_t>(capacity));
    if (mask == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(capacity));
    const bool known = sched_getaffinity(0, bytes, mask) == 0;
    for (int core = 0; known && core < capacity; ++core) {
      if (CPU_ISSET_S(static_cast<size_t>(core), bytes, mask)) cores.push_back(core);
    }
    CPU_FREE(mask);
    if (known) break;
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

int default_threads() {
  const int allowed = static_cast<int>(allowed_cores().size());
  const double quota = cpu_quota(cgroups_of("cpu")).value_or(allowed);
  return std::clamp(static_cast<int>(std::ceil(std::min<double>(quota, allowed))), 1, allowed);
}

int64_t second_level_cache() {
  static const int64_t kBytes = [] {  // cached, because the query is slow in a virtual machine
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? int64_t{bytes} : int64_t{1} << 20;
  }();
  return kBytes;
}

int64_t third_level_cache() { return std::max<int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE)); }

}  // namespace laptime::cpu
