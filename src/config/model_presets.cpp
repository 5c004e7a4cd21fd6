// The table of named models, and look-up by name or alias.
#include "config/model_presets.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/ranges.h"
#include "base/words.h"
#include "config/known_models.h"
#include "config/synonyms.h"

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

// "https://huggingface.co/meta-llama/Llama-3.2-1B" without the host.
std::string_view without_host(std::string_view word) {
  for (const std::string_view prefix : {"https://", "huggingface.co/"})
    if (word.starts_with(prefix)) word.remove_prefix(prefix.size());
  return word;
}

}  // namespace

std::span<const ModelPreset> model_presets() { return kPresets; }

const ModelPreset* find_preset(std::string_view name, Edition edition) {
  const auto* const found = std::find_if(kPresets.begin(), kPresets.end(), [&](const ModelPreset& preset) {
    return preset.name == name && (!preset.only || *preset.only == edition);
  });
  return found == kPresets.end() ? nullptr : found;
}

std::string_view card_name(std::string_view name) {
  const ModelPreset* const found = find_in(kPresets, name, &ModelPreset::name);
  return found == nullptr ? ModelPreset{}.card : found->card;
}

bool is_model_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json");
}

std::optional<Edition> implied_edition(std::string_view name) {
  for (const ModelPreset& preset : kPresets) {
    if (preset.name == name && preset.implies_edition) return preset.only;
  }
  return std::nullopt;
}

std::string_view known_name(std::string_view word) {
  const std::string lower_word = lowered(word);
  if (lower_word == kCustomModel) return kCustomModel;
  for (const ModelPreset& preset : kPresets) {
    if (lower_word == lowered(preset.name)) return preset.name;
    if (!preset.alias.empty() && lower_word == lowered(preset.alias)) return preset.name;
  }
  const KnownModel* const model = find_known_model(word);
  return model == nullptr ? "" : model->name;
}

std::string canonical_model_name(std::string_view where, std::string_view word) {
  if (const std::string_view name = known_name(word); !name.empty()) return std::string(name);
  std::error_code unreadable;
  if (std::filesystem::exists(word, unreadable))
    return is_model_path(word) ? std::string(word) : fmt::format("./{}", word);
  const std::string_view page = without_host(word);
  const bool is_place = page.starts_with('/') || page.starts_with('.') || std::ranges::count(page, '/') > 1;
  const std::string_view last = page.substr(page.rfind('/') + 1);
  if (const std::string_view name = known_name(last); !is_place && !name.empty())
    return std::string(name);  // "meta-llama/Llama-3.2-1B"
  if (is_place || (is_model_path(word) && hint_for("model", word).empty())) {
    throw Error::format("{}: no file or folder {} exists; give a config.json, or a model folder that contains one",
                        where, quote(word));
  }
  std::vector<std::string_view> known{kCustomModel};
  for (const ModelPreset& preset : kPresets) {
    if (known.back() != preset.name) known.push_back(preset.name);
  }
  for (const KnownModel& model : known_models()) known.push_back(model.name);
  const std::string hint = hint_for("model", word);
  throw Error::format("{}: unknown model {}{} (see laptime list models)", where, quote(word),
                      hint.empty() ? did_you_mean(word, known) : hint);
}

std::string rope_scaling_word(const RopeScalingWord& scaling) {
  if (scaling.factor == 1) return "none";
  return fmt::format("llama3:{}:{}:{}:{}", scaling.factor, scaling.low_factor, scaling.high_factor,
                     scaling.original_context);
}

RopeScalingWord parse_rope_scaling(std::string_view canonical_word) {
  RopeScalingWord scaling;
  double* const numbers[] = {&scaling.factor, &scaling.low_factor, &scaling.high_factor, &scaling.original_context};
  std::string_view rest = canonical_word;
  for (double* const number : numbers) {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
    const auto [stop, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), *number);
    const bool ends = stop == rest.data() + rest.size() || *stop == ':';
    if (problem != std::errc() || !ends || !std::isfinite(*number)) *number = 0;  // canonical_rope_scaling rejects 0
  }
  return scaling;
}

std::string canonical_rope_scaling(std::string_view where, std::string_view word) {
  if (word == "none") return std::string(word);
  const RopeScalingWord scaling = parse_rope_scaling(word);
  const bool is_valid = word.starts_with("llama3:") && std::count(word.begin(), word.end(), ':') == 4 &&
                        scaling.factor >= 1 && scaling.low_factor > 0 && scaling.high_factor > scaling.low_factor &&
                        scaling.original_context >= 1;
  if (!is_valid) {
    throw Error::format(
        "{}: {} is not a RoPE scaling; write none, or llama3:FACTOR:LOW:HIGH:CONTEXT such as llama3:8:1:4:8192", where,
        quote(word));
  }
  return rope_scaling_word(scaling);
}

}  // namespace laptime
