// Lists and differences of sensors over the measured steps.
#include "measure/device_sensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.h"

namespace laptime {

std::optional<DeviceSensors> sensors_of(const Measurement& run) {
  const auto first = static_cast<size_t>(run.sampling.warmup);
  if (first + 1 >= run.sensors.size()) return std::nullopt;
  // run.sensors[i] was read before step i.
  const Sensors& before = run.sensors[first];
  const Sensors& after = run.sensors.back();
  const size_t steps = run.sensors.size() - first - 1;
  DeviceSensors all;
  for (size_t i = first + 1; i < run.sensors.size(); ++i) {
    const Sensors& sensors = run.sensors[i];
    const auto add = [](std::vector<double>& list, const std::optional<double>& value) {
      if (value) list.push_back(*value);
    };
    add(all.clock_hz, sensors.clock_hz);
    add(all.memory_clock_hz, sensors.memory_clock_hz);
    add(all.power_watts, sensors.power_watts);
    add(all.temperature_celsius, sensors.temperature_celsius);
    for (const std::string& reason : sensors.slowed_by) ++all.slowed_steps[reason];
    if (sensors.other_processes)
      all.other_processes = std::max(all.other_processes.value_or(0), *sensors.other_processes);
  }
  if (before.joules && after.joules)
    all.joules_per_step = (*after.joules - *before.joules) / static_cast<double>(steps);
  if (before.uncorrected_errors && after.uncorrected_errors)
    all.uncorrected_errors = *after.uncorrected_errors - *before.uncorrected_errors;
  return all;
}

std::vector<std::string> reasons_of(const DeviceSensors& sensors, size_t steps) {
  std::vector<std::string> reasons;
  for (const auto& [reason, slowed] : sensors.slowed_steps)
    reasons.push_back(fmt::format("the device was slowed in {} of {}: {}", slowed, counted(steps, "step"), reason));
  if (const int64_t others = sensors.other_processes.value_or(0); others > 0)
    reasons.push_back(fmt::format("{} used the device too", counted(others, "other program")));
  if (const int64_t errors = sensors.uncorrected_errors.value_or(0); errors > 0)
    reasons.push_back(fmt::format("the memory of the device had {}", counted(errors, "uncorrected error")));
  return reasons;
}

}  // namespace laptime
