// Declares the parameters of the modules and builds their forward passes.
#include "model/modules.h"

#include <utility>

#include "ops/norm/norm.h"

namespace laptime::nn {
namespace {

// Standard deviations under --init stream. They are not zero, so that omitting a norm weight or a bias changes the
// result.
constexpr double kNormStreamStd = 0.05;
constexpr double kBiasStreamStd = 0.02;

}  // namespace

ParameterSpec weight_spec(std::vector<int64_t> shape, const ParameterInit& init) {
  return {.name = "weight", .shape = std::move(shape), .init = init, .stream = {.mean = 0, .std = init.std}};
}

ParameterSpec bias_spec(int64_t width) {
  return {.name = "bias",
          .shape = {width},
          .init = {Distribution::kZeros, 0},
          .stream = {.mean = 0, .std = kBiasStreamStd}};
}

Linear::Linear(ModelBuilder& build, const Options& options) : name_(options.name), form_(options.form) {
  const auto scope = build.scope(name_);
  weight_ = build.parameter(weight_spec({options.d_out, options.d_in}, options.init));
  if (options.bias) bias_ = build.parameter(bias_spec(options.d_out));
}

ValueId Linear::operator()(ModelBuilder& build, ValueId x) const {
  const auto scope = build.scope(name_);
  return build.name(linear(build, x, weight_, bias_, form_), "");
}

Norm::Norm(ModelBuilder& build, std::string name, NormKind kind, int64_t width, double eps, bool weighs_last)
    : name_(std::move(name)), kind_(kind), eps_(eps), weighs_last_(weighs_last) {
  const auto scope = build.scope(name_);
  weight_ = build.parameter({.name = "weight",
                             .shape = {width},
                             .init = {Distribution::kOnes, 0},
                             .stream = {.mean = 1, .std = kNormStreamStd}});
  if (kind_ == NormKind::kLayer) bias_ = build.parameter(bias_spec(width));
}

ValueId Norm::operator()(ModelBuilder& build, ValueId x) const {
  const auto scope = build.scope(name_);
  const ValueId y = kind_ == NormKind::kLayer ? layer_norm(build, x, weight_, bias_, eps_)
                                              : rms_norm(build, x, weight_, eps_, weighs_last_);
  return build.name(y, "");
}

}  // namespace laptime::nn
