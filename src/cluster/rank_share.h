// The launches of one rank's share of a step, their predicted time, and the rank's peak memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/described_run.h"
#include "graph/graph.h"
#include "predict/launch_times.h"
#include "predict/parallel_step.h"
#include "predict/rank_bytes.h"

namespace laptime {

struct ShareLaunch {
  Phase phase = Phase::kForward;
  bool in_layer = false;      // true if the launch belongs to a layer
  bool in_attention = false;  // true if it belongs to the attention core: scores, softmax and weighted sum
  LaunchWork work;
  int64_t count = 0;  // identical launches in the first micro-batch; for the optimizer, in a step
  int64_t later = 0;  // identical launches in each later micro-batch, including sums of gradients

  double mean_count(int64_t micro_batches) const {
    const auto batches = static_cast<double>(micro_batches);
    return static_cast<double>(count) + static_cast<double>(later - count) * (batches - 1) / batches;
  }
};

// The model of one rank: tensor-parallel ranks divide heads, d_ff and the vocabulary, context-parallel ranks the
// sequence. The model has two layers; the second represents every layer. Throws Error if tensor-parallel ranks cannot
// divide the key-value heads.
RunConfig share_of(const DescribedRun& run);

// Launches of each micro-batch and of the optimizer, in the second layer and outside the layers.
std::vector<ShareLaunch> share_launches(const DescribedRun& run);

// Sums the launches of the mean micro-batch by phase. If forward and backward are recorded in a CUDA graph, only the
// optimizer takes host time.
RankWork rank_work(const std::vector<ShareLaunch>& launches, const LaunchTimes& times, bool is_recorded,
                   int64_t micro_batches);

// The launches and the activations of all shares. Each distinct share is planned only once for its launches and once
// for its activations.
class SharePlans {
 public:
  // Returns the index in all() of the run's share. Throws Error if the share cannot be planned.
  size_t index_of(const DescribedRun& run);
  const std::vector<std::vector<ShareLaunch>>& all() const { return shares_; }
  // The activations of the run's share, with the run's recomputation. Throws Error like index_of.
  const PlannedActivations& activations_of(const DescribedRun& run);

 private:
  std::map<std::string, size_t> known_;  // keyed by everything that launches depend on
  std::vector<std::vector<ShareLaunch>> shares_;
  std::map<std::string, PlannedActivations> activations_;
};

// The machine of the run's device. Throws Error like find_machine.
DataSheet machine_of(const DescribedRun& run);

// Predicts the time of a step. Throws Error like SharePlans::index_of and parallel_time.
ParallelTime time_of(const DescribedRun& run, SharePlans& plans);

// Predicts the peak memory of a rank: for laptime from the plan of its share, for other programs from what they are
// known to store. Throws Error like SharePlans::index_of.
RankBytes bytes_of(const DescribedRun& run, SharePlans& plans);

// The deviation of known times from predictions for comparable runs; `figures` is 0 if there are none.
KnownRuns known_errors(const DescribedRun& run);

}  // namespace laptime
