// DeviceSensors: what the sensors of a device showed during the samples of a run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/key.h"

namespace laptime {

// Lists have an element for each measured step, read after it; empty where the device does not say.
struct DeviceSensors {
  std::vector<double> clock_hz;  // of the processor
  std::vector<double> memory_clock_hz;
  std::vector<double> power_watts;
  std::vector<double> temperature_celsius;
  std::optional<double> joules_per_step;
  std::map<std::string, int64_t> slowed_steps;  // by the reason of a lower clock: after how many steps it held
  std::optional<int64_t> other_processes;       // most that used the device at once
  std::optional<int64_t> uncorrected_errors;    // of the memory, during the samples

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("clock_hz", self.clock_hz);
    visit("memory_clock_hz", self.memory_clock_hz);
    visit("power_watts", self.power_watts);
    visit("temperature_celsius", self.temperature_celsius);
    visit("joules_per_step", self.joules_per_step);
    visit("slowed_steps", self.slowed_steps);
    visit("other_processes", self.other_processes);
    visit("uncorrected_errors", self.uncorrected_errors);
  }
};

}  // namespace laptime
