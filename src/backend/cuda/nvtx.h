// NVTX ranges with names, for tools that observe the program, such as Nsight Systems.
#pragma once

namespace laptime::cuda {

// Whether a tool listens. NVTX loads the one in NVTX_INJECTION64_PATH on the first call. Always false if the program
// was built without NVTX's header.
bool nvtx_is_heard();
// Ranges of one thread; inner ranges end first. They have no effect if no tool listens.
void begin_nvtx_range(const char* name);
void end_nvtx_range();

}  // namespace laptime::cuda
