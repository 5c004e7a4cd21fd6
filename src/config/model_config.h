// ModelConfig: the name, edition and dimensions of a model, with the options that set them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/option.h"

namespace laptime {

// The definition of the model: that of the 2024, 2025 or 2026 source documents, or GPT-2 as in llm.c and nanoGPT.
enum class Edition : uint8_t { k2024, k2025, k2026, kGpt2 };

constexpr auto choices_of(Edition) {
  return std::array{Choice<Edition>{Edition::k2024, "2024"}, Choice<Edition>{Edition::k2025, "2025"},
                    Choice<Edition>{Edition::k2026, "2026"}, Choice<Edition>{Edition::kGpt2, "gpt2"}};
}

// The canonical name for a name or alias of model_presets, or "custom". Error, with the nearest name, for any other.
std::string canonical_model_name(std::string_view where, std::string_view word);

struct ModelConfig {
  std::string name = "small";  // name of a preset, or "custom"
  Edition edition = Edition::k2025;
  int64_t d_model = 768;
  int64_t d_ff = 3072;
  int64_t num_layers = 12;
  int64_t num_heads = 12;
  int64_t vocab_size = 10'000;
  int64_t context_length = 256;  // rows of the position table; also T of the step unless cropped
  int64_t batch_size = 4;
  bool weight_tie = false;   // the head shares the token embedding
  bool bias = false;         // biases of linear layers, in 2024 also of the head, in gpt2 never of the head
  double embd_pdrop = 0;     // after token + position embedding
  double attn_pdrop = 0;     // on the attention weights
  double resid_pdrop = 0;    // on the output projection's output, and between GELU and W2
  bool causal = true;        // no query attends to a later key; false only for --model attention
  bool projections = false;  // --model attention: linear layers for q, k, v and the output

  int64_t d_head() const { return d_model / num_heads; }
  bool operator==(const ModelConfig&) const = default;

  // clang-format off
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Model";
    constexpr InName kGiven = InName::kWhereGiven;
    constexpr double kMaxWidth = 1 << 24;
    constexpr double kMaxId = 2'147'483'647;  // token ids and positions are int32
    constexpr double kMaxDrop = 0.999;
    visit(Option{.flag = "model", .key = "model", .tag = "model", .group = kGroup,
                 .help = "named size (laptime list models), custom, or attention (attention only)", .in_name = InName::kAlways,
                 .canonical = canonical_model_name}, self.name);
    visit(Option{.flag = "edition", .key = "edition", .tag = "edition", .group = kGroup,
                 .help = "source of the model definition; sets the defaults of other options",
                 .otherwise = "2025, or the edition of the named model", .in_name = kGiven}, self.edition);
    visit(Option{.flag = "d-model", .key = "d_model", .tag = "d_model", .group = kGroup,
                 .help = "width of the residual stream", .otherwise = "of the named model",
                 .min = 1, .max = kMaxWidth, .in_name = kGiven}, self.d_model);
    visit(Option{.flag = "d-ff", .key = "d_ff", .tag = "d_ff", .group = kGroup,
                 .help = "width of the feed-forward",
                 .otherwise = "of the named model; 4 x d-model if --d-model is given", .min = 1,
                 .max = kMaxWidth, .in_name = kGiven}, self.d_ff);
    visit(Option{.flag = "num-layers", .key = "num_layers", .tag = "layers", .group = kGroup,
                 .help = "transformer blocks", .otherwise = "of the named model", .min = 1, .max = 4096,
                 .in_name = kGiven},
          self.num_layers);
    visit(Option{.flag = "num-heads", .key = "num_heads", .tag = "heads", .group = kGroup,
                 .help = "attention heads; must divide d-model", .otherwise = "of the named model",
                 .min = 1, .max = kMaxWidth, .in_name = kGiven}, self.num_heads);
    visit(Option{.flag = "vocab", .key = "vocab_size", .tag = "vocab", .group = kGroup, .unit = "tokens",
                 .help = "size of the vocabulary", .otherwise = "10000; gpt2: 50257; 8B: 151936",
                 .min = 1, .max = kMaxId, .in_name = kGiven}, self.vocab_size);
    visit(Option{.flag = "context", .key = "context_length", .tag = "ctx", .group = kGroup, .unit = "tokens",
                 .help = "context length", .otherwise = "256; 2024: 128; 2026: 512; gpt2: 1024; 8B: 32768",
                 .min = 1, .max = kMaxId, .in_name = InName::kAlways}, self.context_length);
    visit(Option{.flag = "batch", .key = "batch_size", .tag = "batch", .group = kGroup, .unit = "sequences",
                 .help = "sequences per step", .otherwise = "4; 2024: 16; attention: 8", .min = 1, .max = kMaxId,
                 .in_name = kGiven},
          self.batch_size);
    visit(Option{.flag = "weight-tie", .key = "weight_tie", .tag = "tied", .group = kGroup,
                 .help = "use the token embedding as the head (2024, gpt2)", .otherwise = "false; gpt2: true",
                 .in_name = kGiven},
          self.weight_tie);
    visit(Option{.flag = "bias", .key = "bias", .tag = "bias", .group = kGroup,
                 .help = "biases in linear layers (2024; gpt2 always has them)", .otherwise = "false; gpt2: true",
                 .in_name = kGiven},
          self.bias);
    visit(Option{.flag = "embd-pdrop", .key = "embd_pdrop", .tag = "embd_pdrop", .group = kGroup,
                 .help = "dropout after the embeddings (2024)", .max = kMaxDrop, .in_name = kGiven}, self.embd_pdrop);
    visit(Option{.flag = "attn-pdrop", .key = "attn_pdrop", .tag = "attn_pdrop", .group = kGroup,
                 .help = "dropout on the attention weights (2024)", .max = kMaxDrop,
                 .in_name = kGiven}, self.attn_pdrop);
    visit(Option{.flag = "resid-pdrop", .key = "resid_pdrop", .tag = "resid_pdrop", .group = kGroup,
                 .help = "dropout after the output projection and after GELU (2024)", .max = kMaxDrop,
                 .in_name = kGiven},
          self.resid_pdrop);
    visit(Option{.flag = "causal", .key = "causal", .tag = "causal", .group = kGroup,
                 .help = "apply a causal mask; false is valid only for --model attention",
                 .in_name = kGiven}, self.causal);
    visit(Option{.flag = "projections", .key = "projections", .tag = "projections", .group = kGroup,
                 .help = "--model attention: add d-model x d-model projections of q, k, v and the output",
                 .in_name = kGiven},
          self.projections);
  }
  // clang-format on
};

}  // namespace laptime
