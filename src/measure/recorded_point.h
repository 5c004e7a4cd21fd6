// RecordedPoint: steps that another program runs, as the options of laptime record describe them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "config/run_config.h"
#include "config/system_config.h"
#include "points/resolve.h"
#include "prepare/device.h"

namespace laptime {

struct RecordedPoint {
  RunConfig config;              // resolved; says nothing of the model unless it is known
  bool knows_model = false;      // by --model, with batch and context
  std::optional<Device> device;  // whose measured peak the steps are held against; none where they ran elsewhere
  std::string name;              // "step/model:small/ctx:256/dtype:float32/batch:4/system:pytorch"
  std::string version;           // "pytorch 2.15.0"
  JsonObject stated;             // of a record's config: null for every option that nothing is known of
};

// Whether the option of this flag says anything about steps that laptime does not run: those of the model, and of the
// pass, the number type, the machine and the sampling.
bool describes_recorded_steps(std::string_view flag);

// Error for options that contradict each other or leave the point unclear: a system that is not named, a model without
// batch and context, dimensions or tokens beside the wrong options, a device that only predicts.
RecordedPoint recorded_point(const std::vector<GivenOption>& given, const SystemConfig& system);

}  // namespace laptime
