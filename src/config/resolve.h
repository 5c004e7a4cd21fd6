// From the options that were given to a whole point: what was not given follows from edition, model and the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.h"

namespace laptime {

struct GivenOption {
  std::string_view flag;
  std::string_view text;  // a value that the option accepts
};

struct ResolvedConfig {
  RunConfig config;
  std::string invalid;  // why such a point cannot exist; empty: it can
};

// Names and dimensions from the model's row, batch, context, vocabulary, seed and optimizer from the edition, warmup
// or steps from the edition where the other one is given, batches from the data. Error for an unknown option or a value
// that its option refuses; a point that contradicts itself is `invalid`, with everything else filled in.
ResolvedConfig resolve(const std::vector<GivenOption>& given);

}  // namespace laptime
