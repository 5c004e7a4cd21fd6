// One training step as a graph (forward, loss, symbolic gradients, clipping, optimizer), and the names of its sources
// and outputs.
#pragma once

#include "config/run_config.h"
#include "graph/graph.h"

namespace laptime {

// The source of a parameter has the parameter's name; the sources of its AdamW state and its kept gradient have that
// name after a prefix. With --shard, the AdamW state on a rank is a vector: the rank's chunk of the elements. With
// --shard parameters, the parameter is such a chunk, too. A tensor whose number of elements is not divisible by the
// ranks is whole on every rank.
namespace source {
inline constexpr const char* kTokens = "tokens";    // int64 (B, T), sequences of the rank
inline constexpr const char* kTargets = "targets";  // int64 (B, T)
inline constexpr const char* kStep = "step";        // int64 [], counted from 1
inline constexpr const char* kLr = "lr";            // float32 []
inline constexpr const char* kFirstMoment = "m/";
inline constexpr const char* kSecondMoment = "v/";
inline constexpr const char* kGradient = "grad/";              // kept by --accumulate; after clipping
inline constexpr const char* kLossScale = "loss_scale";        // float32 []
inline constexpr const char* kGoodSteps = "good_steps";        // steps since the last overflow or growth of the scale
inline constexpr const char* kAppliedSteps = "applied_steps";  // number of steps without overflow
}  // namespace source

namespace output {
inline constexpr const char* kLoss = "loss";           // [], language models only
inline constexpr const char* kValues = "values";       // the output of other models
inline constexpr const char* kLogits = "logits";       // (B, T, V), only if requested, and without --micro-batches
inline constexpr const char* kGradNorm = "grad_norm";  // [], before clipping, only with clip_norm
inline constexpr const char* kGradient = "grad/";      // prefix of parameter names; before clipping (build_train_step)
}  // namespace output

struct StepOutputs {
  bool logits = false;     // keep the logits until the step ends
  bool gradients = false;  // keep every gradient until the step ends, even with --pass step
  int64_t rank = 0;        // rank whose step is built, below config.ranks
};

// The graph for config.pass, before it is rewritten. For Pass::kForward it still contains backward, which
// passes/saved.h removes later. `real` is the type of parameters: float32, or float64 for a reference run. If
// config.pass ends in backward, or keep.gradients is set, the gradients of parameters and of floating-point inputs are
// outputs, except with --accumulate. With --loss-scale, they are gradients of the scaled loss, except that --pass
// step unscales them.
Graph build_train_step(const RunConfig& config, const StepOutputs& keep = {}, DType real = DType::kFloat32);

}  // namespace laptime
