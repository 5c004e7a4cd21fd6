// The defaults of each edition, and the order in which options that were not given are filled in.
#include "config/resolve.h"

#include <set>

#include "base/error.h"
#include "config/model_presets.h"

namespace laptime {
namespace {

struct EditionDefaults {
  int64_t context_length;
  int64_t batch_size;
  int64_t vocab_size;
  int64_t seed;
  Optimizer optimizer;
  bool weight_tie;
  bool bias;
  int64_t warmup;  // where steps is given
  int64_t steps;   // where warmup is given
};

EditionDefaults defaults_of(Edition edition) {
  constexpr int64_t kSeed = 1;
  switch (edition) {
    case Edition::k2024: return {128, 16, 10'000, 20'230'310, Optimizer::kTorch, false, false, 1, 5};
    case Edition::k2025: return {256, 4, 10'000, kSeed, Optimizer::k2025, false, false, 5, 10};
    case Edition::k2026: return {512, 4, 10'000, kSeed, Optimizer::k2026, false, false, 5, 10};
    case Edition::kGpt2: return {1024, 4, 50'257, kSeed, Optimizer::kTorch, true, true, 5, 10};
  }
  LAPTIME_CHECK(false, "edition {}", static_cast<int>(edition));
  return {};
}

// Fills the fields of one configuration that were not given.
class Filling {
 public:
  explicit Filling(const std::vector<GivenOption>& options) {
    for (const GivenOption& one : options) assign(one);
  }

  ResolvedConfig finish() {
    ModelConfig& model = config_.model;
    const std::optional<Edition> implied = implied_edition(model.name);
    fill(model.edition, implied.value_or(Edition::k2025));
    if (implied && *implied != model.edition) {
      invalid_ = fmt::format("model {} is of edition {}, not {}; leave --edition out", model.name, name_of(*implied),
                             name_of(model.edition));
    }
    refuse_what_attention_has_not();
    const EditionDefaults defaults = defaults_of(model.edition);
    const ModelPreset* const preset = find_preset(model.name, implied.value_or(model.edition));
    fill(model.vocab_size, preset != nullptr ? preset->vocab_size.value_or(defaults.vocab_size) : defaults.vocab_size);
    fill(model.context_length,
         preset != nullptr ? preset->context_length.value_or(defaults.context_length) : defaults.context_length);
    constexpr int64_t kAttentionBatch = 8;
    fill(model.batch_size, model.is_attention() ? kAttentionBatch : defaults.batch_size);
    fill(model.weight_tie, defaults.weight_tie);
    fill(model.bias, defaults.bias);
    if (model.is_attention()) fill(config_.pass, Pass::kForwardBackward);
    fill(config_.seed, defaults.seed);
    fill(config_.optimizer, defaults.optimizer);
    if (config_.steps) fill(config_.warmup, defaults.warmup);
    if (config_.warmup) fill(config_.steps, defaults.steps);
    const bool may_recompute = config_.memory_limit && !model.is_attention();
    fill(config_.recompute, std::string(may_recompute ? "auto" : "none"));
    fill(config_.batches, config_.data.empty() ? Batches::kFixed : Batches::kFresh);
    fill_dimensions(preset);
    try {
      if (invalid_.empty()) validate(config_);
    } catch (const Error& error) {
      invalid_ = error.what();
    }
    return {config_, invalid_};
  }

 private:
  void assign(const GivenOption& one) {
    bool found = false;
    RunConfig::visit_fields(config_, [&](const Option& option, auto& field) {
      if (option.flag != one.flag) return;
      parse_value(option, fmt::format("--{}", option.flag), one.text, field);
      given_.insert(&field);
      found = true;
    });
    if (!found) throw Error::format("unknown option --{}", one.flag);
  }

  template <class T>
  bool is_given(const T& field) const {
    return given_.count(&field) > 0;
  }

  template <class T, class Value>
  void fill(T& field, const Value& value) {
    if (!is_given(field)) field = value;
  }

  // An option that would do nothing is one that was meant for another model.
  void refuse_what_attention_has_not() {
    if (!config_.model.is_attention() || !invalid_.empty()) return;
    RunConfig::visit_fields(config_, [&](const Option& option, const auto& field) {
      const bool does_nothing = is_given(field) && option.flag != "edition" && !option.of_attention;
      if (does_nothing && invalid_.empty())
        invalid_ = fmt::format("model attention has no --{}; leave it out", option.flag);
    });
  }

  void fill_dimensions(const ModelPreset* preset) {
    ModelConfig& model = config_.model;
    if (model.is_attention()) {
      fill(model.d_model, preset->d_model);
      model.d_ff = preset->d_ff;
      model.num_layers = preset->num_layers;
      model.num_heads = preset->num_heads;
      return;
    }
    if (preset == nullptr) {
      const bool enough = is_given(model.d_model) && is_given(model.num_layers) && is_given(model.num_heads);
      if (!enough && invalid_.empty()) {
        invalid_ = "model custom needs --d-model, --num-layers and --num-heads (and --d-ff, if it is not 4 x d-model)";
      }
      if (is_given(model.d_model)) fill(model.d_ff, 4 * model.d_model);
      return;
    }
    if (is_given(model.d_model))
      fill(model.d_ff, 4 * model.d_model);
    else
      fill(model.d_ff, preset->d_ff);
    fill(model.d_model, preset->d_model);
    fill(model.num_layers, preset->num_layers);
    fill(model.num_heads, preset->num_heads);
    const bool as_named = model.d_model == preset->d_model && model.d_ff == preset->d_ff &&
                          model.num_layers == preset->num_layers && model.num_heads == preset->num_heads;
    if (!as_named) model.name = "custom";
  }

  RunConfig config_;
  std::set<const void*> given_;  // addresses of fields of config_
  std::string invalid_;
};

}  // namespace

ResolvedConfig resolve(const std::vector<GivenOption>& given) { return Filling(given).finish(); }

}  // namespace laptime
