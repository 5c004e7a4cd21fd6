// Reading of cpu.max, memory.max and their version 1 forms.
#include "backend/cpu/control_groups.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace laptime::cpu {
namespace {

namespace fs = std::filesystem;

// The first number of a file; none for "max", for what is no number, and where there is no file.
std::optional<int64_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// The number behind `key` in a file of lines "key number".
int64_t number_behind(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  std::string name;
  int64_t value = 0;
  while (file >> name >> value) {
    if (name == key) return value;
  }
  return 0;
}

template <class T>
void tighten(std::optional<T>& limit, T value) {
  limit = limit ? std::min(*limit, value) : value;
}

// Page cache that the kernel drops on demand counts as used, though it is there for the taking.
void tighten_memory(ControlGroupLimits& limits, std::optional<int64_t> limit, std::optional<int64_t> used,
                    int64_t reclaimable) {
  constexpr int64_t kNoLimit = int64_t{1} << 60;  // version 1 writes "no limit" as a number near 2^63
  if (!limit || *limit >= kNoLimit) return;
  tighten(limits.memory_left, std::max<int64_t>(0, *limit - used.value_or(0) + reclaimable));
}

void tighten_cpus(ControlGroupLimits& limits, std::optional<int64_t> quota, std::optional<int64_t> period) {
  if (quota && period && *quota > 0 && *period > 0)
    tighten(limits.cpus, static_cast<double>(*quota) / static_cast<double>(*period));
}

void read_version_2(ControlGroupLimits& limits, const fs::path& group) {
  tighten_memory(limits, number_in(group / "memory.max"), number_in(group / "memory.current"),
                 number_behind(group / "memory.stat", "inactive_file"));
  std::ifstream file(group / "cpu.max");  // "quota period" or "max period"
  int64_t quota = 0;
  int64_t period = 0;
  if (file >> quota >> period) tighten_cpus(limits, quota, period);
}

void read_version_1(ControlGroupLimits& limits, const fs::path& group) {
  tighten_memory(limits, number_in(group / "memory.limit_in_bytes"), number_in(group / "memory.usage_in_bytes"),
                 number_behind(group / "memory.stat", "total_inactive_file"));
  tighten_cpus(limits, number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us"));
}

// `read` on each group from the one at `path` up to the mount itself. Groups that this mount does not show (a container
// sees its own as the root) hold no files and so no limits.
template <class Read>
void up_the_tree(const fs::path& mount, const std::string& path, const Read& read) {
  fs::path group = fs::path(path).relative_path();
  for (;;) {
    read(mount / group);
    if (!group.has_relative_path()) return;
    group = group.parent_path();
  }
}

}  // namespace

ControlGroupLimits control_group_limits(const fs::path& root, const fs::path& membership) {
  ControlGroupLimits limits;
  std::ifstream file(membership);
  std::string line;  // "0::/user.slice" for version 2, "4:memory:/jobs/7" or "3:cpu,cpuacct:/" for version 1
  while (std::getline(file, line)) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      for (const fs::path& mount : {root, root / "unified"}) {
        up_the_tree(mount, path, [&](const fs::path& group) { read_version_2(limits, group); });
      }
      continue;
    }
    up_the_tree(root / controllers, path, [&](const fs::path& group) { read_version_1(limits, group); });
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');) {
      up_the_tree(root / name, path, [&](const fs::path& group) { read_version_1(limits, group); });
    }
  }
  return limits;
}

}  // namespace laptime::cpu
