// ModelBuilder: a graph builder with functions that declare the parameters and inputs of a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/run_config.h"
#include "graph/builder.h"
#include "model/parameters.h"

namespace laptime {

struct DeclaredSource {
  ParameterSpec spec;
  ValueId value;  // the whole tensor
  ValueId shard;  // the rank's chunk if ranks divide the parameter, otherwise invalid
};

// The rank whose step is built, and the tensors that the ranks divide.
struct RankShare {
  int64_t ranks = 1;
  int64_t rank = 0;
  Shard shard = Shard::kNone;

  // True if the ranks divide the optimizer state of a tensor with this many elements.
  bool divides(int64_t elements) const { return ranks > 1 && shard != Shard::kNone && elements % ranks == 0; }
};

// The inputs of a language model.
struct TokenInputs {
  ValueId tokens;   // int64 (B, T)
  ValueId step;     // int64 [], counted from 1; used by dropout and the optimizer
  ValueId targets;  // int64 (B, T)
};

class ModelBuilder : public Builder {
 public:
  // `real` is the type of parameters and inputs; `seed` is the seed of dropout.
  explicit ModelBuilder(DType real, uint64_t seed = 0, const RankShare& share = {})
      : real_(real), seed_(seed), share_(share) {}

  DType real() const { return real_; }
  const RankShare& share() const { return share_; }
  // The seed of dropout. A mask depends on the sum of the seed and the step, so consecutive seeds would repeat the
  // masks of later steps. Every micro-batch but the first therefore combines the seed with a hash of its own index.
  uint64_t seed() const { return micro_batch_ == 0 ? seed_ : seed_ ^ splitmix64(static_cast<uint64_t>(micro_batch_)); }

  // The model is built again for each micro-batch: existing parameters are found by name, and inputs are the rows
  // [begin, end) of `batch_size` rows.
  struct MicroBatch {
    int64_t index = 0;
    int64_t begin = 0, end = 0;
    int64_t batch_size = 0;
  };
  void select(const MicroBatch& micro_batch);
  // The name under which a function of the eager program runs in the current micro-batch: "forward" in the first,
  // "forward#1" in the second.
  std::string function(const char* name) const;

  // Declares a parameter of the current module; `spec.name` is relative to the module. The order of declaration is the
  // order of gradients, clipping and updates. If the ranks divide parameters, the value is gathered from all ranks.
  ValueId parameter(ParameterSpec spec);
  // Declares a floating-point input with standard normal values, for which a gradient is also computed.
  ValueId input(const std::string& name, std::vector<int64_t> shape);
  // Declares the inputs of a language model; call it after all parameters are declared.
  TokenInputs token_inputs(int64_t batch_size, int64_t context_length);

  const std::vector<DeclaredSource>& parameters() const { return parameters_; }
  const std::vector<DeclaredSource>& inputs() const { return inputs_; }

 private:
  DeclaredSource declare(ParameterSpec spec, Role role);
  TokenInputs part_of(const TokenInputs& whole);

  DType real_;
  uint64_t seed_;
  RankShare share_;
  int64_t micro_batch_ = 0;
  std::optional<MicroBatch> rows_;  // none: the whole batch
  std::vector<DeclaredSource> parameters_;
  std::vector<DeclaredSource> inputs_;
};

}  // namespace laptime
