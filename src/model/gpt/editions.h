// The editions of the GPT-style model: the modules, initialisation and default options of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "config/run_config.h"
#include "model/modules.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/rope/rope.h"

namespace laptime {

enum class FeedForward : uint8_t {
  kSwiglu,    // w2(silu(w1 x) * w3 x)
  kSilu,      // like kSwiglu, but a framework runs silu as one kernel
  kGeluErf,   // w2(gelu(w1 x))
  kGeluTanh,  // w2(gelu(w1 x)) with the tanh approximation of GELU
  kGeluNew,   // like kGeluTanh, but a framework runs the approximation op by op
};

struct GptInit {
  Distribution distribution = Distribution::kNormal;  // distribution of linear and embedding weights
  double embedding_std = 0;
  std::optional<double> linear_std = {};  // none: sqrt(2 / (d_in + d_out))
  bool scales_residuals = false;          // projections into the residual stream start at std / sqrt(2 num_layers)
};

struct GptDefaults {
  int64_t context_length = 0;
  int64_t batch_size = 0;
  int64_t vocab_size = 0;
  int64_t seed = 0;
  Optimizer optimizer = Optimizer::kTorch;
  bool weight_tie = false;
  bool bias = false;
  bool projection_bias = false;  // default of --attention-bias and --mlp-bias
  bool parallel_residual = false;
  double rotary_share = 1;
  int64_t warmup = 0;  // default of --warmup if only --steps is given
  int64_t steps = 0;   // default of --steps if only --warmup is given
};

struct GptEdition {
  Edition edition = Edition::k2025;
  std::string_view about = {};  // one sentence, for `laptime list editions`
  nn::NormKind norm = nn::NormKind::kRms;
  double norm_eps = 1e-5;
  std::optional<RopeForm> rope = {};  // none: a learned position table
  double rope_theta = 10'000;
  FeedForward feed_forward = FeedForward::kSwiglu;
  LinearForm linear = LinearForm::kEinsum;
  CrossEntropyForm loss = CrossEntropyForm::kWrittenOut;
  bool qkv_bias = false;                         // q, k and v always have biases, regardless of the options
  bool head_bias = false;                        // the head has a bias if the other linear layers have one
  bool head_norms = false;                       // each head of q and k is normalised before RoPE
  bool drops_residuals = false;                  // dropout with resid_pdrop follows w2 instead of the activation
  bool is_of_library = false;                    // composites are lowered, and variables kept, as in transformers
  std::span<const std::string_view> takes = {};  // flags of options that some other editions lack
  std::span<const std::string_view> kept_by_eager = {};  // composites that a framework runs as one kernel
  GptInit init = {};
  GptDefaults defaults = {};
};

std::span<const GptEdition> gpt_editions();
const GptEdition& gpt_edition(Edition edition);

}  // namespace laptime
