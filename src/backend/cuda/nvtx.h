// Named ranges for tools that watch the program, such as Nsight Systems, by NVTX.
#pragma once

namespace laptime::cuda {

// Whether a tool listens, which NVTX loads when it is first called: the one in NVTX_INJECTION64_PATH. False also where
// the program was built without NVTX's header.
bool nvtx_is_heard();
// Ranges of one thread, the inner ones ending first. Without effect where no tool listens.
void begin_nvtx_range(const char* name);
void end_nvtx_range();

}  // namespace laptime::cuda
