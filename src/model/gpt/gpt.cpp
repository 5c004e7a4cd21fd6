// The card of the GPT-style language model.
#include <algorithm>

#include "base/error.h"
#include "base/words.h"
#include "config/model_presets.h"
#include "model/gpt/editions.h"
#include "model/gpt/gpt_graph.h"

namespace laptime {
namespace {

// A named model sets the dimensions that were not given; if a given one differs, the model becomes custom.
void fill_dimensions(PartialConfig& partial, const ModelPreset* preset) {
  ModelConfig& model = partial.config.model;
  const bool own_width = partial.is_given(model.d_model);
  if (own_width) partial.fill(model.d_ff, 4 * model.d_model);
  if (preset == nullptr) {
    if (!own_width || !partial.is_given(model.num_layers) || !partial.is_given(model.num_heads)) {
      partial.reject(
          "model custom needs --d-model, --num-layers and --num-heads (and --d-ff, if it is not 4 x d-model)");
    }
    return;
  }
  if (!own_width) partial.fill(model.d_ff, preset->d_ff);
  partial.fill(model.d_model, preset->d_model);
  partial.fill(model.num_layers, preset->num_layers);
  partial.fill(model.num_heads, preset->num_heads);
  const bool as_named = model.d_model == preset->d_model && model.d_ff == preset->d_ff &&
                        model.num_layers == preset->num_layers && model.num_heads == preset->num_heads;
  if (!as_named) model.name = kCustomModel;
}

void fill_defaults(PartialConfig& partial) {
  RunConfig& config = partial.config;
  ModelConfig& model = config.model;
  const GptDefaults& defaults = gpt_edition(model.edition).defaults;
  const ModelPreset* const preset = find_preset(model.name, implied_edition(model.name).value_or(model.edition));
  const ModelPreset none{};
  const ModelPreset& named = preset != nullptr ? *preset : none;
  partial.fill(model.vocab_size, named.vocab_size.value_or(defaults.vocab_size));
  partial.fill(model.context_length, named.context_length.value_or(defaults.context_length));
  partial.fill(model.batch_size, defaults.batch_size);
  partial.fill(model.weight_tie, defaults.weight_tie);
  partial.fill(model.bias, defaults.bias);
  partial.fill(config.seed, defaults.seed);
  partial.fill(config.optimizer, defaults.optimizer);
  if (config.steps) partial.fill(config.warmup, defaults.warmup);
  if (config.warmup) partial.fill(config.steps, defaults.steps);
  fill_dimensions(partial, preset);
}

void check_edition(const ModelConfig& model, const GptEdition& edition) {
  const std::string_view name = name_of(model.edition);
  if (model.weight_tie && !edition.may_tie) {
    throw Error::format("edition {} has no --weight-tie; leave it out, or use --edition 2024", name);
  }
  if (model.bias && edition.biases == Biases::kNever) {
    throw Error::format("edition {} has no --bias; leave it out, or use --edition 2024", name);
  }
  if (!model.bias && edition.biases == Biases::kAlways) {
    throw Error::format("edition {} always has biases; leave --bias out, or use --edition 2024", name);
  }
  if (!edition.may_drop && (model.embd_pdrop > 0 || model.attn_pdrop > 0 || model.resid_pdrop > 0)) {
    throw Error::format("edition {} has no dropout; leave the pdrop options out, or use --edition 2024", name);
  }
}

// A number of heads that divides d_model, of 64 columns where that is possible, else as near as possible.
int64_t fitting_heads(int64_t d_model) {
  constexpr int64_t kUsualHead = 64;
  int64_t heads = std::max<int64_t>(1, d_model / kUsualHead);
  while (d_model % heads != 0) --heads;
  return heads;
}

void check(const RunConfig& config) {
  const ModelConfig& model = config.model;
  const GptEdition& edition = gpt_edition(model.edition);
  if (!model.causal || model.projections) {
    throw Error::format("--{} needs --model attention; a language model is always causal and always has projections",
                        model.projections ? "projections" : "causal false");
  }
  if (model.d_model % model.num_heads != 0) {
    throw Error::format("d_model ({}) must be divisible by num_heads ({}); give --num-heads {}, or another --d-model",
                        model.d_model, model.num_heads, fitting_heads(model.d_model));
  }
  if (edition.rope && model.d_head() % 2 != 0) {
    throw Error::format(
        "RoPE needs an even d_head, but d_model {} / num_heads {} is {}; change --d-model or --num-heads",
        model.d_model, model.num_heads, model.d_head());
  }
  check_edition(model, edition);
  const auto editions_with_positions = [] {
    std::vector<std::string_view> names;
    for (const GptEdition& one : gpt_editions()) {
      if (!one.rope) names.push_back(name_of(one.edition));
    }
    return fmt::format("{}", fmt::join(names, " or "));
  };
  if (config.crop_context && edition.rope) {
    throw Error::format(
        "--crop-context needs a position table, and edition {} has none; give --edition {}, or --context",
        name_of(model.edition), editions_with_positions());
  }
}

std::string describe(const ModelConfig& model) {
  std::string text =
      fmt::format("edition {}, {} x {}, {}, d_ff {}, vocabulary {}, batch {} x {} tokens", name_of(model.edition),
                  counted(model.num_layers, "layer"), model.d_model, counted(model.num_heads, "head"), model.d_ff,
                  model.vocab_size, model.batch_size, model.context_length);
  if (model.weight_tie) text += ", tied head";
  if (model.bias) text += ", biases";
  return text;
}

std::vector<std::string> kept_by_eager(const ModelConfig& model) {
  const std::span<const std::string_view> kept = gpt_edition(model.edition).kept_by_eager;
  return {kept.begin(), kept.end()};
}

}  // namespace

const ModelCard& gpt_card() {
  static constexpr ModelCard kCard{.name = "gpt",
                                   .fill_defaults = fill_defaults,
                                   .check = check,
                                   .describe = describe,
                                   .kept_by_eager = kept_by_eager,
                                   .build = build_gpt};
  return kCard;
}

}  // namespace laptime
