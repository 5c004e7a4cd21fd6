// Describes a point before it runs, and computes the identity that determines whether two runs measure the same thing.
#pragma once

#include <string>

#include "base/machine.h"
#include "config/run_config.h"
#include "prepare/device.h"
#include "prepare/resolved_point.h"
#include "record/record.h"

namespace laptime {

// A text of everything that affects the result: the options after unset ones are resolved, the instruction set and
// arithmetic of the device, the threads, and the cores on which the threads may run. A file is represented by its
// content instead of its name, so that renaming a file keeps the identity and editing a file changes it; a machine file
// is represented by both, because its name is the device's. Reads the files of --data, --weights, --kernels and
// --device. For a file that cannot be read, and for the device if `device` is null, the option's value is used.
std::string identity_text(const RunConfig& config, const Device* device);

// The part of identity_text() that depends on the content of the files of --data and --weights.
std::string input_hashes(const RunConfig& config);

// A record of the point without measurements. Does not read the files that the point names, so the record has no
// config_hash.
Record describe_planned(const SweepPoint& point);
// Like describe_planned; adds the tokens of --data, and as config_hash the hash of identity_text() for this machine.
Record describe_point(const ResolvedPoint& point);

// An id unique to one run of the program, made from the current time and the process id.
std::string new_run_id();

// Identifies this build of the program by a hash of its executable file.
Binary this_binary();

// Adds the machine, including the frequency of a core and the quality of the host's clock, and the device and threads
// that will be used.
void describe_device(const Device& device, Record& record);

// For steps that another program ran: adds the date, the machine without the properties of this process, and the
// version of laptime that records the steps.
void describe_machine_alone(Record& record);

}  // namespace laptime
