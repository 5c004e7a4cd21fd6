// The identity of a point: the text that decides whether two runs measure the same.
#pragma once

#include <string>

#include "config/run_config.h"
#include "prepare/device.h"
#include "record/record.h"

namespace laptime {

// The options that change the result, as they are resolved here: the device with its instruction set and arithmetic,
// the threads, and the cores they may run on. A file is represented by its content instead of its name, so that
// renaming it keeps the identity and editing it changes the identity. Reads the files of --data, --weights and
// --kernels; a file that cannot be read is represented as asked for, and so is the device where `device` is null.
std::string identity_text(const RunConfig& config, const Device* device);

// The tokens of --data, as a pass over its files shows them; empty where there are none, or a file cannot be read.
DataUse describe_data(const RunConfig& config);

}  // namespace laptime
