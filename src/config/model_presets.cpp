// The table of named models, and look-up by name or alias.
#include "config/model_presets.h"

#include <algorithm>
#include <array>
#include <string>

namespace laptime {
namespace {

// clang-format off
constexpr std::array kPresets{
    //           name          alias   d_model  d_ff   layers heads
    ModelPreset{"small",       "S",    768,     3072,  12,    12},
    ModelPreset{"medium",      "M",    1024,    4096,  24,    16},
    ModelPreset{"large",       "L",    1280,    5120,  36,    20},
    ModelPreset{"xl",          "XL",   2560,    10240, 32,    32, Edition::k2026},  // must precede the general xl: the first match wins
    ModelPreset{"xl",          "XL",   1600,    6400,  48,    25},
    ModelPreset{"2.7B",        "2p7",  2560,    10240, 32,    32},
    ModelPreset{"10B",         "",     4608,    12288, 50,    36},
    ModelPreset{"gpt2-124M",   "",     768,     3072,  12,    12, Edition::kGpt2, true},
    ModelPreset{"gpt2-355M",   "",     1024,    4096,  24,    16, Edition::kGpt2, true},
    ModelPreset{"gpt2-774M",   "",     1280,    5120,  36,    20, Edition::kGpt2, true},
    ModelPreset{"gpt2-1558M",  "",     1600,    6400,  48,    25, Edition::kGpt2, true},
    ModelPreset{"8B",          "",     4096,    11008, 34,    32, Edition::k2026, true, 151'936, 32'768},
    ModelPreset{kAttentionModel, "",   64,      0,     1,     1,  Edition::k2025, true, 0, {}, "attention"},
};
// clang-format on

}  // namespace

std::span<const ModelPreset> model_presets() { return kPresets; }

const ModelPreset* find_preset(std::string_view name, Edition edition) {
  const auto* const found = std::find_if(kPresets.begin(), kPresets.end(), [&](const ModelPreset& preset) {
    return preset.name == name && (!preset.only || *preset.only == edition);
  });
  return found == kPresets.end() ? nullptr : found;
}

std::string_view card_name(std::string_view name) {
  const auto* const found =
      std::find_if(kPresets.begin(), kPresets.end(), [&](const ModelPreset& preset) { return preset.name == name; });
  return found == kPresets.end() ? ModelPreset{}.card : found->card;
}

std::optional<Edition> implied_edition(std::string_view name) {
  for (const ModelPreset& preset : kPresets) {
    if (preset.name == name && preset.implies_edition) return preset.only;
  }
  return std::nullopt;
}

std::string canonical_model_name(std::string_view where, std::string_view word) {
  if (word == kCustomModel) return std::string(word);
  std::vector<std::string_view> known{kCustomModel};
  for (const ModelPreset& preset : kPresets) {
    if (word == preset.name || (!preset.alias.empty() && word == preset.alias)) return std::string(preset.name);
    if (known.back() != preset.name) known.push_back(preset.name);
  }
  reject_word(where, "model", word, known);
}

}  // namespace laptime
