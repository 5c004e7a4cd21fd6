// PredictedRun: a published figure beside what laptime predicts for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/described_run.h"
#include "cluster/rank_share.h"

namespace laptime {

struct PredictedRun {
  PublishedRun run;
  DescribedRun described;
  std::string refusal;               // why there is no prediction; empty if there is one
  std::optional<double> predicted;   // in the unit of the quantity
  std::optional<double> low, high;   // 90 % of published figures of such runs; none where too few are known
  std::optional<ParallelTime> time;  // none where the quantity is no time
  double published_seconds = 0, predicted_seconds = 0;  // by the figure, and for it
  size_t share = 0;                                     // index of its share

  double value() const;
  double error() const { return *predicted / value() - 1; }
};

struct PredictedRuns {
  std::vector<PredictedRun> runs;
  std::vector<std::vector<ShareLaunch>> shares;  // of ranks, each planned once
};

PredictedRuns predict_runs(std::vector<PublishedRun> runs);

}  // namespace laptime
