// The values a step starts from: weights into an executor, and the inputs of each step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/run_config.h"
#include "data/tokens.h"
#include "data/weights.h"
#include "exec/executor.h"

namespace laptime {

// Parameters from the configuration's file, initialisation or streams, the inputs of attention alone in the same way;
// AdamW state and kept gradients stay the zeros that they are from the start. Threads share the work; the values do not
// depend on how many.
void fill_weights(Executor& executor, const RunConfig& config, const StartingWeights& weights, int threads);

// Tokens, targets, step number and learning rate of one step after the other, as far as the step reads them.
class StepInputs {
 public:
  // Error when the configuration's data cannot be read.
  explicit StepInputs(const RunConfig& config);

  // Brings step `step` (from 0) into the executor.
  void bring(Executor& executor, int64_t step);

 private:
  RunConfig config_;
  std::unique_ptr<TokenSource> source_;  // null for attention alone, which has no tokens
  std::vector<int64_t> tokens_;
  std::vector<int64_t> targets_;
  int64_t held_ = -1;  // the batch in the executor
};

}  // namespace laptime
