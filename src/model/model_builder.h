// ModelBuilder: a graph builder with which a model declares its parameters and inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "model/parameters.h"

namespace laptime {

struct DeclaredSource {
  ParameterSpec spec;
  ValueId value;
};

// The inputs of a language model.
struct TokenInputs {
  ValueId tokens;   // int64 (B, T)
  ValueId step;     // int64 [], counted from 1; keys dropout and the optimizer
  ValueId targets;  // int64 (B, T)
};

class ModelBuilder : public Builder {
 public:
  // `real` is the type of parameters and inputs; `seed` is the seed of dropout.
  explicit ModelBuilder(DType real, uint64_t seed = 0) : real_(real), seed_(seed) {}

  DType real() const { return real_; }
  uint64_t seed() const { return seed_; }

  // Declares a parameter of the current module; `spec.name` is relative to the module. The order of declaration is the
  // order of gradients, clipping and updates.
  ValueId parameter(ParameterSpec spec);
  // Declares a floating-point input with standard normal values, for which a gradient is computed too.
  ValueId input(const std::string& name, std::vector<int64_t> shape);
  // Declares the inputs of a language model; call it after all parameters are declared.
  TokenInputs token_inputs(int64_t batch_size, int64_t context_length);

  const std::vector<DeclaredSource>& parameters() const { return parameters_; }
  const std::vector<DeclaredSource>& inputs() const { return inputs_; }

 private:
  DeclaredSource declare(ParameterSpec spec, Role role);

  DType real_;
  uint64_t seed_;
  std::vector<DeclaredSource> parameters_;
  std::vector<DeclaredSource> inputs_;
};

}  // namespace laptime
