// What the control groups of this process allow it: processor time and memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace laptime::cpu {

struct ControlGroupLimits {
  std::optional<double> cpus;          // processors' worth of time, 1.5; none: no quota
  std::optional<int64_t> memory_left;  // bytes; none: no limit
};

// The tightest limits on the way from the process's groups up to the root, version 2 and, where mounted, version 1.
// `root` is where the hierarchies are mounted, `membership` a file in the form of /proc/self/cgroup.
ControlGroupLimits control_group_limits(const std::filesystem::path& root = "/sys/fs/cgroup",
                                        const std::filesystem::path& membership = "/proc/self/cgroup");

}  // namespace laptime::cpu
