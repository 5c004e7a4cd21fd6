// Reads the allowed hardware threads, their caches and the default number of threads from /proc, /sys and the initial
// environment.
#include "base/cores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/cgroup.h"
#include "base/proc_text.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

// Returns the value of an environment variable; none unless it is a positive number.
std::optional<int64_t> variable(const fs::path& root, std::string_view name) {
  const std::optional<std::string> environment = read_text_file(root / "proc/self/environ");
  if (!environment) return std::nullopt;
  for (const std::string_view entry : split(*environment, '\0')) {
    if (!entry.starts_with(name) || entry.substr(name.size(), 1) != "=") continue;
    const std::string_view value = entry.substr(name.size() + 1);
    const std::optional<int64_t> number = parse_int64(trim(value.substr(0, value.find(','))));
    return number && *number > 0 ? number : std::nullopt;
  }
  return std::nullopt;
}

// Number of physical cores that contain these hardware threads. A hardware thread whose core is unknown counts as a
// core of its own.
int64_t physical_cores(const std::vector<int64_t>& hardware_threads, const fs::path& root) {
  std::set<int64_t> cores;  // each identified by its first hardware thread
  for (const int64_t thread : hardware_threads) {
    const fs::path topology = root / fmt::format("sys/devices/system/cpu/cpu{}/topology", thread);
    const std::vector<int64_t> siblings = parse_cpu_list(read_word(topology / "thread_siblings_list").value_or(""));
    cores.insert(siblings.empty() ? thread : siblings.front());
  }
  return static_cast<int64_t>(cores.size());
}

}  // namespace

std::vector<int64_t> allowed_cores(const fs::path& root) {
  std::vector<int64_t> online = parse_cpu_list(read_word(root / "sys/devices/system/cpu/online").value_or(""));
  const std::optional<std::string> status = read_text_file(root / "proc/self/status");
  const std::optional<std::string> list = status ? line_value(*status, "Cpus_allowed_list") : std::nullopt;
  if (!list) return online;
  // The mask may contain hardware threads that are offline, or that a virtual machine could get later.
  const std::vector<int64_t> allowed = parse_cpu_list(*list);
  std::vector<int64_t> usable;
  std::ranges::set_intersection(allowed, online, std::back_inserter(usable));
  return usable.empty() ? allowed : usable;
}

std::vector<Cache> data_caches(int64_t hardware_thread, const fs::path& root) {
  constexpr int kMost = 8;
  const fs::path folder = root / fmt::format("sys/devices/system/cpu/cpu{}/cache", hardware_thread);
  std::vector<Cache> caches;
  for (int index = 0; index < kMost; ++index) {
    const fs::path cache = folder / fmt::format("index{}", index);
    const std::string type = read_word(cache / "type").value_or("");
    const std::optional<int64_t> level = parse_int64(read_word(cache / "level").value_or(""));
    if (!level || (type != "Data" && type != "Unified")) continue;
    caches.push_back({*level, parse_cache_size(read_word(cache / "size").value_or("")),
                      read_word(cache / "shared_cpu_list").value_or("")});
  }
  return caches;
}

std::optional<int64_t> cache_bytes(int64_t threads, const fs::path& root) {
  std::map<int64_t, std::map<std::string, int64_t>> levels;  // bytes by level and by the threads that share the cache
  for (const int64_t thread : allowed_cores(root)) {
    for (const Cache& cache : data_caches(thread, root)) {
      const std::string users = cache.users.empty() ? fmt::format("{}", thread) : cache.users;
      if (cache.level >= 2 && cache.bytes) levels[cache.level][users] = *cache.bytes;
    }
  }
  if (levels.empty()) return std::nullopt;
  int64_t total = 0;
  for (const auto& [level, caches] : levels) {
    std::vector<int64_t> bytes;
    for (const auto& [users, size] : caches) bytes.push_back(size);
    std::sort(bytes.begin(), bytes.end(), std::greater());
    bytes.resize(std::min(bytes.size(), static_cast<size_t>(threads)));
    total = std::accumulate(bytes.begin(), bytes.end(), total);
  }
  return total;
}

DefaultThreads default_threads(const fs::path& root) {
  std::vector<int64_t> allowed = allowed_cores(root);
  if (allowed.empty()) allowed.push_back(0);
  const auto most = static_cast<int64_t>(allowed.size());
  const auto chosen = [&](int64_t threads, std::string reason) {
    return DefaultThreads{static_cast<int>(threads), std::move(reason), threads < most};
  };
  if (const std::optional<int64_t> asked = variable(root, "OMP_NUM_THREADS"))
    return chosen(std::min(*asked, most), "OMP_NUM_THREADS");
  const int64_t cores = physical_cores(allowed, root);
  DefaultThreads found = chosen(cores, fmt::format("{} {}{}", cores, cores == 1 ? "core" : "cores",
                                                   cores == most ? "" : fmt::format(" of {} hardware threads", most)));
  if (const std::optional<double> quota = cpu_quota(cgroups_of("cpu", root))) {
    const auto whole = std::max<int64_t>(1, static_cast<int64_t>(std::floor(std::min(*quota, 1e6))));
    if (whole < found.threads) found = chosen(whole, fmt::format("a CPU quota of {:.3g} cores", *quota));
  }
  const std::optional<int64_t> of_task = variable(root, "SLURM_CPUS_PER_TASK");
  if (of_task && *of_task < found.threads) found = chosen(*of_task, "SLURM_CPUS_PER_TASK");
  return found;
}

}  // namespace laptime
