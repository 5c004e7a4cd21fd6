// Checks whether a point is valid.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/run_config.h"

namespace laptime {

// Checks the sizes of models and remembers the results, because many points of a sweep share a model.
class SizeChecks {
 public:
  // Throws Error if the bytes of a tensor, or of the parameters and their states, exceed 63 bits.
  void check(const ModelConfig& model);

 private:
  // Each model with its error, or with an empty string if the sizes fit.
  std::vector<std::pair<ModelConfig, std::string>> known_;
};

// Throws Error with the reason if the point is invalid. Checks the ranges of options, the rules of the model's card,
// options that exclude each other, and sizes.
void validate(const RunConfig& config, SizeChecks& sizes);
void validate(const RunConfig& config);

}  // namespace laptime
