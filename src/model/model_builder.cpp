// Declares the sources of a model.
#include "model/model_builder.h"

#include <utility>

#include "model/train_step.h"

namespace laptime {

DeclaredSource ModelBuilder::declare(ParameterSpec spec, Role role) {
  if (!current.scope.empty()) spec.name = current.scope + "." + spec.name;
  spec.region = current.region;
  const ValueId value = source(spec.name, contiguous_type(real_, Shape(std::span(spec.shape))), role);
  return {std::move(spec), value};
}

ValueId ModelBuilder::parameter(ParameterSpec spec) {
  return parameters_.emplace_back(declare(std::move(spec), Role::kParameter)).value;
}

ValueId ModelBuilder::input(const std::string& name, std::vector<int64_t> shape) {
  const ParameterSpec spec{
      .name = name, .shape = std::move(shape), .init = {Distribution::kNormal, 1}, .stream = {.mean = 0, .std = 1}};
  return inputs_.emplace_back(declare(spec, Role::kInput)).value;
}

TokenInputs ModelBuilder::token_inputs(int64_t batch_size, int64_t context_length) {
  const TensorType ids = contiguous_type(DType::kInt64, {batch_size, context_length});
  TokenInputs inputs;
  inputs.tokens = source(source::kTokens, ids, Role::kInput);
  inputs.step = source(source::kStep, contiguous_type(DType::kInt64, {}), Role::kInput);
  inputs.targets = source(source::kTargets, ids, Role::kInput);
  return inputs;
}

}  // namespace laptime
