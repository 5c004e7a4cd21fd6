// The hardware threads that this process may use, and how many of them a point gets if nothing is asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace laptime {

// Their numbers, ascending, by the affinity of the process; all that are online where the affinity is not known. Reads
// the files of the kernel below `root`.
std::vector<int64_t> allowed_cores(const std::filesystem::path& root = "/");

struct DefaultThreads {
  int threads = 1;
  std::string reason;       // "2 cores", "8 cores of 16 hardware threads", "OMP_NUM_THREADS", ...
  bool is_unusual = false;  // there are more hardware threads than this
};

// OMP_NUM_THREADS (the first of a list), but no more than the hardware threads that the process may use. Without it the
// smallest of: the physical cores of these hardware threads, the CPU quota of the control groups rounded down, and
// SLURM_CPUS_PER_TASK. At least 1. Reads the files of the kernel below `root`, and the environment that the process was
// started with from them.
DefaultThreads default_threads(const std::filesystem::path& root = "/");

}  // namespace laptime
