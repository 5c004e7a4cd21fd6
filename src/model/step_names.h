// Names of the sources and outputs of a step.
#pragma once

namespace laptime {

// A parameter's source has its own name; its AdamW state and kept gradient stand behind a prefix.
namespace source {
inline constexpr const char* kTokens = "tokens";    // int64 (B, T)
inline constexpr const char* kTargets = "targets";  // int64 (B, T)
inline constexpr const char* kStep = "step";        // int64 [], counted from 1
inline constexpr const char* kLr = "lr";            // float32 []
inline constexpr const char* kFirstMoment = "m/";
inline constexpr const char* kSecondMoment = "v/";
inline constexpr const char* kGradient = "grad/";
}  // namespace source

namespace output {
inline constexpr const char* kLoss = "loss";           // []; of language models
inline constexpr const char* kValues = "values";       // of other models: what they compute
inline constexpr const char* kLogits = "logits";       // (B, T, V); only where asked for
inline constexpr const char* kGradNorm = "grad_norm";  // [], before clipping; only with clip_norm
inline constexpr const char* kGradient = "grad/";      // + parameter, before clipping; of passes that end in backward
}  // namespace output

}  // namespace laptime
