// Fills in options that were not given, each after the options that it depends on.
#include "points/resolve.h"

#include <optional>

#include "base/error.h"
#include "config/model_presets.h"
#include "model/model_card.h"

namespace laptime {
namespace {

void assign(PartialConfig& partial, const GivenOption& given) {
  bool found = false;
  RunConfig::visit_fields(partial.config, [&](const Option& option, auto& field) {
    if (option.flag != given.flag) return;
    parse_value(option, fmt::format("--{}", option.flag), given.text, field);
    partial.mark_given(field);
    found = true;
  });
  if (!found) throw Error::format("unknown option --{}", given.flag);
}

void fill_edition(PartialConfig& partial) {
  ModelConfig& model = partial.config.model;
  partial.named = named_model(model.name);
  const std::optional<Edition> implied = partial.named ? partial.named->model.edition : implied_edition(model.name);
  partial.fill(model.edition, implied.value_or(model.edition));
  if (implied && *implied != model.edition) {
    partial.reject(fmt::format("model {} belongs to edition {}, not {}; leave out --edition", model.name,
                               name_of(*implied), name_of(model.edition)));
  }
}

// An option that does not affect the model is an error, because the user probably meant another model.
void reject_refused_options(PartialConfig& partial, const ModelCard& card) {
  const RunConfig& config = partial.config;
  RunConfig::visit_fields(config, [&](const Option& option, const auto& field) {
    if (!partial.is_given(field) || card.takes(option.flag)) return;
    partial.reject(fmt::format("model {} does not support --{}; leave it out", config.model.name, option.flag));
  });
}

}  // namespace

ResolvedConfig resolve(const std::vector<GivenOption>& given, SizeChecks& sizes) {
  PartialConfig partial;
  RunConfig& config = partial.config;
  for (const GivenOption& option : given) assign(partial, option);
  const ModelCard& card = card_of(config.model);
  fill_edition(partial);
  reject_refused_options(partial, card);
  card.fill_defaults(partial);
  const bool may_recompute = config.memory_limit && config.ranks == 1 && card.takes("recompute");
  partial.fill(config.recompute, std::string(may_recompute ? "auto" : "none"));
  const bool is_float16_step = config.pass == Pass::kStep && autocast_dtype(config.dtype) == DType::kFloat16;
  partial.fill(config.loss_scale, std::string(is_float16_step && card.takes("loss-scale") ? "dynamic" : "none"));
  partial.fill(config.batches, config.data.empty() ? Batches::kFixed : Batches::kFresh);
  try {
    if (partial.invalid.empty()) validate(config, sizes);
  } catch (const Error& error) {
    partial.reject(error.what());
  }
  return {config, partial.invalid};
}

ResolvedConfig resolve(const std::vector<GivenOption>& given) {
  SizeChecks sizes;
  return resolve(given, sizes);
}

}  // namespace laptime
