// Counters of the machine and the process that show what disturbs a run, read before and after it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/cgroup.h"
#include "base/key.h"
#include "base/units.h"

namespace laptime {

// Counters since some beginning, or what they grew by. Empty where the machine does not count.
struct MachineState {
  std::optional<double> stolen_seconds;     // core seconds that the host took from the allowed cores, in ticks of 10 ms
  std::optional<double> throttled_seconds;  // thread seconds that a CPU quota took
  std::optional<double> waiting_seconds;    // thread seconds in which a thread could run and had no core
  std::optional<int64_t> throttled_periods;
  std::optional<double> user_seconds;    // CPU time of all threads of the process, like those below
  std::optional<double> system_seconds;  // likewise, in the kernel
  std::optional<int64_t> involuntary_switches;
  std::optional<int64_t> minor_faults;  // pages touched for the first time
  std::optional<int64_t> major_faults;  // pages read from a disk
  std::optional<double> load;           // average of one minute, as it is; not a counter

  LAPTIME_FIELDS((kSeconds, stolen_seconds, throttled_seconds, waiting_seconds), throttled_periods,
                 (kSeconds, user_seconds, system_seconds), involuntary_switches, minor_faults, major_faults, load)
};

// Reads the counters; finds out once which files and cores are concerned. Takes some 50 us: outside of what is timed.
class MachineCounters {
 public:
  explicit MachineCounters(std::filesystem::path root = "/");
  MachineState read() const;

 private:
  std::filesystem::path root_;
  std::vector<int64_t> cores_;
  std::vector<Cgroup> cpu_groups_;
};

// The growth of each counter from `before` to `after`; the load is that of `after`.
MachineState change(const MachineState& before, const MachineState& after);

// The part of the time of `threads` threads during `wall` that `lost`, thread seconds of a change(), is: 0 ... 1. Empty
// where it is unknown or no time passed.
std::optional<double> lost_fraction(const std::optional<double>& lost, Seconds wall, int64_t threads);

}  // namespace laptime
