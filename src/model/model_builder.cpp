// Declares the sources of a model.
#include "model/model_builder.h"

#include <algorithm>
#include <utility>

#include "graph/structural_ops.h"
#include "model/train_step.h"
#include "ops/collective/collective.h"

namespace laptime {

DeclaredSource ModelBuilder::declare(ParameterSpec spec, Role role) {
  if (!current.scope.empty()) spec.name = current.scope + "." + spec.name;
  spec.region = current.region;
  const Shape shape{std::span(spec.shape)};
  const bool is_divided = share_.shard == Shard::kParameters && share_.divides(shape.product());
  if (role != Role::kParameter || !is_divided) {
    const ValueId value = source(spec.name, contiguous_type(real_, shape), role);
    return {std::move(spec), value, {}};
  }
  const ValueId shard = source(spec.name, contiguous_type(real_, {shape.product() / share_.ranks}), role);
  const ValueId gathered = emit_one(kAllGather, GroupAttributes{share_.ranks, share_.rank}, {shard});
  const ValueId value = reshape(*this, gathered, shape);
  mark_role(value, role);
  annotate(value, {spec.name, {}, spec.region});
  return {std::move(spec), value, shard};
}

void ModelBuilder::select(const MicroBatch& micro_batch) {
  micro_batch_ = micro_batch.index;
  rows_ = micro_batch;
}

std::string ModelBuilder::function(const char* name) const {
  return micro_batch_ == 0 ? name : fmt::format("{}#{}", name, micro_batch_);
}

ValueId ModelBuilder::parameter(ParameterSpec spec) {
  if (micro_batch_ > 0) {
    const std::string name = current.scope.empty() ? spec.name : current.scope + "." + spec.name;
    const auto found = std::ranges::find_if(parameters_, [&](const auto& one) { return one.spec.name == name; });
    LAPTIME_CHECK(found != parameters_.end(), "no parameter {} in the first micro-batch", name);
    return found->value;
  }
  return parameters_.emplace_back(declare(std::move(spec), Role::kParameter)).value;
}

ValueId ModelBuilder::input(const std::string& name, std::vector<int64_t> shape) {
  const ParameterSpec spec{
      .name = name, .shape = std::move(shape), .init = {Distribution::kNormal, 1}, .stream = {.mean = 0, .std = 1}};
  return inputs_.emplace_back(declare(spec, Role::kInput)).value;
}

TokenInputs ModelBuilder::token_inputs(int64_t batch_size, int64_t context_length) {
  TokenInputs inputs;
  if (micro_batch_ > 0) {
    inputs = {graph().find_source(source::kTokens), graph().find_source(source::kStep),
              graph().find_source(source::kTargets)};
    return part_of(inputs);
  }
  const TensorType ids = contiguous_type(DType::kInt64, {rows_ ? rows_->batch_size : batch_size, context_length});
  inputs.tokens = source(source::kTokens, ids, Role::kInput);
  inputs.step = source(source::kStep, contiguous_type(DType::kInt64, {}), Role::kInput);
  inputs.targets = source(source::kTargets, ids, Role::kInput);
  return rows_ ? part_of(inputs) : inputs;
}

TokenInputs ModelBuilder::part_of(const TokenInputs& whole) {
  const int64_t count = rows_->end - rows_->begin;
  return {slice(*this, whole.tokens, 0, rows_->begin, count), whole.step,
          slice(*this, whole.targets, 0, rows_->begin, count)};
}

}  // namespace laptime
