// The forward graph of a GPT-style transformer, written in composites according to the edition.
#pragma once

#include "model/model_card.h"

namespace laptime {

// The loss is the mean cross entropy over all positions.
ModelOutputs build_gpt(ModelBuilder& build, const ModelConfig& model);

}  // namespace laptime
