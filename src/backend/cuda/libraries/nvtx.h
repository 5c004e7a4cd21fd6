// Named NVTX ranges for tools that observe the program, such as Nsight Systems.
#pragma once

namespace laptime::cuda {

// True if a tool is attached. On the first call, NVTX loads the tool in NVTX_INJECTION64_PATH. Always false if the
// program was built without NVTX's header.
bool nvtx_is_heard();
// Ranges are per thread and nest. They have no effect if no tool is attached.
void begin_nvtx_range(const char* name);
void end_nvtx_range();

}  // namespace laptime::cuda
