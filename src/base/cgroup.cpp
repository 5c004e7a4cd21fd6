// Reads the tree of control groups from files.
#include "base/cgroup.h"

#include <algorithm>
#include <cstddef>

#include "base/proc_text.h"
#include "base/ranges.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

// A mounted hierarchy and the group at its mount point ("/" unless a container sees only a part of the tree).
struct Mount {
  std::string mounted_group;
  std::string point;
  bool version1 = false;
};

// mountinfo escapes space, tab, line feed and backslash as \ooo.
std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto is_octal = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
    if (text[i] == '\\' && is_octal(i + 1) && is_octal(i + 2) && is_octal(i + 3)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Parses a line of mountinfo: id parent device group point options [fields...] - type source superoptions
std::optional<Mount> parse_mount(std::string_view line, std::string_view controller, bool version1) {
  const std::vector<std::string_view> words = split(line, ' ');
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 10 || words.end() - dash < 4) return std::nullopt;
  const std::string_view type = *(dash + 1);
  const std::string_view options = *(dash + 3);
  const bool fits = version1 ? type == "cgroup" && is_among(controller, split(options, ',')) : type == "cgroup2";
  if (!fits) return std::nullopt;
  return Mount{unescape(words[3]), unescape(words[4]), version1};
}

// Returns `path` relative to `mounted_group`: "" for that group itself, none if `path` is outside it.
std::optional<std::string> below(const std::string& path, const std::string& mounted_group) {
  if (path.find("/..") != std::string::npos) return std::nullopt;
  if (mounted_group == "/") return path == "/" ? "" : path;
  if (path == mounted_group) return "";
  if (path.size() > mounted_group.size() && path.compare(0, mounted_group.size(), mounted_group) == 0 &&
      path[mounted_group.size()] == '/') {
    return path.substr(mounted_group.size());
  }
  return std::nullopt;
}

// The process's group and those of its ancestors that are visible in the mount.
std::vector<Cgroup> chain(const Mount& mount, const std::string& path) {
  std::string name = below(path, mount.mounted_group).value_or("");
  std::vector<Cgroup> groups;
  while (true) {
    groups.push_back({mount.point + name, name.empty() ? "/" : name, mount.version1});
    if (name.empty()) return groups;
    name.resize(name.rfind('/'));
  }
}

std::optional<int64_t> read_number(const fs::path& path) {
  const auto word = read_word(path);
  return word ? parse_int64(*word) : std::nullopt;  // "max" is not a number: no limit
}

std::optional<double> quota_of(const Cgroup& group) {
  std::optional<int64_t> quota;
  std::optional<int64_t> period;
  if (group.version1) {
    quota = read_number(group.folder / "cpu.cfs_quota_us");
    period = read_number(group.folder / "cpu.cfs_period_us");
  } else if (const auto text = read_word(group.folder / "cpu.max")) {
    const std::vector<std::string_view> words = split(*text, ' ');
    if (words.size() == 2) {
      quota = parse_int64(words[0]);
      period = parse_int64(words[1]);
    }
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;  // version 1 writes -1 for "no quota"
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

std::vector<Cgroup> parse_cgroups(std::string_view controller, std::string_view cgroup, std::string_view mountinfo) {
  // Each line is "hierarchy-id:controllers:path"; the line of version 2 is "0::path".
  std::optional<std::string> path1;
  std::optional<std::string> path2;
  for (const std::string_view line : split(cgroup, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(trim(line.substr(second + 1)));
    if (path.empty() || path.front() != '/') continue;
    if (controllers.empty()) path2 = path;
    if (is_among(controller, split(controllers, ','))) path1 = path;
  }
  const std::optional<std::string>& path = path1 ? path1 : path2;
  if (!path) return {};
  for (const std::string_view line : split(mountinfo, '\n')) {
    if (const auto mount = parse_mount(line, controller, path1.has_value())) return chain(*mount, *path);
  }
  return {};
}

std::vector<Cgroup> cgroups_of(std::string_view controller, const fs::path& root) {
  const auto cgroup = read_text_file(root / "proc/self/cgroup");
  const auto mountinfo = read_text_file(root / "proc/self/mountinfo");
  if (!cgroup || !mountinfo) return {};
  std::vector<Cgroup> groups = parse_cgroups(controller, *cgroup, *mountinfo);
  for (Cgroup& group : groups) group.folder = root / group.folder.relative_path();
  return groups;
}

std::vector<CgroupMemory> memory_limits(const std::vector<Cgroup>& groups) {
  // Limits from this value on mean "no limit", which version 1 reports as the largest multiple of the page size.
  constexpr int64_t kUnlimited = int64_t{1} << 60U;
  std::vector<CgroupMemory> limits;
  for (const Cgroup& group : groups) {
    std::optional<int64_t> limit =
        read_number(group.folder / (group.version1 ? "memory.limit_in_bytes" : "memory.max"));
    const auto high = group.version1 ? std::nullopt : read_number(group.folder / "memory.high");
    const bool is_soft = high && (!limit || *high < *limit);
    if (is_soft) limit = high;
    const auto usage = read_number(group.folder / (group.version1 ? "memory.usage_in_bytes" : "memory.current"));
    if (!limit || *limit < 0 || *limit >= kUnlimited) continue;
    const auto statistics = read_text_file(group.folder / "memory.stat");
    const char* inactive_key = group.version1 ? "total_inactive_file" : "inactive_file";
    const auto inactive = statistics ? line_bytes(*statistics, inactive_key) : std::nullopt;
    limits.push_back({group.name, *limit, std::max<int64_t>(0, usage.value_or(0) - inactive.value_or(0)), is_soft});
  }
  return limits;
}

std::optional<double> cpu_quota(const std::vector<Cgroup>& groups) {
  std::optional<double> tightest;
  for (const Cgroup& group : groups) {
    const auto quota = quota_of(group);
    if (quota && (!tightest || *quota < *tightest)) tightest = quota;
  }
  return tightest;
}

std::optional<Throttling> read_throttling(const std::vector<Cgroup>& groups) {
  std::optional<Throttling> all;
  for (const Cgroup& group : groups) {
    const auto text = read_text_file(group.folder / "cpu.stat");
    if (!text) continue;
    const auto periods = line_number(*text, "nr_throttled");
    const auto time = line_number(*text, group.version1 ? "throttled_time" : "throttled_usec");
    if (!periods || !time) continue;
    if (!all) all.emplace();
    all->periods += *periods;
    all->seconds += static_cast<double>(*time) * (group.version1 ? 1e-9 : 1e-6);
  }
  return all;
}

}  // namespace laptime
