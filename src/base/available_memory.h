// How much memory can still be taken, and what sets that bound.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/cgroup.h"

namespace laptime {

// The share of the available memory that a step may use.
inline constexpr double kUsableFraction = 0.95;

struct AvailableMemory {
  int64_t bytes = 0;     // never negative
  std::string bound_by;  // "MemAvailable", "the memory limit of cgroup /a: 2.00 GiB - 512.0 MiB in use", ...
};

// Inputs of the bounds; fields are empty if the machine does not report them.
struct MemoryBounds {
  std::optional<int64_t> mem_available;
  std::vector<CgroupMemory> cgroups;
  std::optional<int64_t> address_space_limit;  // RLIMIT_AS; empty when unlimited
  std::optional<int64_t> address_space_used;
  int64_t address_space_reserve = 0;  // of the address space, kept for threads and libraries
};

// The smallest of: MemAvailable; limit - use of each cgroup up the tree; RLIMIT_AS - address space in use - reserve.
// The first of equals is named. Without any bound: the largest int64_t, bound by "nothing known".
AvailableMemory smallest_bound(const MemoryBounds& bounds);

MemoryBounds read_memory_bounds(const std::filesystem::path& root = "/");

// Memory that this process can still take.
AvailableMemory available_memory();
// Also subtracts the address space for the stacks of `threads` threads and for libraries, some of which crash if an
// allocation fails.
AvailableMemory available_memory(int threads);

}  // namespace laptime
