// The named models: every size and alias, in one table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "config/model_config.h"

namespace laptime {

inline constexpr std::string_view kCustomModel = "custom";        // dimensions of no named model
inline constexpr std::string_view kAttentionModel = "attention";  // scaled dot product attention and nothing else

struct ModelPreset {
  std::string_view name = {};
  std::string_view alias = {};  // empty: none
  int64_t d_model = 0;
  int64_t d_ff = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  std::optional<Edition> only = {};        // the name has these dimensions in this edition alone
  bool implies_edition = false;            // naming it chooses `only`
  std::optional<int64_t> vocab_size = {};  // where they differ from the edition's
  std::optional<int64_t> context_length = {};
  std::string_view card = "gpt";  // what kind of model it is (model/model_list.inc)
};

std::span<const ModelPreset> model_presets();

// The row for a canonical name in an edition; nullptr for "custom", and for a model that this edition does not have.
const ModelPreset* find_preset(std::string_view name, Edition edition);

// The card of a canonical name.
std::string_view card_name(std::string_view name);

// The edition that a model's name chooses by itself ("gpt2-124M", "8B"); none for sizes that every edition has.
std::optional<Edition> implied_edition(std::string_view name);

}  // namespace laptime
