// Calls NVTX, a header-only library that loads the tool named by an environment variable and does nothing without a
// tool. If the program is built without NVTX's header, all functions do nothing.
#include "backend/cuda/libraries/nvtx.h"

#if __has_include(<nvtx3/nvToolsExt.h>)

#include <nvtx3/nvToolsExt.h>

namespace laptime::cuda {

bool nvtx_is_heard() {
  // nvtxRangePushA returns the depth of the range if a tool tracks it, and a negative number otherwise.
  const bool is_heard = nvtxRangePushA("laptime") >= 0;
  if (is_heard) nvtxRangePop();
  return is_heard;
}
void begin_nvtx_range(const char* name) { nvtxRangePushA(name); }
void end_nvtx_range() { nvtxRangePop(); }

}  // namespace laptime::cuda

#else

namespace laptime::cuda {

bool nvtx_is_heard() { return false; }
void begin_nvtx_range(const char*) {}
void end_nvtx_range() {}

}  // namespace laptime::cuda

#endif
