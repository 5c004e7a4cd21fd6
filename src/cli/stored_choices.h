// The kernel choices that bench has stored, for commands that only read them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "record/store.h"

namespace laptime {

// Reads the choices for a device (device_key) from the store that `option`, the value of --store, names. None where
// there is no store yet; Error if the file cannot be read.
std::function<std::vector<KernelChoice>(const std::string& device)> stored_choices(const std::string& option);

}  // namespace laptime
