// ModelConfig: the name, edition and dimensions of a model, with the options that set them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/option.h"

namespace laptime {

// Where the model is defined: in the source documents of 2024, 2025 or 2026, or as a model family in the transformers
// library. GPT-2 exists twice: as in llm.c and nanoGPT, and as in transformers.
enum class Edition : uint8_t { k2024, k2025, k2026, kGpt2, kGpt2Hf, kLlama, kQwen2, kQwen3, kGptNeox };

constexpr auto choices_of(Edition) {
  return choices<Edition>("2024", "2025", "2026", "gpt2", "gpt2_hf", "llama", "qwen2", "qwen3", "gpt_neox");
}

// The canonical name for a name or alias in model_presets or known_models, with or without an organisation before it
// ("meta-llama/Llama-3.2-1B"), or for "custom". The path of an existing file or folder is returned in a form that
// is_model_path recognises. Throws Error for any other word, suggesting the nearest name.
std::string canonical_model_name(std::string_view where, std::string_view word);

// RoPE frequency scaling, written as "none" or llama3:FACTOR:LOW:HIGH:CONTEXT with the four numbers of a config.json.
struct RopeScalingWord {
  double factor = 1;  // 1: no scaling
  double low_factor = 1;
  double high_factor = 4;
  double original_context = 8192;
};
std::string canonical_rope_scaling(std::string_view where, std::string_view word);
RopeScalingWord parse_rope_scaling(std::string_view canonical_word);
std::string rope_scaling_word(const RopeScalingWord& scaling);

struct ModelConfig {
  std::string name = "small";  // see canonical_model_name
  Edition edition = Edition::k2025;
  int64_t d_model = 768;
  int64_t d_ff = 3072;
  int64_t num_layers = 12;
  int64_t num_heads = 12;
  int64_t vocab_size = 10'000;
  int64_t context_length = 256;  // sequence length unless cropped; rows of the position table unless max_context is set
  int64_t batch_size = 4;
  bool weight_tie = false;   // the head shares the token embedding
  bool bias = false;         // biases of linear layers; the head has one only in 2024
  double embd_pdrop = 0;     // dropout after adding the token and position embeddings
  double attn_pdrop = 0;     // dropout of the attention weights
  double resid_pdrop = 0;    // dropout after the output projection, and after GELU (2024) or W2 (gpt2, gpt_neox)
  bool causal = true;        // apply a causal mask; false only for --model attention
  bool projections = false;  // for --model attention: adds linear layers for q, k, v and the output
  std::optional<int64_t> num_kv_heads = {};  // none: num_heads
  std::optional<int64_t> head_dim = {};      // none: d_model / num_heads
  std::optional<int64_t> max_context = {};   // position table rows, or size of a sliding window; none: context_length
  std::optional<double> norm_eps = {};       // none: the edition's default, as for rope_theta and rotary_share
  std::optional<double> rope_theta = {};
  std::optional<double> rotary_share = {};  // share of head_dim that RoPE rotates
  std::string rope_scaling = "none";        // see parse_rope_scaling
  bool attention_bias = false;              // biases of q, k, v and the output projection
  bool mlp_bias = false;
  bool parallel_residual = false;         // x + attn(norm1 x) + mlp(norm2 x)
  std::optional<int64_t> pad_token = {};  // token whose embedding row gets no gradient; none: there is no such token

  int64_t d_head() const { return head_dim.value_or(d_model / num_heads); }
  int64_t kv_heads() const { return num_kv_heads.value_or(num_heads); }
  bool operator==(const ModelConfig&) const = default;

  // clang-format off
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Model";
    constexpr InName kGiven = InName::kWhereGiven;
    constexpr double kMaxWidth = 1 << 24;
    constexpr double kMaxId = 2'147'483'647;  // 2^31 - 1, the limit for token ids, positions and batches
    constexpr double kMaxDrop = 0.999;
    visit(Option{.flag = "model", .key = "model", .tag = "model", .group = kGroup,
                 .help = "named model (laptime list models), Hugging Face config.json or model folder, custom, or attention "
                         "(attention without the rest of a model)",
                 .in_name = InName::kAlways, .value = "NAME|FILE|FOLDER", .canonical = canonical_model_name}, self.name);
    visit(Option{.flag = "edition", .key = "edition", .tag = "edition", .group = kGroup,
                 .help = "source of the model definition; sets the defaults of other options",
                 .otherwise = "2025, or the edition of the named model", .in_name = kGiven}, self.edition);
    visit(Option{.flag = "d-model", .key = "d_model", .tag = "d_model", .group = kGroup,
                 .help = "width of the residual stream, or of q, k and v with --model attention",
                 .otherwise = "the named model's", .min = 1, .max = kMaxWidth, .in_name = kGiven}, self.d_model);
    visit(Option{.flag = "d-ff", .key = "d_ff", .tag = "d_ff", .group = kGroup,
                 .help = "width of the feed-forward layer",
                 .otherwise = "the named model's; 4 x d-model if --d-model is given without a Hugging Face model",
                 .min = 1, .max = kMaxWidth, .in_name = kGiven}, self.d_ff);
    visit(Option{.flag = "num-layers", .key = "num_layers", .tag = "layers", .group = kGroup,
                 .help = "number of transformer blocks", .otherwise = "the named model's", .min = 1, .max = 4096,
                 .in_name = kGiven},
          self.num_layers);
    visit(Option{.flag = "num-heads", .key = "num_heads", .tag = "heads", .group = kGroup,
                 .help = "attention heads; must divide d-model unless --head-dim is given", .otherwise = "the named model's",
                 .min = 1, .max = kMaxWidth, .in_name = kGiven}, self.num_heads);
    visit(Option{.flag = "vocab", .key = "vocab_size", .tag = "vocab", .group = kGroup, .unit = "tokens",
                 .help = "size of the vocabulary; Hugging Face models default to their own",
                 .otherwise = "10000; gpt2, gpt2_hf: 50257; llama, qwen2, qwen3: 32000; gpt_neox: 50304; 8B: 151936",
                 .min = 1, .max = kMaxId, .in_name = kGiven}, self.vocab_size);
    visit(Option{.flag = "context", .key = "context_length", .tag = "ctx", .group = kGroup, .unit = "tokens",
                 .help = "context length; Hugging Face models default to their own, but at most 2048",
                 .otherwise = "256; 2024: 128; 2026: 512; gpt2, gpt2_hf: 1024; llama, qwen2, qwen3, gpt_neox: 2048; "
                              "8B: 32768",
                 .min = 1, .max = kMaxId, .in_name = InName::kAlways}, self.context_length);
    visit(Option{.flag = "batch", .key = "batch_size", .tag = "batch", .group = kGroup, .unit = "sequences",
                 .help = "sequences per step", .otherwise = "4; 2024: 16; attention: 8", .min = 1, .max = kMaxId,
                 .in_name = kGiven},
          self.batch_size);
    visit(Option{.flag = "weight-tie", .key = "weight_tie", .tag = "tied", .group = kGroup,
                 .help = "use the token embedding as the head (editions other than 2025 and 2026); Hugging "
                         "Face models default to their config.json", .otherwise = "false; gpt2, gpt2_hf: true",
                 .in_name = kGiven},
          self.weight_tie);
    visit(Option{.flag = "bias", .key = "bias", .tag = "bias", .group = kGroup,
                 .help = "biases in linear layers (2024; gpt2 and gpt2_hf always have them)",
                 .otherwise = "false; gpt2, gpt2_hf: true",
                 .in_name = kGiven},
          self.bias);
    visit(Option{.flag = "embd-pdrop", .key = "embd_pdrop", .tag = "embd_pdrop", .group = kGroup,
                 .help = "dropout after the embeddings (2024, gpt2, gpt_neox)", .max = kMaxDrop,
                 .in_name = kGiven}, self.embd_pdrop);
    visit(Option{.flag = "attn-pdrop", .key = "attn_pdrop", .tag = "attn_pdrop", .group = kGroup,
                 .help = "dropout on the attention weights (editions other than 2025 and 2026)", .max = kMaxDrop,
                 .in_name = kGiven}, self.attn_pdrop);
    visit(Option{.flag = "resid-pdrop", .key = "resid_pdrop", .tag = "resid_pdrop", .group = kGroup,
                 .help = "dropout after the output projection, and after GELU (2024) or the feed-forward layer (gpt2, "
                         "gpt_neox)", .max = kMaxDrop, .in_name = kGiven},
          self.resid_pdrop);
    visit(Option{.flag = "causal", .key = "causal", .tag = "causal", .group = kGroup,
                 .help = "apply a causal mask; false is valid only for --model attention",
                 .in_name = kGiven}, self.causal);
    visit(Option{.flag = "projections", .key = "projections", .tag = "projections", .group = kGroup,
                 .help = "--model attention: add d-model x d-model projections of q, k, v and the output",
                 .in_name = kGiven},
          self.projections);
    visit(Option{.flag = "num-kv-heads", .key = "num_kv_heads", .tag = "kv_heads", .group = kGroup,
                 .help = "key/value heads, each shared by num-heads / num-kv-heads query heads (llama, "
                         "qwen2, qwen3)",
                 .otherwise = "the named model's, otherwise num-heads", .empty = "all", .min = 1, .max = kMaxWidth,
                 .in_name = kGiven}, self.num_kv_heads);
    visit(Option{.flag = "head-dim", .key = "head_dim", .tag = "head_dim", .group = kGroup,
                 .help = "width of a head (llama, qwen2, qwen3)",
                 .otherwise = "the named model's, otherwise d-model / num-heads", .min = 1, .max = kMaxWidth,
                 .in_name = kGiven}, self.head_dim);
    visit(Option{.flag = "max-context", .key = "max_context", .tag = "max_ctx", .group = kGroup, .unit = "tokens",
                 .help = "longest context: rows of the position table (gpt2), or size of the sliding window (llama, "
                         "qwen2, qwen3)",
                 .otherwise = "the named model's, otherwise the context", .min = 1,
                 .max = kMaxId, .in_name = kGiven}, self.max_context);
    visit(Option{.flag = "norm-eps", .key = "norm_eps", .tag = "norm_eps", .group = kGroup,
                 .help = "epsilon of the normalization layers (editions other than 2024, 2025 and 2026)",
                 .otherwise = "the named model's or the edition's",
                 .min = 0, .max = 1, .in_name = kGiven}, self.norm_eps);
    visit(Option{.flag = "rope-theta", .key = "rope_theta", .tag = "theta", .group = kGroup,
                 .help = "base of RoPE's frequencies (llama, qwen2, qwen3, gpt_neox)",
                 .otherwise = "the named model's, otherwise 10000", .min = 1, .max = 1e12,
                 .in_name = kGiven}, self.rope_theta);
    visit(Option{.flag = "rotary-share", .key = "rotary_share", .tag = "rotary", .group = kGroup,
                 .help = "share of a head that RoPE rotates (gpt_neox)",
                 .otherwise = "the named model's, otherwise 1; gpt_neox: 0.25", .min = 0, .max = 1, .in_name = kGiven},
          self.rotary_share);
    visit(Option{.flag = "rope-scaling", .key = "rope_scaling", .tag = "rope_scaling", .group = kGroup,
                 .help = "scaling of RoPE's frequencies for long contexts, as in Llama 3 (llama, qwen2, qwen3, "
                         "gpt_neox)",
                 .otherwise = "the named model's, otherwise none", .in_name = kGiven,
                 .value = "none|llama3:FACTOR:LOW:HIGH:CONTEXT", .canonical = canonical_rope_scaling},
          self.rope_scaling);
    visit(Option{.flag = "attention-bias", .key = "attention_bias", .tag = "attention_bias", .group = kGroup,
                 .help = "biases of q, k, v and the output projection (llama, qwen3, gpt_neox)",
                 .otherwise = "the named model's, otherwise false; gpt_neox: true", .in_name = kGiven},
          self.attention_bias);
    visit(Option{.flag = "mlp-bias", .key = "mlp_bias", .tag = "mlp_bias", .group = kGroup,
                 .help = "biases in the feed-forward layer (llama, gpt_neox)",
                 .otherwise = "the named model's, otherwise false; gpt_neox: true",
                 .in_name = kGiven}, self.mlp_bias);
    visit(Option{.flag = "parallel-residual", .key = "parallel_residual", .tag = "parallel", .group = kGroup,
                 .help = "attention and feed-forward both read the input of the block (gpt_neox)",
                 .otherwise = "the named model's, otherwise false; gpt_neox: true", .in_name = kGiven},
          self.parallel_residual);
    visit(Option{.flag = "pad-token", .key = "pad_token", .tag = "pad", .group = kGroup,
                 .help = "token id whose row of the embedding gets no gradient (llama, qwen2, qwen3)",
                 .otherwise = "the named model's, otherwise none", .min = 0, .max = kMaxId, .in_name = kGiven},
          self.pad_token);
  }
  // clang-format on
};

}  // namespace laptime
