// Gets the size of the cache from the C library.
#include "backend/cpu/cores.h"

#include <unistd.h>

namespace laptime::cpu {

int64_t second_level_cache() {
  static const int64_t kBytes = [] {  // cached, because the query is slow in a virtual machine
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? int64_t{bytes} : int64_t{1} << 20;
  }();
  return kBytes;
}

}  // namespace laptime::cpu
