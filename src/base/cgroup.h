// Control groups, versions 1 and 2: memory limits, CPU quotas and throttling of the process's group and its ancestors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace laptime {

// One group, as a folder of control files.
struct Cgroup {
  std::filesystem::path folder;
  std::string name;  // "/a/b" below the mount point; "/" for the mount point itself
  bool version1 = false;
};

// The groups through which the controller ("memory", "cpu") limits this process, from its own group up to the mount
// point. A controller belongs to version 1 if a version 1 line of /proc/self/cgroup names it, otherwise to version 2.
// If the path is outside the mounted tree (in a container that keeps its host's path), only the mount point is known.
// `root` is prepended to absolute paths.
std::vector<Cgroup> cgroups_of(std::string_view controller, const std::filesystem::path& root = "/");

// Like cgroups_of(), from the contents of /proc/self/cgroup and /proc/self/mountinfo; folders have no root prefix.
std::vector<Cgroup> parse_cgroups(std::string_view controller, std::string_view cgroup, std::string_view mountinfo);

struct CgroupMemory {
  std::string name;
  int64_t limit = 0;  // bytes: memory.max (version 1: memory.limit_in_bytes), or memory.high if that is smaller
  // Bytes in use, not counting inactive file pages, which the kernel reclaims before it kills a process. If a group
  // hides its statistics, inactive file pages count as used.
  int64_t used = 0;
  bool is_soft = false;  // memory.high: above it the kernel slows the group down instead of killing it
};

// The groups that limit memory, in the order of `groups` (for the controller "memory").
std::vector<CgroupMemory> memory_limits(const std::vector<Cgroup>& groups);

// The tightest CPU quota of `groups` (of the controller "cpu") in cores, for example 1.5; none if there is no quota.
std::optional<double> cpu_quota(const std::vector<Cgroup>& groups);

// How often and how long CPU quotas stopped threads, summed over groups.
struct Throttling {
  int64_t periods = 0;  // scheduling periods in which a group used up its quota
  double seconds = 0;   // how long threads were stopped, summed over cores
};
// None if no group counts throttling.
std::optional<Throttling> read_throttling(const std::vector<Cgroup>& groups);

}  // namespace laptime
