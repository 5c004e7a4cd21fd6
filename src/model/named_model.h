// Models that are completely described by a name or a file: well-known models, and models with a config.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "config/model_config.h"

namespace laptime {

struct NamedModel {
  ModelConfig model;    // everything except the batch; tables show its `name`
  std::string weights;  // the folder, if it contains weights; empty: none
};

// The model with a canonical name: a row of known_models, or the path of a config.json or of a folder with one. None
// for a size in model_presets and for "custom". Throws Error if a file cannot be read or describes an unsupported
// model, or if a folder has weights in another format.
std::optional<NamedModel> named_model(std::string_view name);

// The config.json of a model path (is_model_path): the path itself, or the file in that folder.
std::filesystem::path config_file_of(std::string_view path);

}  // namespace laptime
