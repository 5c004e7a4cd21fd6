// A configuration as the `config` object of a record.
#pragma once

#include "config/run_config.h"
#include "record/json_object.h"

namespace laptime {

// Every option by its key: numbers and switches as such, words as text, an option that is not set as null.
JsonObject config_json(const RunConfig& config);

}  // namespace laptime
