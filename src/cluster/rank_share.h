// The launches of one rank's share of a step, and what they take.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/described_run.h"
#include "graph/graph.h"
#include "predict/launch_times.h"
#include "predict/parallel_step.h"
#include "prepare/prepare.h"

namespace laptime {

struct ShareLaunch {
  Phase phase = Phase::kForward;
  bool in_layer = false;  // of one layer, or of what stands outside of the layers
  LaunchWork work;
  int64_t count = 0;  // of launches that are alike
};

// The model of one rank: tensor-parallel ranks divide heads, d_ff and the vocabulary, and those of a context the
// sequence. It has two layers, the second of which stands for all.
RunConfig share_of(const DescribedRun& run);

Prepared plan_share(const DescribedRun& run);

// Launches of one micro-batch, and of the optimizer for all parameters of the share.
std::vector<ShareLaunch> share_launches(const DescribedRun& run, const Prepared& share);

// A recorded step costs its host nothing but for the optimizer.
RankWork rank_work(const std::vector<ShareLaunch>& launches, const LaunchTimes& times, bool is_recorded);

}  // namespace laptime
