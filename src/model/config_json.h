// Reads the config.json of a model from the transformers library, with the keys of versions 4 and 5.
#pragma once

#include <string>
#include <string_view>

#include "config/model_config.h"

namespace laptime {

// Weight files next to a config.json: a single file, or an index of several.
inline constexpr std::string_view kWeightsFile = "model.safetensors";
inline constexpr std::string_view kWeightsIndex = "model.safetensors.index.json";

// The architecture that the file describes; ModelConfig's `name` and `batch_size` keep their defaults. Throws Error
// with the key that is missing or malformed, or that requires an unsupported computation. parse_model_config takes the
// text of the file, and `name` for messages.
ModelConfig read_model_config(const std::string& path);
ModelConfig parse_model_config(std::string_view text, const std::string& name);

}  // namespace laptime
