// The parameters of a model: their names, shapes and starting values, in the order of the model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/model_config.h"

namespace laptime {

enum class Distribution : uint8_t { kZeros, kOnes, kNormal, kTruncatedNormal };  // the last one is cut at 3 std

struct ParameterInit {
  Distribution distribution = Distribution::kZeros;
  double std = 0;  // of the normal before it is cut
};

// The golden streams: mean + uniform in [-a, a), a = sqrt(3) std. The mean is 1 for norm weights, else 0.
struct StreamInit {
  double mean = 0;
  double std = 0;
};

struct ParameterSpec {
  std::string name;            // "layers.3.attn.q_proj.weight"
  std::vector<int64_t> shape;  // linear weights are (d_out, d_in)
  ParameterInit init;          // the edition's own initialisation
  StreamInit stream;           // under --init stream
};

// A tied head is no parameter; attention alone has the four projections, or none. The model must be valid.
std::vector<ParameterSpec> parameter_list(const ModelConfig& model);

// The numbers that a step of attention alone starts from, standard normal: q, k and v [B, 1, T, d_model], or with
// projections x [B, T, d_model], which they are made from. None for a language model, whose inputs are tokens.
std::vector<ParameterSpec> input_list(const ModelConfig& model);

}  // namespace laptime
