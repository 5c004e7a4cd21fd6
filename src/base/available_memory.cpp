// The bounds on memory, read and compared.
#include "base/available_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "base/proc_text.h"
#include "base/units.h"

namespace laptime {
namespace {

// RLIMIT_AS, the largest address space a process may have ("ulimit -v"); empty when unlimited.
std::optional<int64_t> address_space_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int64_t>::max()));
}

std::string difference(int64_t limit, int64_t used) {
  return fmt::format("{} - {} in use", format_bytes(limit), format_bytes(used));
}

// Bytes that the C library maps for the stack of a thread.
int64_t stack_bytes() {
  constexpr int64_t kWithoutLimit = int64_t{2} << 20U;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kWithoutLimit;
  return static_cast<int64_t>(limit.rlim_cur);
}

}  // namespace

AvailableMemory smallest_bound(const MemoryBounds& bounds) {
  AvailableMemory smallest{std::numeric_limits<int64_t>::max(), "nothing known"};
  const auto consider = [&](int64_t bytes, const std::string& what) {
    if (bytes < smallest.bytes) smallest = {std::max<int64_t>(0, bytes), what};
  };
  if (bounds.mem_available) consider(*bounds.mem_available, "MemAvailable");
  for (const CgroupMemory& group : bounds.cgroups) {
    consider(group.limit - group.used,
             fmt::format("the memory limit of cgroup {}: {}", group.name, difference(group.limit, group.used)));
  }
  if (bounds.address_space_limit) {
    const int64_t used = bounds.address_space_used.value_or(0);
    const int64_t reserve = bounds.address_space_reserve;
    consider(*bounds.address_space_limit - used - reserve,
             fmt::format("the address space limit (ulimit -v): {}{}", difference(*bounds.address_space_limit, used),
                         reserve == 0 ? "" : fmt::format(" - {} for threads and libraries", format_bytes(reserve))));
  }
  return smallest;
}

MemoryBounds read_memory_bounds(const std::filesystem::path& root) {
  MemoryBounds bounds;
  if (const auto meminfo = read_text_file(root / "proc/meminfo")) {
    bounds.mem_available = line_bytes(*meminfo, "MemAvailable");
  }
  bounds.cgroups = memory_limits(cgroups_of("memory", root));
  bounds.address_space_limit = address_space_limit();
  if (const auto status = read_text_file(root / "proc/self/status")) {
    bounds.address_space_used = line_bytes(*status, "VmSize");
  }
  return bounds;
}

AvailableMemory available_memory() { return smallest_bound(read_memory_bounds()); }

AvailableMemory available_memory(int threads) {
  constexpr int64_t kLibraries = int64_t{16} << 20U;
  constexpr int64_t kOfEachThread = int64_t{16} << 20U;  // packed operands and generated code of libraries
  MemoryBounds bounds = read_memory_bounds();
  bounds.address_space_reserve = kLibraries + threads * (kOfEachThread + stack_bytes());
  return smallest_bound(bounds);
}

}  // namespace laptime
