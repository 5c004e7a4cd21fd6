// ParallelPlan: what a step takes and holds on several devices, and the search for the fastest way that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/described_run.h"
#include "cluster/rank_share.h"
#include "predict/rank_bytes.h"

namespace laptime {

struct ParallelPlan {
  DescribedRun run;
  int64_t batch = 0;      // sequences of all ranks in a step
  std::string refusal{};  // why it cannot be predicted; empty if it can
  ParallelTime time{};
  std::optional<double> low{}, high{};  // seconds of a step; none where nobody published such runs
  RankBytes bytes{};
  double available = 0;  // bytes of a device that a program may use
  std::string remedy{};  // what makes a plan fit that does not; empty if it fits, or if nothing does

  bool fits() const { return refusal.empty() && bytes.total() <= available; }
  double tokens_per_second() const { return run.tokens / time.step; }
};

// How ranks divide a step, and what they recompute.
struct ParallelChoice {
  ParallelLayout layout;
  Checkpointing checkpointing = Checkpointing::kNone;
  int64_t micro_batches = 1;  // of a rank

  std::string brief() const;  // "shard parameters, tensor 2, 4 micro, recompute"
  std::string words() const;  // "--shard parameters --tensor-parallel 2 --micro-batches 4 --recompute block"
};

// `config` is the step of all ranks on one described machine: its batch is that of all ranks.
ParallelPlan plan_parallel(const RunConfig& config, Program program, const ParallelChoice& choice, SharePlans& plans);

// The options of the least change that makes the step fit: recomputation, sharding, micro-batches of one sequence,
// tensor parallel ranks, in this order; empty if none does.
std::string remedy_of(const RunConfig& config, Program program, const ParallelChoice& choice, SharePlans& plans);

// Every way to divide the step among so many ranks, the fastest that fit first, then those that do not fit, the
// smallest first. Tensor parallel ranks stay within a node.
std::vector<ParallelPlan> best_plans(const RunConfig& config, Program program, int64_t ranks, SharePlans& plans);

ParallelChoice choice_of(const ParallelPlan& plan);

}  // namespace laptime
