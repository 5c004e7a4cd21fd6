// The list of model cards, and lookup by name.
#include "model/model_card.h"

#include <algorithm>

#include "config/model_presets.h"

namespace laptime {

// The folders of src/model/ that define a model; each offers <folder>_card().
#define LAPTIME_MODELS(row) row(gpt) row(attention)

#define LAPTIME_DECLARE(folder) const ModelCard& folder##_card();
LAPTIME_MODELS(LAPTIME_DECLARE)
#undef LAPTIME_DECLARE

std::span<const ModelCard* const> all_models() {
#define LAPTIME_ADDRESS(folder) &folder##_card(),
  static const ModelCard* const kCards[] = {LAPTIME_MODELS(LAPTIME_ADDRESS)};
#undef LAPTIME_ADDRESS
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
