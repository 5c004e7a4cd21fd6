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

// Writes the parameters, the inputs of the attention model and the initial loss scale according to the configuration;
// does nothing if the executor only predicts. AdamW states and accumulated gradients keep their initial zeros. The
// values do not depend on the number of threads. If the ranks divide a parameter, each rank gets its chunk.
void fill_weights(Executor& executor, const RunConfig& config, const StartingWeights& weights, int64_t threads,
                  int64_t rank = 0);

// Tokens, targets, step number and learning rate of successive steps of a language model. In each micro-batch, a rank
// gets its share of the sequences.
class StepInputs {
 public:
  // Throws Error if the data files of the configuration cannot be read or do not suit the model.
  explicit StepInputs(const RunConfig& config, int64_t rank = 0);

  // Writes the inputs of step `step` (counted from 0) to the executor.
  void write(Executor& executor, int64_t step);

 private:
  void write_rows(Executor& executor, const char* source, const std::vector<int64_t>& ids) const;

  RunConfig config_;
  int64_t rank_;
  std::unique_ptr<TokenSource> source_;  // null for a model without tokens
  std::vector<int64_t> tokens_;
  std::vector<int64_t> targets_;
  int64_t held_ = -1;  // batch that the executor holds; -1: none
};

}  // namespace laptime
