// Builds the graphs of the demonstrations.
#include "model/demonstrations/demonstrations.h"

#include "graph/builder.h"
#include "graph/structural_ops.h"
#include "ops/linear/linear.h"
#include "ops/norm/norm.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "ops/relu/relu.h"

namespace laptime {
namespace {

constexpr double kEpsilon = 1e-5;

// Keeps a value until the step ends, as the output `name`.
void show(Builder& build, const std::string& name, ValueId value) { build.output(name, build.name(value, name)); }

}  // namespace

Graph accumulation_graph(const Accumulation& accumulation) {
  Builder build;
  const ValueId sum = build.source("sum", contiguous_type(accumulation.sum, {}), Role::kOptimizerState);
  const ValueId element = fill(build, {}, accumulation.value, accumulation.element);
  build.output("element", element);
  const ValueId addend = accumulation.widens ? cast(build, element, accumulation.sum) : element;
  assign(build, sum, add(build, sum, addend));
  return build.finish();
}

Graph toy_model_graph(DType real) {
  Builder build;
  const auto parameter = [&](const std::string& name, const Shape& shape) {
    return build.source(name, contiguous_type(real, shape), Role::kParameter);
  };
  const ValueId x = build.source("x", contiguous_type(real, {1, ToySizes::kInputs}), Role::kInput);
  const ValueId targets = build.source("targets", contiguous_type(real, {1, ToySizes::kOutputs}), Role::kInput);
  const std::vector<ValueId> parameters{
      parameter("fc1.weight", {ToySizes::kHidden, ToySizes::kInputs}), parameter("ln.weight", {ToySizes::kHidden}),
      parameter("ln.bias", {ToySizes::kHidden}), parameter("fc2.weight", {ToySizes::kOutputs, ToySizes::kHidden})};
  const ValueId first = linear(build, x, parameters[0], {}, LinearForm::kLinear);
  show(build, "first layer", first);
  const ValueId norm = layer_norm(build, relu(build, first), parameters[1], parameters[2], kEpsilon);
  show(build, "layer norm", norm);
  const ValueId logits = linear(build, norm, parameters[3], {}, LinearForm::kLinear);
  show(build, "logits", logits);
  const ValueId loss = mean_all(build, square(build, sub(build, logits, targets)));
  show(build, "loss", loss);
  build.current.phase = Phase::kBackward;
  const std::vector<ValueId> grads = gradients(build, loss, parameters);
  for (size_t i = 0; i < grads.size(); ++i)
    build.output("grad/" + build.graph().value(parameters[i]).annotations.name, grads[i]);
  return build.finish();
}

Graph layer_norm_graph(DType dtype, int64_t width, NormForm form) {
  Builder build;
  const ValueId x = build.source("x", contiguous_type(dtype, {1, width}), Role::kInput);
  if (form == NormForm::kKernel) {
    const ValueId weight = fill(build, {width}, 1, dtype);
    show(build, "y", layer_norm(build, x, weight, fill(build, {width}, 0, dtype), kEpsilon));
    return build.finish();
  }
  const ValueId centred = sub(build, x, mean(build, x, {1}));
  const ValueId variance = mean(build, square(build, centred), {1});
  show(build, "variance", variance);
  show(build, "y", mul(build, centred, rsqrt(build, add_scalar(build, variance, kEpsilon))));
  return build.finish();
}

}  // namespace laptime
