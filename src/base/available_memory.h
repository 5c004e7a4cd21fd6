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

// What the bounds are computed from; empty where the machine does not say.
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

// Of this process, now.
AvailableMemory available_memory();
// The same, less the address space that this many threads will take for stacks, and that libraries need besides: some
// of them crash where an allocation fails.
AvailableMemory available_memory(int threads);

}  // namespace laptime
