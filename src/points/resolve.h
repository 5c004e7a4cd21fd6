// Resolves the given options to a complete configuration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/validate.h"

namespace laptime {

struct GivenOption {
  std::string_view flag;
  std::string_view text;  // a valid value of the option
};

struct ResolvedConfig {
  RunConfig config;
  std::string invalid;  // why the point is invalid; empty if it is valid
};

// Options that were not given take their defaults: the edition from the model name, model options from the model's card
// (model/model_card.h), recompute from the memory limit and the ranks, the loss scale from the number type, batches
// from the data. Throws Error for an unknown option, an invalid value and a model file that cannot be used;
// contradictory options are reported in `invalid`, with the rest of the configuration filled in.
ResolvedConfig resolve(const std::vector<GivenOption>& given, SizeChecks& sizes);
ResolvedConfig resolve(const std::vector<GivenOption>& given);

}  // namespace laptime
