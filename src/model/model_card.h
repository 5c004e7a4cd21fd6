// ModelCard: everything that the rest of the program needs to know about a model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.h"
#include "model/model_builder.h"
#include "model/partial_config.h"

namespace laptime {

// Values computed by the forward pass of a model.
struct ModelOutputs {
  ValueId result;  // where backward starts: the loss [], or the output of a model without a loss
  ValueId logits;  // (B, T, V); invalid for a model without logits
};

struct ModelCard {
  std::string_view name = {};
  // True if the model reads tokens and targets and ends in a loss, so that an optimizer can train it. For other models,
  // backward starts from a gradient of ones.
  bool is_language_model = true;
  // Flags of options that do not apply to the model. A point with one of them is invalid.
  std::span<const std::string_view> refused_options = {};

  // Fills in the defaults that depend on the model; rejects the point if required options are missing.
  void (*fill_defaults)(PartialConfig&) = nullptr;
  // Throws Error with the reason if the model is invalid. The ranges of options and sizes are checked in validate.
  void (*check)(const RunConfig&) = nullptr;
  // Describes the model in one line: "edition 2025, 12 layers x 768, 12 heads, ...".
  std::string (*describe)(const ModelConfig&) = nullptr;
  // Names of the composites that a framework runs as one kernel in eager mode. All others that can be decomposed are
  // lowered.
  std::vector<std::string> (*kept_by_eager)(const ModelConfig&) = nullptr;
  // Declares parameters and inputs, then builds the forward pass with T = model.context_length. Variables that an eager
  // program would keep alive belong to the frame "forward", and those of the loss to "loss".
  ModelOutputs (*build)(ModelBuilder&, const ModelConfig& model) = nullptr;

  bool takes(std::string_view flag) const;
};

std::span<const ModelCard* const> all_models();

// The card of the model with this canonical name.
const ModelCard& card_of(std::string_view model_name);
inline const ModelCard& card_of(const ModelConfig& model) { return card_of(model.name); }

}  // namespace laptime
