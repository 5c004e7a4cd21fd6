// ParallelPlan: time and memory of a step on several devices, and the search for the fastest plan that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/described_run.h"
#include "cluster/rank_share.h"
#include "predict/rank_bytes.h"

namespace laptime {

// Steps whose times differ by at most this fraction take equally long, as far as a prediction can tell.
inline constexpr double kSameTime = 1e-3;

struct ParallelPlan {
  std::string point{};  // settings that distinguish its point: "ctx 256, bfloat16"; empty if all points share them
  DescribedRun run;
  std::string refusal{};  // why the plan cannot be predicted; empty if it can
  ParallelTime time{};
  std::optional<double> low{}, high{};  // 90 % interval of the time, from known runs; none without comparable runs
  RankBytes bytes{};
  double available = 0;  // bytes of a device that a program may use; at most --memory-limit
  std::string remedy{};  // options that make the plan fit; empty if it fits, or if no options help

  bool fits() const { return refusal.empty() && bytes.total() <= available; }
  double tokens_per_second() const { return run.tokens / time.step; }
};

// How ranks divide a step, and which activations they recompute.
struct ParallelChoice {
  ParallelLayout layout;
  Checkpointing checkpointing = Checkpointing::kNone;
  int64_t micro_batches = 1;  // micro-batches per rank

  std::string brief() const;  // "shard parameters, tensor 2, 4 micro, recompute"
  std::string words() const;  // "--shard parameters --tensor-parallel 2 --micro-batches 4 --recompute block"
};

// `config` is the step of all ranks, including their whole batch, on one described machine.
ParallelPlan plan_parallel(const RunConfig& config, Program program, const ParallelChoice& choice, SharePlans& plans);

// Options that make the step fit. Tries combinations of recomputation, sharded parameters, more micro-batches and more
// tensor parallel ranks, in this order, and returns the first that fits, with the fewest micro-batches; empty if none
// fits. Tries the same numbers of tensor parallel ranks as best_plans, the fewest first.
std::string remedy_of(const RunConfig& config, Program program, const ParallelChoice& choice, SharePlans& plans);

// All ways to divide the step among `ranks` ranks, with and without recomputation, each with its best number of
// micro-batches: first those that fit, from fastest to slowest, then the others, from smallest to largest. Of those
// within 0.1 % of the fastest, the smallest comes first. Tensor parallel ranks stay within a node. If no way can be
// predicted, returns only the first one, whose `refusal` says why. Empty if the step cannot be divided.
std::vector<ParallelPlan> best_plans(const RunConfig& config, Program program, int64_t ranks, SharePlans& plans);

ParallelChoice choice_of(const ParallelPlan& plan);

}  // namespace laptime
