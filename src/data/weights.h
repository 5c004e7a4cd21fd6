// StartingWeights: the initial weights of a run, generated from its seed or read from a safetensors file.
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
  // Error if the file `config.weights` lacks a parameter of the model, has it in another shape, or holds other tensors.
  // Names may start with `weight/`, and a position table may have more rows than the step uses.
  explicit StartingWeights(const RunConfig& config);

  // Elements [begin, begin + out.size()) of a parameter of `config.step_model()`, row-major. Threads may call it at the
  // same time.
  void fill(const ParameterSpec& parameter, int64_t begin, std::span<float> out) const;

 private:
  WeightInit init_;
  int64_t seed_;
  std::optional<SafetensorsFile> file_;
  std::string prefix_;  // prefix of all tensor names in the file
};

}  // namespace laptime
