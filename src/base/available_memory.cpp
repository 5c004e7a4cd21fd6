// Reads and compares the bounds on memory.
#include "base/available_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <limits>

#include "base/proc_text.h"
#include "base/units.h"

namespace laptime {
namespace {

// A limit of this process in bytes; empty if unlimited.
std::optional<int64_t> limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int64_t>::max()));
}

std::string difference(int64_t limit, int64_t used) {
  return fmt::format("{} - {} in use", format_bytes(limit), format_bytes(used));
}

// Bytes that the C library maps for a thread's stack.
int64_t stack_bytes() {
  constexpr int64_t kWithoutLimit = int64_t{2} << 20U;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kWithoutLimit;
  return static_cast<int64_t>(limit.rlim_cur);
}

}  // namespace

std::string AvailableMemory::text() const {
  return bytes ? fmt::format("{} available ({})", format_bytes(*bytes), bound_by) : "available memory unknown";
}

AvailableMemory smallest_bound(const MemoryBounds& bounds) {
  AvailableMemory smallest;
  const auto consider = [&](int64_t bytes, const std::string& what) {
    if (!smallest.bytes || bytes < *smallest.bytes) smallest = {std::max<int64_t>(0, bytes), what};
  };
  if (bounds.mem_available) {
    consider(*bounds.mem_available, "MemAvailable");
  } else if (bounds.free_memory) {
    consider(*bounds.free_memory, "free memory");
  }
  for (const CgroupMemory& group : bounds.cgroups) {
    consider(group.limit - group.used,
             fmt::format("{} of cgroup {}: {}", group.is_soft ? "memory.high" : "the memory limit", group.name,
                         difference(group.limit, group.used)));
  }
  const auto consider_limit = [&](const char* name, std::optional<int64_t> limit, std::optional<int64_t> in_use) {
    if (!limit) return;
    const int64_t used = in_use.value_or(0);
    const std::string reserve =
        bounds.reserve == 0 ? "" : fmt::format(" - {} for threads and libraries", format_bytes(bounds.reserve));
    consider(*limit - used - bounds.reserve, fmt::format("{}: {}{}", name, difference(*limit, used), reserve));
  };
  consider_limit("the address space limit (ulimit -v)", bounds.address_space_limit, bounds.address_space_used);
  consider_limit("the data limit (ulimit -d)", bounds.data_limit, bounds.data_used);
  return smallest;
}

MemoryBounds read_memory_bounds(const std::filesystem::path& root) {
  MemoryBounds bounds;
  if (const auto meminfo = read_text_file(root / "proc/meminfo")) {
    bounds.mem_available = line_bytes(*meminfo, "MemAvailable");
  }
  struct sysinfo system {};
  if (!bounds.mem_available && root == "/" && ::sysinfo(&system) == 0)
    bounds.free_memory = static_cast<int64_t>((uint64_t{system.freeram} + system.bufferram) * system.mem_unit);
  bounds.cgroups = memory_limits(cgroups_of("memory", root));
  bounds.address_space_limit = limit_of(RLIMIT_AS);
  bounds.data_limit = limit_of(RLIMIT_DATA);
  if (const auto status = read_text_file(root / "proc/self/status")) {
    bounds.address_space_used = line_bytes(*status, "VmSize");
    bounds.data_used = line_bytes(*status, "VmData");
  }
  return bounds;
}

int64_t thread_bytes() {
  constexpr int64_t kBesideStack = int64_t{8} << 20U;  // for a malloc arena and buffers
  return stack_bytes() + kBesideStack;
}

AvailableMemory available_memory() { return smallest_bound(read_memory_bounds()); }

AvailableMemory available_memory(int threads) {
  constexpr int64_t kLibraries = int64_t{16} << 20U;
  constexpr int64_t kPackedOperands = int64_t{8} << 20U;  // per thread
  MemoryBounds bounds = read_memory_bounds();
  bounds.reserve = kLibraries + threads * (kPackedOperands + thread_bytes());
  return smallest_bound(bounds);
}

}  // namespace laptime
