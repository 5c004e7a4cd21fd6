// ModelCard: everything a model must state about itself; nothing else asks which model it is.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.h"
#include "model/model_builder.h"
#include "model/partial_config.h"

namespace laptime {

// What the forward pass of a model computes.
struct ModelOutputs {
  ValueId result;  // backward starts here: the loss [], or the values of a model that has none
  ValueId logits;  // (B, T, V); invalid: none
};

struct ModelCard {
  std::string_view name = {};
  // It reads tokens and targets and ends in a loss, so an optimizer can train it. Any other model computes values from
  // its inputs, and its backward starts from a gradient of ones.
  bool is_language_model = true;
  // Flags of the options that mean nothing to it. A point that gives one is invalid: it was meant for another model.
  std::span<const std::string_view> refused_options = {};

  // Fills in the defaults of every option that was not given and does not follow from the run alone; rejects the point
  // where what was given does not suffice.
  void (*fill_defaults)(PartialConfig&) = nullptr;
  // Throws Error with the reason where such a model cannot exist. Ranges of options and sizes are checked elsewhere.
  void (*check)(const RunConfig&) = nullptr;
  // The model in one line.
  std::string (*describe)(const ModelConfig&) = nullptr;
  // Names of the composites that a framework runs as one kernel when the modules run eagerly; all others with a
  // decomposition are lowered.
  std::vector<std::string> (*kept_by_eager)(const ModelConfig&) = nullptr;
  // Declares parameters, then inputs, then builds the forward pass; T is model.context_length. Eager variables belong
  // to the frame "forward", those of a loss to "loss".
  ModelOutputs (*build)(ModelBuilder&, const ModelConfig& model) = nullptr;

  bool takes(std::string_view flag) const;
};

std::span<const ModelCard* const> all_models();

// The card of a model, by its name in the configuration.
const ModelCard& card_of(std::string_view model_name);
inline const ModelCard& card_of(const ModelConfig& model) { return card_of(model.name); }

}  // namespace laptime
