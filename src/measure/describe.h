// What a record states of the point, the machine and the program before anything has run.
#pragma once

#include "points/expand.h"
#include "prepare/device.h"
#include "record/machine.h"
#include "record/record.h"

namespace laptime {

// A record for a point that has no figures: everything that is known without running it.
Record describe_point(const SweepPoint& point);

// Tells this build of the program from any other: a hash of its own file.
Binary this_binary();

// Device, threads, math mode and machine as they turned out to be.
void describe_device(const Device& device, Record& record);

}  // namespace laptime
