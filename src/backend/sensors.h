// Sensors: readings of a device's sensors at one moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace laptime {

// Fields are empty if the device does not report them.
struct Sensors {
  std::optional<double> clock_hz;  // clock of the processor
  std::optional<double> memory_clock_hz;
  std::optional<double> power_watts;
  std::optional<double> temperature_celsius;
  std::optional<double> joules;               // energy used since an arbitrary start
  std::optional<int64_t> uncorrected_errors;  // memory errors since an arbitrary start
  std::optional<int64_t> other_processes;     // number of other processes that use the device
  std::vector<std::string> slowed_by;         // reasons for a reduced clock, such as "power cap"
};

}  // namespace laptime
