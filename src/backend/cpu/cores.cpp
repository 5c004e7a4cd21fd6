// Gets the sizes of caches from the C library.
#include "backend/cpu/cores.h"

#include <unistd.h>

#include <algorithm>

namespace laptime::cpu {

int64_t second_level_cache() {
  static const int64_t kBytes = [] {  // cached, because the query is slow in a virtual machine
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? int64_t{bytes} : int64_t{1} << 20;
  }();
  return kBytes;
}

int64_t third_level_cache() { return std::max<int64_t>(0, sysconf(_SC_LEVEL3_CACHE_SIZE)); }

}  // namespace laptime::cpu
