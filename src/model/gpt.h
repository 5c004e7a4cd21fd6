// The forward graph of a GPT-style transformer, written in composites, as each edition writes its modules.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/model_config.h"
#include "graph/builder.h"

namespace laptime {

// The step's sources that the model reads.
struct GptInputs {
  std::map<std::string, ValueId> parameters;  // by name, as parameter_list names them
  ValueId tokens;                             // int64 (B, T)
  ValueId targets;                            // int64 (B, T)
  ValueId step;                               // int64 [], counted from 1; keys dropout
  uint64_t seed = 0;                          // of dropout
};

// What it computes.
struct GptOutputs {
  ValueId loss;    // [], mean cross entropy
  ValueId logits;  // (B, T, V)
};

// T is the tokens' own length, at most model.context_length. The nodes belong to the frame "forward", those of the loss
// to "loss".
GptOutputs build_gpt(Builder& build, const ModelConfig& model, const GptInputs& inputs);

// Names of the composites that a framework runs as one kernel when the edition's modules run eagerly; all others with a
// decomposition are lowered.
std::vector<std::string> kept_by_eager(Edition edition);

}  // namespace laptime
