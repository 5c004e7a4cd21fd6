// Reads the config.json of a model of the library transformers, in the keys of its versions 4 and 5.
#pragma once

#include <string>
#include <string_view>

#include "config/model_config.h"

namespace laptime {

// Files of weights beside a config.json: one, or an index of several.
inline constexpr std::string_view kWeightsFile = "model.safetensors";
inline constexpr std::string_view kWeightsIndex = "model.safetensors.index.json";

// The architecture that the file describes; `name` and `batch_size` keep their defaults. Error with the key that is
// missing or malformed, or that asks for an unsupported computation.
ModelConfig read_model_config(const std::string& path);
ModelConfig parse_model_config(std::string_view text, const std::string& name);

}  // namespace laptime
