// Control groups, versions 1 and 2: the limits that the process's group and every group above it put on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace laptime {

// One group as a folder of control files.
struct Cgroup {
  std::filesystem::path folder;
  std::string name;  // "/a/b" below the mount point; "/" for the mount point itself
  bool version1 = false;
};

// The groups that the controller ("memory", "cpu") applies to this process, its own first, then up to the mount point.
// A controller named in a version 1 line of /proc/self/cgroup belongs to version 1, else to version 2. Where the path
// lies outside of what is mounted (a container that keeps its host's path), only the mount point is known. `root` is
// put before absolute paths.
std::vector<Cgroup> cgroups_of(std::string_view controller, const std::filesystem::path& root = "/");

// The pure part: from the text of /proc/self/cgroup and /proc/self/mountinfo; folders without a root before them.
std::vector<Cgroup> parse_cgroups(std::string_view controller, std::string_view cgroup, std::string_view mountinfo);

struct CgroupMemory {
  std::string name;
  int64_t limit = 0;  // bytes: memory.max, or memory.high where that is less
  // Bytes in use without inactive file pages, which the kernel gives up before it kills anyone. Where a group hides its
  // statistics they count as used.
  int64_t used = 0;
  bool is_soft = false;  // memory.high: beyond it the kernel slows the group down instead of killing it
};

// The groups that limit memory, in the order of `groups` (of controller "memory").
std::vector<CgroupMemory> memory_limits(const std::vector<Cgroup>& groups);

// The tightest CPU quota in units of cores ("1.5"), of controller "cpu"; empty without one.
std::optional<double> cpu_quota(const std::vector<Cgroup>& groups);

// How often and how long threads waited for a CPU quota, summed over threads and groups; empty where not counted.
struct Throttling {
  int64_t periods = 0;
  double seconds = 0;
};
std::optional<Throttling> read_throttling(const std::vector<Cgroup>& groups);

}  // namespace laptime
