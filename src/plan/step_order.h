// StepOrder: which steps of a plan are done for certain when another one begins, where they run in several queues.
#pragma once

#include <span>
#include <vector>

#include "plan/plan.h"

namespace laptime {

// Steps of one queue run one after the other; steps of different queues run at the same time, but for `waits`.
class StepOrder {
 public:
  explicit StepOrder(std::span<const PlanStep> steps);

  int queues() const { return queues_; }
  // Whether step `before` is done when step `after` begins.
  bool is_done(int before, int after) const;
  // The last step that may run while one of `uses` still does: what they use must stay until then. With one queue it is
  // the last of them.
  int last_beside(std::span<const int> uses) const;

 private:
  std::vector<int> queue_;              // of each step
  std::vector<std::vector<int>> done_;  // of each step and queue: the last step that is done when it begins, or -1
  int queues_ = 1;
};

}  // namespace laptime
