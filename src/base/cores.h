// The hardware threads that this process may use, their caches, and the default number of threads for a point.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace laptime {

// Returns the online hardware threads in the affinity mask of this process, in ascending order. If the mask is unknown,
// returns all online hardware threads, or none if these are unknown. Reads the kernel's files below `root`.
std::vector<int64_t> allowed_cores(const std::filesystem::path& root = "/");

struct Cache {
  int64_t level = 0;
  std::optional<int64_t> bytes;
  std::string users;  // the hardware threads that share it, in the kernel's notation; empty if unknown
};

// The data and unified caches that a hardware thread uses. Reads the kernel's files below `root`.
std::vector<Cache> data_caches(int64_t hardware_thread, const std::filesystem::path& root = "/");

// Total bytes of the caches of level 2 and above that `threads` threads of this process can use: at each level, the
// `threads` largest caches of the allowed hardware threads. None if the sizes are unknown. Reads the kernel's files
// below `root`.
std::optional<int64_t> cache_bytes(int64_t threads, const std::filesystem::path& root = "/");

struct DefaultThreads {
  int threads = 1;
  std::string reason;       // "2 cores", "8 cores of 16 hardware threads", "OMP_NUM_THREADS", ...
  bool is_unusual = false;  // `threads` is below the number of hardware threads that the process may use
};

// Returns OMP_NUM_THREADS (the first number of a list), limited to the hardware threads that the process may use. If
// the variable is not set to a positive number, returns the smallest of: the physical cores of these hardware threads,
// the CPU quota of the control groups rounded down, and SLURM_CPUS_PER_TASK. At least 1. Reads the kernel's files below
// `root`, including the initial environment of the process.
DefaultThreads default_threads(const std::filesystem::path& root = "/");

}  // namespace laptime
