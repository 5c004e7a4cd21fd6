// Modules of the models: the constructor declares the parameters, and the call operator builds the forward pass.
#pragma once

#include <string>

#include "model/model_builder.h"
#include "ops/linear/linear.h"

namespace laptime::nn {

// y = x W^T (+ b), W [d_out, d_in] in `weight`, b [d_out] in `bias`.
class Linear {
 public:
  struct Options {
    std::string name = {};
    int64_t d_out = 0;
    int64_t d_in = 0;
    ParameterInit init = {};  // initialisation of the weight; a bias starts at zero
    bool bias = false;
    LinearForm form = LinearForm::kEinsum;
  };
  Linear(ModelBuilder& build, const Options& options);

  ValueId operator()(ModelBuilder& build, ValueId x) const;

 private:
  std::string name_;
  LinearForm form_;
  ValueId weight_;
  ValueId bias_;  // invalid without a bias
};

enum class NormKind : uint8_t { kRms, kLayer };

// Normalisation over the last axis, with a weight and, for a layer norm, with a bias.
class Norm {
 public:
  // `weighs_last` as in RmsNormAttributes.
  Norm(ModelBuilder& build, std::string name, NormKind kind, int64_t width, double eps, bool weighs_last = false);

  ValueId operator()(ModelBuilder& build, ValueId x) const;

 private:
  std::string name_;
  NormKind kind_;
  double eps_;
  bool weighs_last_;
  ValueId weight_;
  ValueId bias_;  // invalid without a bias
};

// A weight; with --init stream, its values have the standard deviation that `init` gives.
ParameterSpec weight_spec(std::vector<int64_t> shape, const ParameterInit& init);
// A bias that starts at zero, or under --init stream at small random values.
ParameterSpec bias_spec(int64_t width);

}  // namespace laptime::nn
