// Whether a point can be asked for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/run_config.h"

namespace laptime {

// Whether the sizes of a model fit, asked once for each model: the points of a sweep share few of them.
class SizeChecks {
 public:
  // Error where a tensor, the parameters or the FLOPs of the model do not fit 63 bits.
  void check(const ModelConfig& model);

 private:
  std::vector<std::pair<ModelConfig, std::string>> known_;  // and the reason; empty: they fit
};

// Error with the reason unless such a point can exist: ranges of options, what the model's card checks, options that
// contradict each other, and sizes (tensors, parameters, FLOPs) that fit 63 bits.
void validate(const RunConfig& config, SizeChecks& sizes);
void validate(const RunConfig& config);

}  // namespace laptime
