// The parameters, inputs and FLOPs of a model, derived from its forward graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/model_config.h"
#include "graph/graph.h"

namespace laptime {

// kTruncatedNormal is truncated at 3 std.
enum class Distribution : uint8_t { kZeros, kOnes, kNormal, kTruncatedNormal };

struct ParameterInit {
  Distribution distribution = Distribution::kZeros;
  double std = 0;  // standard deviation of the normal distribution before truncation
};

// Values under --init stream: mean + uniform in [-a, a) with a = sqrt(3) std. The mean is 1 for norm weights, otherwise
// 0.
struct StreamInit {
  double mean = 0;
  double std = 0;
};

// A floating-point source of the graph: a parameter, or an input other than tokens.
struct ParameterSpec {
  std::string name = {};             // "layers.3.attn.q_proj.weight"
  std::vector<int64_t> shape = {};   // linear weights are (d_out, d_in)
  ParameterInit init = {};           // the model's own initialisation
  StreamInit stream = {};            // values under --init stream
  bool rows_may_be_cropped = false;  // a weights file may contain more rows, of which the first ones are used
  std::string stored_again_as = {};  // name of a duplicate that a weights file may contain; empty: none
  Region region = {};
};

struct ModelSummary {
  std::vector<ParameterSpec> parameters;  // in order of declaration; without a tied head
  std::vector<ParameterSpec> inputs;      // floating-point inputs; none for language models
  int64_t parameter_count = 0;            // trainable scalars
  // FLOPs of the matrix products of one forward pass over batch_size x context_length positions, counting full
  // attention instead of causal attention. Backward has twice as many.
  double forward_flops = 0;
  double attention_flops = 0;  // FLOPs of products of two activations: queries by keys, attention weights by values
  double head_flops = 0;       // FLOPs of the product that computes the logits; 0 without logits
};

// Throws Error if the bytes of a tensor or the number of parameters exceed 63 bits; everything else about the model
// must be valid.
ModelSummary summarize(const ModelConfig& model);

// ModelSummary::parameters for the model.
std::vector<ParameterSpec> parameter_list(const ModelConfig& model);

}  // namespace laptime
