// The list of model cards, expanded from model_list.inc, and look-up by name.
#include "model/model_card.h"

#include <algorithm>

#include "config/model_presets.h"

namespace laptime {

#define LAPTIME_MODEL(folder) const ModelCard& folder##_card();
#include "model/model_list.inc"
#undef LAPTIME_MODEL

std::span<const ModelCard* const> all_models() {
  static const ModelCard* const kCards[] = {
#define LAPTIME_MODEL(folder) &folder##_card(),
#include "model/model_list.inc"
#undef LAPTIME_MODEL
  };
  return kCards;
}

const ModelCard& card_of(std::string_view model_name) {
  const std::string_view name = card_name(model_name);
  for (const ModelCard* card : all_models()) {
    if (card->name == name) return *card;
  }
  LAPTIME_CHECK(false, "no card {} for model {}", name, model_name);
  return *all_models().front();
}

bool ModelCard::takes(std::string_view flag) const {
  return std::find(refused_options.begin(), refused_options.end(), flag) == refused_options.end();
}

}  // namespace laptime
