// Summarises the sensor readings of a run for its record.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "measure/measurement.h"
#include "record/machine.h"

namespace laptime {

// Of the measured steps; nothing where the device has no sensors.
std::optional<DeviceSensors> sensors_of(const Measurement& run);

// "the device was slowed in 3 of 20 steps: power cap", and so on; empty where nothing is to be said.
std::vector<std::string> reasons_of(const DeviceSensors& sensors, size_t steps);

}  // namespace laptime
