// Fills the fields of a record that are known before the point runs.
#pragma once

#include "points/expand.h"
#include "prepare/device.h"
#include "record/machine.h"
#include "record/record.h"

namespace laptime {

// A record of the point without measurements. It reads no file, so it has no config_hash.
Record describe_planned(const SweepPoint& point);
// The same with the config_hash of what the point resolves to now (measure/identity.h).
Record describe_point(const SweepPoint& point);

// Identifies this build of the program, with a hash of its executable file.
Binary this_binary();

// Adds the machine and the device, threads and math mode that will be used.
void describe_device(const Device& device, Record& record);

}  // namespace laptime
