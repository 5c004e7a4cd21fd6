// Models that a name or a file describes whole: well-known ones, and those of a config.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/model_config.h"

namespace laptime {

struct NamedModel {
  ModelConfig model;    // all but the batch; `name` is what tables show
  std::string weights;  // the folder, where it has weights; empty: none
};

// The model of a canonical name: a row of known_models, or the path of a config.json or of a folder with one. None for
// a size of model_presets and "custom". Error if a file cannot be read or describes no model that is supported.
std::optional<NamedModel> named_model(std::string_view name);

}  // namespace laptime
