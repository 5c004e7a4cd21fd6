// PredictedRun: a published figure and laptime's prediction of it.
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
  std::optional<double> low, high;   // range of 90 % of the figures of comparable runs; none if too few are known
  std::optional<ParallelTime> time;  // none for memory, and without a prediction
  double published_seconds = 0, predicted_seconds = 0;  // seconds of the step or phase; 0 for memory
  size_t share = 0;                                     // index in PredictedRuns::shares

  double value() const;
  double error() const { return *predicted / value() - 1; }
};

struct PredictedRuns {
  std::vector<PredictedRun> runs;
  std::vector<std::vector<ShareLaunch>> shares;  // launches of each distinct share of a rank
};

PredictedRuns predict_runs(std::vector<PublishedRun> runs);

}  // namespace laptime
