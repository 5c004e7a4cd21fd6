// Names of the sources and outputs of a step.
#pragma once

namespace laptime {

// The source of a parameter has the name of the parameter; its AdamW state and kept gradient add a prefix.
namespace source {
inline constexpr const char* kTokens = "tokens";    // int64 (B, T)
inline constexpr const char* kTargets = "targets";  // int64 (B, T)
inline constexpr const char* kStep = "step";        // int64 [], counted from 1
inline constexpr const char* kLr = "lr";            // float32 []
inline constexpr const char* kFirstMoment = "m/";
inline constexpr const char* kSecondMoment = "v/";
inline constexpr const char* kGradient = "grad/";
inline constexpr const char* kLossScale = "loss_scale";  // float32 []
inline constexpr const char* kGoodSteps = "good_steps";  // int64 [], since the last overflow or growth of the scale
inline constexpr const char* kAppliedSteps = "applied_steps";  // int64 [], of which no gradient overflowed
}  // namespace source

namespace output {
inline constexpr const char* kLoss = "loss";           // [], language models only
inline constexpr const char* kValues = "values";       // the output of other models
inline constexpr const char* kLogits = "logits";       // (B, T, V), only if StepOutputs asks for it
inline constexpr const char* kGradNorm = "grad_norm";  // [], before clipping, only with clip_norm
inline constexpr const char* kGradient = "grad/";      // + parameter, before clipping, if the pass ends in backward
}  // namespace output

}  // namespace laptime
