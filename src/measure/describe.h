// Fills the fields of a record that are known before the point runs.
#pragma once

#include <string>

#include "prepare/resolved_point.h"
#include "record/machine.h"
#include "record/record.h"

namespace laptime {

// A record of the point without measurements. It reads no file, so it has no config_hash.
Record describe_planned(const SweepPoint& point);
// Adds the tokens of --data and the config_hash of what the point resolves to now (measure/identity.h).
Record describe_point(const ResolvedPoint& point);

// Identifies one command among all: its date and its process.
std::string new_run_id();

// Identifies this build of the program, with a hash of its executable file.
Binary this_binary();

// Adds the machine and the device, threads and math mode that will be used.
void describe_device(const Device& device, Record& record);

// Adds the machine as it is for another program, without what is true of this one alone, and the date. States which
// laptime recorded it.
void describe_machine_alone(Record& record);

}  // namespace laptime
