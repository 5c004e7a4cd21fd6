// Counters of the machine and the process: read before and after a run, they show what disturbed the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <vector>

#include "base/cgroup.h"
#include "base/key.h"
#include "base/units.h"

namespace laptime {

// Absolute counters, or their increase between two readings. A field is empty if the machine does not report it.
struct MachineState {
  std::optional<double> stolen_seconds;     // core seconds that the host took from the allowed cores, in 10 ms ticks
  std::optional<double> throttled_seconds;  // core seconds lost to a CPU quota
  std::optional<double> waiting_seconds;    // thread seconds during which a thread could run but had no core
  std::optional<int64_t> throttled_periods;
  std::optional<double> user_seconds;    // CPU time of all threads of the process
  std::optional<double> system_seconds;  // CPU time in the kernel
  std::optional<int64_t> involuntary_switches;
  std::optional<int64_t> minor_faults;  // pages touched for the first time
  std::optional<int64_t> major_faults;  // pages read from disk
  std::optional<double> load;           // one-minute average; not a counter

  LAPTIME_FIELDS((kSeconds, stolen_seconds, throttled_seconds, waiting_seconds), throttled_periods,
                 (kSeconds, user_seconds, system_seconds), involuntary_switches, minor_faults, major_faults, load)
};

// The constructor finds the relevant files and cores. read() takes about 50 us, so keep it out of timed code.
class MachineCounters {
 public:
  explicit MachineCounters(std::filesystem::path root = "/");
  MachineState read() const;
  // The number of cores that the process may use, whose stolen time read() sums; 0 if unknown.
  int64_t cores() const { return std::ssize(cores_); }

 private:
  std::filesystem::path root_;
  std::vector<int64_t> cores_;
  std::vector<Cgroup> cpu_groups_;
};

// The increase of each counter from `before` to `after`; the load is that of `after`.
MachineState change(const MachineState& before, const MachineState& after);

// `lost` (seconds from change()) as a fraction, 0 to 1, of the total thread time, `threads` * `wall`. None if `lost` is
// unknown or no time passed.
std::optional<double> lost_fraction(const std::optional<double>& lost, Seconds wall, int64_t threads);

}  // namespace laptime
