// What a model consists of: parameters, inputs, counts and FLOPs, read off its forward graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/model_config.h"
#include "graph/graph.h"

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

// A source of the graph that starts from floating-point numbers: a parameter, or an input that is no token.
struct ParameterSpec {
  std::string name = {};             // "layers.3.attn.q_proj.weight"
  std::vector<int64_t> shape = {};   // linear weights are (d_out, d_in)
  ParameterInit init = {};           // the model's own initialisation
  StreamInit stream = {};            // under --init stream
  bool rows_may_be_cropped = false;  // a file may hold more rows, of which the first ones are taken
  std::string stored_again_as = {};  // a name under which a file may hold the same numbers once more; empty: none
  Region region = {};
};

struct ModelSummary {
  std::vector<ParameterSpec> parameters;  // in the order of their declaration; a tied head is no parameter
  std::vector<ParameterSpec> inputs;      // numbers that a step starts from; none where it reads tokens
  int64_t parameter_count = 0;            // trainable scalars
  // FLOPs of the matrix products of one forward over batch_size x context_length positions, with full (not causal)
  // attention. A backward is twice that.
  int64_t forward_flops = 0;
};

// The model must be valid but for its sizes: Error where a tensor or a count does not fit 63 bits.
ModelSummary summarize(const ModelConfig& model);

// The parameters of summarize.
std::vector<ParameterSpec> parameter_list(const ModelConfig& model);

}  // namespace laptime
