// The named models: all sizes and aliases in one table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "config/model_config.h"

namespace laptime {

inline constexpr std::string_view kCustomModel = "custom";  // dimensions given by the user
// True if a canonical model name is the path of a config.json or model folder: it contains a slash or ends in ".json".
bool is_model_path(std::string_view name);

inline constexpr std::string_view kAttentionModel = "attention";  // only scaled dot-product attention

struct ModelPreset {
  std::string_view name = {};
  std::string_view alias = {};  // empty: none
  int64_t d_model = 0;
  int64_t d_ff = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  std::optional<Edition> only = {};        // the edition in which the name has these dimensions; none: every edition
  bool implies_edition = false;            // the name alone selects the edition in `only`
  std::optional<int64_t> vocab_size = {};  // none: the edition's default
  std::optional<int64_t> context_length = {};
  std::string_view card = "gpt";  // name of its ModelCard (model/model_card.cpp)
};

std::span<const ModelPreset> model_presets();

// The preset for a canonical name in an edition; nullptr for a name that the edition lacks, and for names without a
// preset: "custom", known_models and paths.
const ModelPreset* find_preset(std::string_view name, Edition edition);

// The name of the ModelCard for a canonical model name.
std::string_view card_name(std::string_view name);

// The model name for a name or alias, ignoring case; empty for any other word.
std::string_view known_name(std::string_view word);

// The edition that the name of a preset implies ("gpt2-124M", "8B"); none for any other name.
std::optional<Edition> implied_edition(std::string_view name);

}  // namespace laptime
