// The weights a run starts from: made from its seed, or read from a safetensors file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "config/run_config.h"
#include "data/safetensors.h"
#include "model/parameters.h"

namespace laptime {

class StartingWeights {
 public:
  // Error when `config.weights` names a file that does not hold the model's parameters, each under its name, with or
  // without `weight/` before it, in its shape. A position table may have more rows than the step uses.
  explicit StartingWeights(const RunConfig& config);

  // Elements [begin, begin + out.size()) of a parameter of `config.step_model()`, row-major; any range, from any
  // thread.
  void fill(const ParameterSpec& parameter, int64_t begin, std::span<float> out) const;

 private:
  WeightInit init_;
  int64_t seed_;
  std::optional<SafetensorsFile> file_;
  std::string prefix_;  // of the names in the file
};

}  // namespace laptime
