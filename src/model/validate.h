// Checks whether a point is valid.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/run_config.h"

namespace laptime {

// Checks the sizes of models and remembers the result, because many points of a sweep share one model.
class SizeChecks {
 public:
  // Error if a tensor, the parameters or the FLOPs of the model do not fit 63 bits.
  void check(const ModelConfig& model);

 private:
  std::vector<std::pair<ModelConfig, std::string>> known_;  // with the reason, or empty if the sizes fit
};

// Error with the reason unless the point is valid. Checks the ranges of options, the rules of the model's card, options
// that exclude each other, and sizes.
void validate(const RunConfig& config, SizeChecks& sizes);
void validate(const RunConfig& config);

}  // namespace laptime
