// Attention alone. Shapes: B batch, T positions, C d_model; one head as wide as the model.
#include "model/attention.h"

#include <map>
#include <string>
#include <vector>

#include "config/parameters.h"
#include "graph/structural_ops.h"
#include "model/train_step.h"
#include "ops/linear/linear.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

namespace laptime {
namespace {

class AttentionStep {
 public:
  AttentionStep(const RunConfig& config, DType real) : model_(config.step_model()) {
    for (const ParameterSpec& weight : parameter_list(model_)) add_source(weight, real, Role::kParameter);
    for (const ParameterSpec& input : input_list(model_)) add_source(input, real, Role::kInput);
  }

  Graph run(Pass pass) {
    build_.current.frame = "forward";
    const ValueId values = forward();
    build_.output(output::kValues, values);
    if (pass != Pass::kInference) backward(values);
    return build_.finish();
  }

 private:
  void add_source(const ParameterSpec& spec, DType real, Role role) {
    names_.push_back(spec.name);
    sources_[spec.name] = build_.source(spec.name, contiguous_type(real, Shape(std::span(spec.shape))), role);
  }

  ValueId projected(const std::string& module, ValueId x) {
    const auto scope = build_.scope(module);
    const ValueId weight = sources_.at(build_.current.scope + ".weight");
    return build_.name(linear(build_, x, weight, {}, LinearForm::kEinsum), "");
  }

  ValueId forward() {
    const auto scope = build_.scope("attn");
    const AttentionAttributes attributes{.causal = model_.causal};
    if (!model_.projections) {
      return scaled_dot_product_attention(build_, sources_.at("q"), sources_.at("k"), sources_.at("v"), {}, attributes);
    }
    const ValueId x = sources_.at("x");  // (B, T, C)
    const Shape shape = build_.shape(x);
    const auto head = [&](const char* module, const char* variable) {  // (B, T, C) -> (B, 1, T, C)
      return build_.hold(reshape(build_, projected(module, x), {shape[0], 1, shape[1], shape[2]}), variable);
    };
    const ValueId q = head("q_proj", "q");
    const ValueId k = head("k_proj", "k");
    const ValueId v = head("v_proj", "v");
    const ValueId values = scaled_dot_product_attention(build_, q, k, v, {}, attributes);
    return projected("output_proj", build_.hold(reshape(build_, values, shape), "o"));
  }

  void backward(ValueId values) {
    build_.current = {Phase::kBackward, {}, {}, false};
    std::vector<ValueId> wanted;
    for (const std::string& name : names_) wanted.push_back(sources_.at(name));
    const std::vector<ValueId> grads = gradients(build_, values, wanted);
    for (size_t i = 0; i < grads.size(); ++i) build_.output(output::kGradient + names_[i], grads[i]);
  }

  const ModelConfig model_;
  Builder build_;
  std::vector<std::string> names_;  // of all sources, weights first
  std::map<std::string, ValueId> sources_;
};

}  // namespace

Graph build_attention_step(const RunConfig& config, DType real) { return AttentionStep(config, real).run(config.pass); }

}  // namespace laptime
