// One training step as a graph: forward, loss, symbolic gradients, clipping, optimizer.
#pragma once

#include <cstdint>
#include <string>

#include "config/run_config.h"
#include "graph/graph.h"

namespace laptime {

// Names of the step's sources. A parameter's is its own; its AdamW state and kept gradient stand behind a prefix.
namespace source {
inline constexpr const char* kTokens = "tokens";    // int64 (B, T)
inline constexpr const char* kTargets = "targets";  // int64 (B, T)
inline constexpr const char* kStep = "step";        // int64 [], counted from 1
inline constexpr const char* kLr = "lr";            // float32 []
inline constexpr const char* kFirstMoment = "m/";
inline constexpr const char* kSecondMoment = "v/";
inline constexpr const char* kGradient = "grad/";
}  // namespace source

// Names of the step's outputs.
namespace output {
inline constexpr const char* kLoss = "loss";           // []; none of attention alone
inline constexpr const char* kValues = "values";       // of attention alone: what it computes
inline constexpr const char* kLogits = "logits";       // (B, T, V); only where asked for
inline constexpr const char* kGradNorm = "grad_norm";  // [], before clipping; only with clip_norm
inline constexpr const char* kGradient = "grad/";  // + parameter, before clipping; kept by passes that end in backward
}  // namespace output

struct StepOutputs {
  bool logits = false;     // keep the logits until the step ends
  bool gradients = false;  // keep every gradient until the step ends, also in `step`
};

// The graph of config.pass before any pass has run; `forward` still holds its gradients (passes/saved.h takes them
// off). `real` is the type of parameters: float32, or float64 for a reference run. Attention alone ignores `keep`: its
// values and gradients are outputs.
Graph build_train_step(const RunConfig& config, const StepOutputs& keep = {}, DType real = DType::kFloat32);

}  // namespace laptime
