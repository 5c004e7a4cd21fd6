// The GPT-style language model: its card, and its forward graph built from composites according to the edition. Shapes:
// B batch, T positions, C d_model, h heads, g key-value heads, d width of a head, F d_ff, V vocabulary.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/words.h"
#include "config/model_presets.h"
#include "config/option_table.h"
#include "graph/structural_ops.h"
#include "model/gpt/editions.h"
#include "model/model_card.h"
#include "model/modules.h"
#include "model/named_model.h"
#include "ops/dropout/dropout.h"
#include "ops/embedding/embedding.h"
#include "ops/gelu/gelu.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"
#include "ops/pointwise/pointwise.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"
#include "ops/swiglu/swiglu.h"

namespace laptime {
namespace {

constexpr const char* kForward = "forward";  // names of frames: functions of the eager program
constexpr const char* kLoss = "loss";
constexpr const char* kHead = "lm_head";

struct Attention {
  nn::Linear q_proj;
  std::optional<nn::Norm> q_norm;  // normalises each head, as k_norm does
  nn::Linear k_proj;
  std::optional<nn::Norm> k_norm;
  nn::Linear v_proj, output_proj;
};

struct FeedForwardModule {
  nn::Linear w1, w2;
  std::optional<nn::Linear> w3;
};

struct Block {
  nn::Norm ln1;
  Attention attention;
  nn::Norm ln2;
  FeedForwardModule feed_forward;
};

// Number of elements of a head that RoPE rotates.
int64_t rotated_width(const ModelConfig& model) {
  const double share = model.rotary_share.value_or(1);
  return static_cast<int64_t>(share * static_cast<double>(model.d_head()));
}

bool rotates_pairs(const ModelConfig& model) { return rotated_width(model) > 0 && rotated_width(model) % 2 == 0; }

class Gpt {
 public:
  Gpt(ModelBuilder& build, const ModelConfig& model)
      : build_(build), model_(model), edition_(gpt_edition(model.edition)) {
    declare();
  }

  ModelOutputs run() {
    inputs_ = build_.token_inputs(model_.batch_size, model_.context_length);
    build_.current.frame = build_.function(kForward);
    ValueId x = embeddings();
    if (edition_.is_of_library) build_.hold(x, "inputs_embeds");
    for (size_t layer = 0; layer < blocks_.size(); ++layer) {
      if (edition_.is_of_library && layer > 0) build_.hold(x, "hidden_states");
      const auto scope = build_.layer(static_cast<int64_t>(layer));
      std::optional<ModelBuilder::Framed> function;  // a Python function, whose variables are freed when it returns
      if (edition_.is_of_library) function.emplace(build_, build_.function("layer"));
      const Block& block = blocks_[layer];
      if (model_.parallel_residual) {
        const ValueId mixed = attention(layer, build_.hold(block.ln1(build_, x), "y"));
        const ValueId fed = feed_forward(block.feed_forward, build_.hold(block.ln2(build_, x), "y"));
        x = build_.name(add(build_, add(build_, fed, mixed), x), "residual2");
        continue;
      }
      x = build_.name(add(build_, x, attention(layer, build_.hold(block.ln1(build_, x), "y"))), "residual1");
      x = build_.name(add(build_, x, feed_forward(block.feed_forward, build_.hold(block.ln2(build_, x), "y"))),
                      "residual2");
    }
    const LinearCrossEntropy head = head_and_loss((*ln_final_)(build_, x));
    build_.name(head.loss, kLoss);
    build_.name(head.logits, "logits");
    build_.current.frame = build_.function(kLoss);
    // The caller of the eager program keeps the logits alive until the loss is done.
    build_.hold(head.logits, "logits");
    return {head.loss, head.logits};
  }

 private:
  // Declares all parameters in the order of the modules.
  void declare() {
    token_table_ = embedding_table("token_embeddings", {.rows = model_.vocab_size, .tied = model_.weight_tie});
    if (!edition_.rope) {
      position_table_ = embedding_table(
          "position_embeddings", {.rows = model_.max_context.value_or(model_.context_length), .croppable = true});
    }
    blocks_.reserve(static_cast<size_t>(model_.num_layers));
    for (int64_t layer = 0; layer < model_.num_layers; ++layer) {
      const auto scope = build_.layer(layer);
      blocks_.push_back({norm("ln1"), declare_attention(), norm("ln2"), declare_feed_forward()});
    }
    ln_final_ = norm("ln_final");
    const auto scope = build_.scope(kHead);
    head_weight_ = token_table_;
    if (!model_.weight_tie) {
      const int64_t vocab = model_.vocab_size;
      head_weight_ = build_.parameter(nn::weight_spec({vocab, model_.d_model}, linear_init(vocab, model_.d_model)));
    }
    if (edition_.head_bias && model_.bias) head_bias_ = build_.parameter(nn::bias_spec(model_.vocab_size));
  }

  struct Table {
    int64_t rows = 0;
    bool croppable = false;
    bool tied = false;
  };
  ValueId embedding_table(const char* module, const Table& table) {
    const auto scope = build_.scope(module);
    ParameterSpec spec =
        nn::weight_spec({table.rows, model_.d_model}, {edition_.init.distribution, edition_.init.embedding_std});
    spec.rows_may_be_cropped = table.croppable;
    if (table.tied) spec.stored_again_as = std::string(kHead) + ".weight";
    return build_.parameter(spec);
  }

  nn::Norm norm(const char* module) { return norm(module, model_.d_model); }
  nn::Norm norm(const char* module, int64_t width) {
    return {build_, module, edition_.norm, width, model_.norm_eps.value_or(edition_.norm_eps), edition_.is_of_library};
  }

  ParameterInit linear_init(int64_t d_out, int64_t d_in) const {
    const double std = edition_.init.linear_std.value_or(std::sqrt(2.0 / static_cast<double>(d_out + d_in)));
    return {edition_.init.distribution, std};
  }

  nn::Linear linear_module(const char* name, int64_t d_out, int64_t d_in, bool bias) {
    return linear_module(name, d_out, d_in, bias, linear_init(d_out, d_in));
  }
  nn::Linear linear_module(const char* name, int64_t d_out, int64_t d_in, bool bias, const ParameterInit& init) {
    return {build_, {.name = name, .d_out = d_out, .d_in = d_in, .init = init, .bias = bias, .form = edition_.linear}};
  }

  // A projection into the residual stream; each layer has two.
  nn::Linear residual_module(const char* name, int64_t d_in, bool bias) {
    ParameterInit init = linear_init(model_.d_model, d_in);
    if (edition_.init.scales_residuals) init.std /= std::sqrt(2.0 * static_cast<double>(model_.num_layers));
    return linear_module(name, model_.d_model, d_in, bias, init);
  }

  Attention declare_attention() {
    const auto scope = build_.scope("attn");
    const int64_t d = model_.d_model;
    const int64_t width = model_.num_heads * model_.d_head();
    const int64_t kv_width = model_.kv_heads() * model_.d_head();
    const bool output_bias = model_.bias || model_.attention_bias;
    const bool bias = output_bias || edition_.qkv_bias;
    const auto head_norm = [&](const char* name) {
      return edition_.head_norms ? std::optional(norm(name, model_.d_head())) : std::nullopt;
    };
    return {linear_module("q_proj", width, d, bias),    head_norm("q_norm"),
            linear_module("k_proj", kv_width, d, bias), head_norm("k_norm"),
            linear_module("v_proj", kv_width, d, bias), residual_module("output_proj", width, output_bias)};
  }

  FeedForwardModule declare_feed_forward() {
    const auto scope = build_.scope("ffn");
    const int64_t d = model_.d_model;
    const bool bias = model_.bias || model_.mlp_bias;
    FeedForwardModule module{linear_module("w1", model_.d_ff, d, bias), residual_module("w2", model_.d_ff, bias), {}};
    const bool is_gated = edition_.feed_forward == FeedForward::kSwiglu || edition_.feed_forward == FeedForward::kSilu;
    if (is_gated) module.w3 = linear_module("w3", model_.d_ff, d, bias);
    return module;
  }

  ValueId dropped(ValueId x, double p) {
    if (p <= 0) return x;
    const auto scope = build_.scope("dropout");
    return dropout(build_, x, inputs_.step, p, build_.seed(), build_.share().rank);
  }

  ValueId embeddings() {  // (B, T, C)
    ValueId x;
    {
      const auto scope = build_.scope("token_embeddings");
      x = embedding(build_, token_table_, inputs_.tokens, model_.pad_token.value_or(kNoPad));
    }
    if (position_table_.valid()) {
      const auto scope = build_.scope("position_embeddings");
      x = add(build_, x, embedding(build_, position_table_, arange(build_, build_.shape(inputs_.tokens)[1])));
    }
    const auto scope = build_.scope("embeddings");
    return build_.name(dropped(x, model_.embd_pdrop), "");
  }

  // (B, T, heads d) -> (B, heads, T, d)
  ValueId split_heads(ValueId x, int64_t heads, const std::optional<nn::Norm>& head_norm, const std::string& variable) {
    const Shape shape = build_.shape(x);
    ValueId split = reshape(build_, x, {shape[0], shape[1], heads, model_.d_head()});
    if (head_norm) split = (*head_norm)(build_, split);
    return build_.hold(transpose(build_, split, 1, 2), variable);
  }

  ValueId rotated(ValueId x, const RopeTable& table, const std::string& variable) {
    const auto scope = build_.scope("rope_" + variable);
    return build_.hold(build_.name(rope(build_, x, table, *edition_.rope), ""), variable);
  }

  ValueId attention(size_t layer, ValueId y) {  // (B, T, C) -> (B, T, C)
    const Attention& module = blocks_[layer].attention;
    std::string outer = build_.current.frame;
    std::optional<ModelBuilder::Framed> function;  // a Python function, whose variables are freed when it returns
    if (edition_.is_of_library) function.emplace(build_, build_.function("attn"));
    const auto scope = build_.scope("attn");
    const Shape shape = build_.shape(y);
    ValueId q = split_heads(module.q_proj(build_, y), model_.num_heads, module.q_norm, "q");
    ValueId k = split_heads(module.k_proj(build_, y), model_.kv_heads(), module.k_norm, "k");
    const ValueId v = split_heads(module.v_proj(build_, y), model_.kv_heads(), {}, "v");
    if (edition_.rope) {
      const RopeScalingWord scaling = parse_rope_scaling(model_.rope_scaling);
      const RopeTable table = rope_table(
          build_, {.context_length = shape[1],
                   .d_head = rotated_width(model_),
                   .theta = model_.rope_theta.value_or(edition_.rope_theta),
                   .dtype = build_.real(),
                   .repeated = edition_.rope == RopeForm::kRotateHalf,
                   .scaling = {scaling.factor, scaling.low_factor, scaling.high_factor, scaling.original_context}});
      q = rotated(q, table, "q");
      k = rotated(k, table, "k");
    }
    const ValueId step = model_.attn_pdrop > 0 ? inputs_.step : ValueId{};
    const ValueId values = [&] {
      // transformers returns the attention weights, so the function of the layer keeps them alive.
      std::swap(build_.current.frame, outer);
      const ValueId all = scaled_dot_product_attention(
          build_, q, k, v, step,
          {.dropout_p = model_.attn_pdrop,
           .seed = model_.attn_pdrop > 0 ? build_.seed() : 0,
           .form = edition_.is_of_library ? AttentionForm::kTransformers : AttentionForm::kModules},
          build_.share().rank);
      std::swap(build_.current.frame, outer);
      return all;
    }();  // (B, h, T, d)
    const Shape rows{shape[0], shape[1], model_.num_heads * model_.d_head()};
    const ValueId merged = build_.hold(reshape(build_, transpose(build_, values, 1, 2), rows), "o");
    return dropped(module.output_proj(build_, merged), model_.resid_pdrop);
  }

  ValueId feed_forward(const FeedForwardModule& module, ValueId y) {  // (B, T, C) -> (B, T, C)
    const auto scope = build_.scope("ffn");
    ValueId hidden;  // (B, T, F)
    if (module.w3) {
      const ValueId gate = module.w1(build_, y);
      const ValueId a = edition_.is_of_library ? gate : build_.hold(gate, "a");
      const bool has_silu = edition_.feed_forward == FeedForward::kSilu;
      hidden = build_.name(swiglu(build_, a, (*module.w3)(build_, y), has_silu), "gated");
    } else {
      const ValueId wide = module.w1(build_, y);
      const bool by_tanh = edition_.feed_forward == FeedForward::kGeluTanh;
      const bool is_new = edition_.feed_forward == FeedForward::kGeluNew;
      hidden = build_.name(is_new ? gelu_new(build_, wide) : gelu(build_, wide, by_tanh), "gelu");
      if (!edition_.drops_residuals) hidden = dropped(hidden, model_.resid_pdrop);
    }
    const ValueId y2 = module.w2(build_, build_.hold(hidden, "y"));
    return dropped(y2, edition_.drops_residuals ? model_.resid_pdrop : 0);
  }

  // Head and loss as one op. If the op is kept whole, it belongs to the frame of the loss.
  LinearCrossEntropy head_and_loss(ValueId x) {  // (B, T, C)
    const NodeAnnotations outer = build_.current;
    build_.current.scope = kLoss;
    build_.current.frame = build_.function(kLoss);
    build_.current.region = {.layer = -1, .part = kLoss};
    build_.current.parts = {{kHead, build_.function(kForward), {.layer = -1, .part = kHead}},
                            {kLoss, build_.function(kLoss), build_.current.region}};
    const bool is_module = head_bias_.valid() || edition_.is_of_library;  // transformers' head is an nn.Linear
    const LinearForm form = is_module ? LinearForm::kLinear : LinearForm::kEinsum;
    const LinearCrossEntropy outputs = linear_cross_entropy(build_, x, head_weight_, head_bias_, inputs_.targets,
                                                            {.linear = form, .loss = edition_.loss});
    build_.current = outer;
    return outputs;
  }

  ModelBuilder& build_;
  const ModelConfig& model_;
  const GptEdition& edition_;
  TokenInputs inputs_;
  ValueId token_table_;
  ValueId position_table_;  // invalid if the model has none
  std::vector<Block> blocks_;
  std::optional<nn::Norm> ln_final_;
  ValueId head_weight_;
  ValueId head_bias_;  // invalid if the model has none
};

// The loss is the mean cross entropy over all positions.
ModelOutputs build_gpt(ModelBuilder& build, const ModelConfig& model) { return Gpt(build, model).run(); }

// A model that is completely described sets every model option that was not given, except the batch. If a given option
// other than batch and context differs from the described model, the model becomes custom.
void fill_architecture(PartialConfig& partial, const NamedModel& named) {
  ModelConfig& model = partial.config.model;
  bool as_named = true;
  ModelConfig::visit_fields(model, [&](const Option& option, auto& field) {
    if (option.flag == "model" || option.flag == "batch") return;
    ModelConfig::visit_fields(named.model, [&](const Option& other, const auto& value) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, std::remove_cvref_t<decltype(value)>>) {
        if (other.flag != option.flag) return;
        partial.fill(field, value);
        as_named = as_named && (field == value || option.flag == "context");
      }
    });
  });
  partial.fill(partial.config.weights, named.weights);
  model.name = as_named ? named.model.name : std::string(kCustomModel);
}

// Takes the dimensions that were not given from the preset, but sets d_ff to 4 d_model if d_model was given. If the
// result differs from the preset, the model becomes custom. Without a preset, rejects missing dimensions.
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
  partial.fill(model.batch_size, defaults.batch_size);
  partial.fill(config.seed, defaults.seed);
  partial.fill(config.optimizer, defaults.optimizer);
  if (config.steps) partial.fill(config.warmup, defaults.warmup);
  if (config.warmup) partial.fill(config.steps, defaults.steps);
  if (partial.named) return fill_architecture(partial, *partial.named);
  const ModelPreset* const preset = find_preset(model.name, implied_edition(model.name).value_or(model.edition));
  const ModelPreset none{};
  const ModelPreset& named = preset != nullptr ? *preset : none;
  partial.fill(model.vocab_size, named.vocab_size.value_or(defaults.vocab_size));
  partial.fill(model.context_length, named.context_length.value_or(defaults.context_length));
  partial.fill(model.weight_tie, defaults.weight_tie);
  partial.fill(model.bias, defaults.bias);
  partial.fill(model.attention_bias, defaults.projection_bias);
  partial.fill(model.mlp_bias, defaults.projection_bias);
  partial.fill(model.parallel_residual, defaults.parallel_residual);
  if (defaults.rotary_share != 1) partial.fill(model.rotary_share, std::optional(defaults.rotary_share));
  fill_dimensions(partial, preset);
}

bool takes(const GptEdition& edition, std::string_view flag) {
  return std::ranges::find(edition.takes, flag) != edition.takes.end();
}

// "2024 or gpt2": the editions that `matches` selects; empty if there are none.
template <class Matches>
std::string editions_that(const Matches& matches) {
  std::vector<std::string_view> names;
  for (const GptEdition& edition : gpt_editions()) {
    if (matches(edition)) names.push_back(name_of(edition.edition));
  }
  return joined(names, " or ");
}

// Throws Error if an option differs from its default although the edition does not have it, or if biases are off in an
// edition that always has them.
void check_edition(const ModelConfig& model, const GptEdition& edition) {
  const ModelConfig usual;
  ModelConfig::visit_fields(model, [&](const Option& option, const auto& field) {
    if (takes(edition, option.flag) || text_of(option, field) == option_text(usual, option.flag)) return;
    const std::string editions = editions_that([&](const GptEdition& one) { return takes(one, option.flag); });
    if (editions.empty()) return;  // every edition has the option
    throw Error::format("edition {} has no --{}; leave it out, or use --edition {}", name_of(model.edition),
                        option.flag, editions);
  });
  if (edition.defaults.bias && !model.bias) {
    throw Error::format("edition {} always has biases; leave --bias out, or use --edition 2024",
                        name_of(model.edition));
  }
}

void check_heads(const ModelConfig& model, const GptEdition& edition) {
  if (model.num_heads % model.kv_heads() != 0) {
    throw Error::format("num_kv_heads ({}) must divide num_heads ({}); change --num-kv-heads", model.kv_heads(),
                        model.num_heads);
  }
  if (edition.rope && !rotates_pairs(model)) {
    throw Error::format(
        "RoPE rotates pairs of elements, so it cannot rotate {} of the {} elements of a head; change --d-model, "
        "--num-heads, --head-dim or --rotary-share",
        rotated_width(model), model.d_head());
  }
}

// The largest valid number of heads with at least 64 columns each; a single head may be narrower. 0 if none is valid.
int64_t fitting_heads(ModelConfig model, const GptEdition& edition) {
  constexpr int64_t kUsualHead = 64;
  for (model.num_heads = std::max<int64_t>(1, model.d_model / kUsualHead); model.num_heads > 0; --model.num_heads) {
    const bool divides = model.d_model % model.num_heads == 0 && model.num_heads % model.kv_heads() == 0;
    if (divides && (!edition.rope || rotates_pairs(model))) break;
  }
  return model.num_heads;
}

void check(const RunConfig& config) {
  const ModelConfig& model = config.model;
  const GptEdition& edition = gpt_edition(model.edition);
  if (!model.causal || model.projections) {
    throw Error::format("--{} needs --model attention; a language model is always causal and always has projections",
                        model.projections ? "projections" : "causal false");
  }
  if (!model.head_dim && model.d_model % model.num_heads != 0) {
    const int64_t heads = fitting_heads(model, edition);
    throw Error::format("d_model ({}) must be divisible by num_heads ({}); give {}another --d-model", model.d_model,
                        model.num_heads, heads > 0 ? fmt::format("--num-heads {}, or ", heads) : "");
  }
  check_edition(model, edition);
  check_heads(model, edition);
  if (model.pad_token && *model.pad_token >= model.vocab_size) {
    throw Error::format("--pad-token {} is outside the vocabulary of {}; give at most {}", *model.pad_token,
                        model.vocab_size, model.vocab_size - 1);
  }
  if (model.max_context && config.step_context() > *model.max_context) {
    throw Error::format("context {} is longer than the {} of {}; give --context {}", config.step_context(),
                        edition.rope ? "sliding window" : "position table", *model.max_context, *model.max_context);
  }
  if (config.crop_context && edition.rope) {
    throw Error::format(
        "--crop-context needs a position table, and edition {} has none; give --edition {}, or use --context instead",
        name_of(model.edition), editions_that([](const GptEdition& one) { return !one.rope; }));
  }
}

std::string describe(const ModelConfig& model) {
  std::string text =
      fmt::format("edition {}, {} x {}, {}, d_ff {}, vocabulary {}, batch {} x {} tokens", name_of(model.edition),
                  counted(model.num_layers, "layer"), model.d_model, counted(model.num_heads, "head"), model.d_ff,
                  model.vocab_size, model.batch_size, model.context_length);
  if (model.kv_heads() != model.num_heads) text += fmt::format(", {}", counted(model.kv_heads(), "key-value head"));
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
