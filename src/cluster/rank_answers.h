// rank_answers: points planned as steps of several ranks, for `laptime plan --ranks`.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/parallel_answer.h"
#include "prepare/resolved_point.h"

namespace laptime {

struct RankQuestion {
  std::vector<ResolvedPoint> points{};  // steps of a single rank on described machines
  // Each point is planned with every combination of these. A search ignores all but the numbers of ranks.
  std::vector<int64_t> ranks;
  std::vector<Shard> shards;
  std::vector<int64_t> tensors, pipelines;
  Program program = Program::kLaptime;
  bool searches = false;           // finds the best layouts
  bool follows_recompute = false;  // plans follow --recompute of their points; otherwise they recompute nothing
};

// A comparison of all plans or, of a search, of the best ones, unless there is only one; then each search. An answer
// has a reason if none of its plans can be predicted. Throws Error for a point that is not a whole step, that keeps its
// gradients for the next step, or whose recomputation several ranks do not support.
std::vector<PointAnswer> rank_answers(const RankQuestion& question, const ParallelQuery& query);

}  // namespace laptime
