// Describes a point before it runs, and the identity that decides whether two runs measure the same.
#pragma once

#include <string>

#include "base/machine.h"
#include "config/run_config.h"
#include "prepare/device.h"
#include "prepare/resolved_point.h"
#include "record/record.h"

namespace laptime {

// The options that change the result, as they are resolved here: the device with its instruction set and arithmetic,
// the threads, and the cores they may run on. A file is represented by its content instead of its name, so that
// renaming it keeps the identity and editing it changes the identity. Reads the files of --data, --weights and
// --kernels; a file that cannot be read is represented as asked for, and so is the device where `device` is null.
std::string identity_text(const RunConfig& config, const Device* device);

// A record of the point without measurements. It reads no file, so it has no config_hash.
Record describe_planned(const SweepPoint& point);
// Adds the tokens of --data and the config_hash of what the point resolves to now (identity_text).
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
