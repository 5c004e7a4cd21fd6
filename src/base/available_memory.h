// How much memory can still be allocated, and what limits it.
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
  std::optional<int64_t> bytes{};  // never negative; none if the machine states no bound
  std::string bound_by{};          // "MemAvailable", "the memory limit of cgroup /a: 2.000 GiB - 512.0 MiB in use", ...

  // "19.32 GiB available (MemAvailable)", or that it is unknown.
  std::string text() const;
  bool holds(int64_t wanted) const { return !bytes || wanted <= *bytes; }
};

// Inputs of the bounds; fields are empty if the machine does not report them.
struct MemoryBounds {
  std::optional<int64_t> mem_available;
  std::optional<int64_t> free_memory;  // used if MemAvailable is not available
  std::vector<CgroupMemory> cgroups;
  std::optional<int64_t> address_space_limit;  // RLIMIT_AS; empty if unlimited
  std::optional<int64_t> address_space_used;
  std::optional<int64_t> data_limit;  // RLIMIT_DATA: private writable memory, including thread stacks
  std::optional<int64_t> data_used;
  int64_t reserve = 0;  // part of the address space and data that is kept for threads and libraries
};

// The smallest of MemAvailable (or free memory), limit - use of each cgroup up the tree, and RLIMIT_AS and RLIMIT_DATA
// less current use and the reserve. Among equal bounds, the first is named.
AvailableMemory smallest_bound(const MemoryBounds& bounds);

MemoryBounds read_memory_bounds(const std::filesystem::path& root = "/");

// Memory that this process can still allocate.
AvailableMemory available_memory();
// Memory that this process can still allocate. Of the limits RLIMIT_AS and RLIMIT_DATA, a part is reserved for
// `threads` threads and for libraries, some of which crash if an allocation fails.
AvailableMemory available_memory(int threads);

}  // namespace laptime
