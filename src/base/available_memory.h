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
  std::optional<int64_t> bytes{};  // never negative; empty if no bound is known
  std::string bound_by{};          // "MemAvailable", "the memory limit of cgroup /a: 2.000 GiB - 512.0 MiB in use", ...

  // "19.32 GiB available (MemAvailable)", or "available memory unknown".
  std::string text() const;
  bool holds(int64_t wanted) const { return !bytes || wanted <= *bytes; }
};

// The figures that smallest_bound() compares; a field is empty if the machine does not report it.
struct MemoryBounds {
  std::optional<int64_t> mem_available;
  std::optional<int64_t> free_memory;  // used if mem_available is empty
  std::vector<CgroupMemory> cgroups;
  std::optional<int64_t> address_space_limit;  // RLIMIT_AS; empty if unlimited
  std::optional<int64_t> address_space_used;
  std::optional<int64_t> data_limit;  // RLIMIT_DATA: private writable memory, including thread stacks
  std::optional<int64_t> data_used;
  int64_t reserve = 0;  // bytes of RLIMIT_AS and RLIMIT_DATA that are set aside for threads and libraries
};

// The smallest of: MemAvailable (or free memory); for each cgroup, the limit minus the usage; RLIMIT_AS and RLIMIT_DATA
// minus the current use and the reserve. If several bounds are equal, the result names the first.
AvailableMemory smallest_bound(const MemoryBounds& bounds);

MemoryBounds read_memory_bounds(const std::filesystem::path& root = "/");

// Address space that a thread takes: its stack, which the C library maps in full (ulimit -s), and 8 MiB for the rest.
int64_t thread_bytes();

// Memory that this process can still allocate.
AvailableMemory available_memory();
// Like available_memory(), but sets part of RLIMIT_AS and RLIMIT_DATA aside for `threads` threads and for libraries,
// because some libraries crash if an allocation fails.
AvailableMemory available_memory(int threads);

}  // namespace laptime
