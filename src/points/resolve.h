// From the options that were given to a whole point: what was not given follows from edition, model and the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/validate.h"

namespace laptime {

struct GivenOption {
  std::string_view flag;
  std::string_view text;  // a value that the option accepts
};

struct ResolvedConfig {
  RunConfig config;
  std::string invalid;  // why such a point cannot exist; empty: it can
};

// The edition follows from the model's name, what belongs to the model from its card (model/model_card.h), recompute
// from the memory limit, batches from the data. Error for an unknown option or a value that its option refuses; a point
// that contradicts itself is `invalid`, with everything else filled in.
ResolvedConfig resolve(const std::vector<GivenOption>& given, SizeChecks& sizes);
ResolvedConfig resolve(const std::vector<GivenOption>& given);

}  // namespace laptime
