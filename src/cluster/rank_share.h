// The launches of one rank's share of a step, and what they take.
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

// The launches of shares, each planned once.
class SharePlans {
 public:
  // The index of the launches of the run's share in all(). Error if the share cannot be planned.
  size_t index_of(const DescribedRun& run);
  const std::vector<std::vector<ShareLaunch>>& all() const { return shares_; }

 private:
  std::map<std::string, size_t> known_;  // by what launches depend on
  std::vector<std::vector<ShareLaunch>> shares_;
};

const DataSheet& machine_of(const DescribedRun& run);

// Predicts the time of a step. Error as SharePlans::index_of and parallel_time.
ParallelTime time_of(const DescribedRun& run, SharePlans& plans);

// Predicts the bytes of a rank at its peak.
RankBytes bytes_of(const DescribedRun& run);

// How far published times are from predicted ones for such runs; `figures` is 0 where nobody measured any.
const PublishedRuns& known_errors(const DescribedRun& run);

}  // namespace laptime
