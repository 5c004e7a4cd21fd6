// Assembly of the step around the model.
#include "model/train_step.h"

#include "config/parameters.h"
#include "graph/structural_ops.h"
#include "model/attention.h"
#include "model/gpt.h"
#include "ops/adamw/adamw.h"
#include "ops/clip_grad_norm/clip_grad_norm.h"
#include "ops/pointwise/pointwise.h"

namespace laptime {
namespace {

AdamRule rule_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::k2025: return AdamRule::k2025;
    case Optimizer::k2026: return AdamRule::k2026;
    case Optimizer::kTorch: return AdamRule::kTorch;
  }
  return AdamRule::k2025;
}

struct Parameter {
  std::string name;
  ValueId value;
};

// The gradients' next values where they are kept between steps.
void accumulate(Builder& build, const std::vector<Parameter>& parameters, std::vector<ValueId>& grads) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto scope = build.scope(parameters[i].name);
    const ValueId kept =
        build.source(source::kGradient + parameters[i].name, build.type(parameters[i].value), Role::kGradient);
    grads[i] = assign(build, kept, add(build, kept, grads[i]));
  }
}

void update(Builder& build, const RunConfig& config, const std::vector<Parameter>& parameters,
            std::vector<ValueId> grads, ValueId step) {
  build.current = {Phase::kOptimizer, {}, {}, false};
  if (config.clip_norm) {
    const auto scope = build.scope("clip_grad_norm");
    const ClippedGradients clipped = clip_grad_norm(build, grads, *config.clip_norm);
    build.output(output::kGradNorm, clipped.norm);
    grads = clipped.gradients;
  }
  const DType real = build.dtype(parameters.front().value);
  const ValueId lr = build.source(source::kLr, contiguous_type(real, {}), Role::kInput);
  const AdamWAttributes attributes{rule_of(config.optimizer), config.beta1, config.beta2, config.eps,
                                   config.weight_decay};
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, value] = parameters[i];
    const auto scope = build.scope(name);
    const TensorType type = build.type(value);
    const ValueId m = build.source(source::kFirstMoment + name, type, Role::kOptimizerState);
    const ValueId v = build.source(source::kSecondMoment + name, type, Role::kOptimizerState);
    adamw(build, {value, m, v}, grads[i], step, lr, attributes);
  }
}

}  // namespace

Graph build_train_step(const RunConfig& config, const StepOutputs& keep, DType real) {
  const ModelConfig model = config.step_model();
  if (model.is_attention()) return build_attention_step(config, real);
  Builder build;
  std::vector<Parameter> parameters;
  GptInputs inputs;
  for (const ParameterSpec& spec : parameter_list(model)) {
    const ValueId value =
        build.source(spec.name, contiguous_type(real, Shape(std::span(spec.shape))), Role::kParameter);
    parameters.push_back({spec.name, value});
    inputs.parameters[spec.name] = value;
  }
  const TensorType ids = contiguous_type(DType::kInt64, {model.batch_size, model.context_length});
  inputs.tokens = build.source(source::kTokens, ids, Role::kInput);
  inputs.step = build.source(source::kStep, contiguous_type(DType::kInt64, {}), Role::kInput);
  inputs.seed = static_cast<uint64_t>(config.seed);
  inputs.targets = build.source(source::kTargets, ids, Role::kInput);

  const auto [loss, logits] = build_gpt(build, model, inputs);
  build.output(output::kLoss, loss);
  if (keep.logits) build.output(output::kLogits, logits);
  if (config.pass == Pass::kInference) return build.finish();

  build.current = {Phase::kBackward, {}, {}, false};
  std::vector<ValueId> values;
  values.reserve(parameters.size());
  for (const Parameter& parameter : parameters) values.push_back(parameter.value);
  std::vector<ValueId> grads = gradients(build, loss, values);
  if (config.accumulate) accumulate(build, parameters, grads);
  const bool step = config.pass == Pass::kStep;
  if ((!step || keep.gradients) && !config.accumulate) {
    for (size_t i = 0; i < grads.size(); ++i) build.output(output::kGradient + parameters[i].name, grads[i]);
  }
  if (step) update(build, config, parameters, grads, inputs.step);
  return build.finish();
}

}  // namespace laptime
