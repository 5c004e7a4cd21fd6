// Writes weights and the inputs of each step into an executor.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/run_config.h"
#include "data/tokens.h"
#include "data/weights.h"
#include "exec/executor.h"

namespace laptime {

// Writes the parameters, the inputs of the attention model and the first loss scale, according to the configuration.
// AdamW state and kept gradients keep their initial zeros. The values do not depend on the number of threads.
void fill_weights(Executor& executor, const RunConfig& config, const StartingWeights& weights, int threads);

// Tokens, targets, step number and learning rate of consecutive steps, for a language model.
class StepInputs {
 public:
  // Throws Error if the configured data file cannot be read.
  explicit StepInputs(const RunConfig& config);

  // Writes the inputs of step `step` (counted from 0) to the executor.
  void write(Executor& executor, int64_t step);

 private:
  RunConfig config_;
  std::unique_ptr<TokenSource> source_;  // null for a model without tokens
  std::vector<int64_t> tokens_;
  std::vector<int64_t> targets_;
  int64_t held_ = -1;  // batch that the executor currently has
};

}  // namespace laptime
