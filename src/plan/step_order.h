// StepOrder: which steps of a plan are guaranteed to be done when another step begins, if there are several queues.
#pragma once

#include <span>
#include <vector>

#include "plan/plan.h"

namespace laptime {

// Steps in one queue run one after the other. Steps in different queues may overlap, unless `waits` orders them.
class StepOrder {
 public:
  explicit StepOrder(std::span<const PlanStep> steps);

  int queues() const { return static_cast<int>(steps_.size()); }
  // True if step `before` is guaranteed to be done when step `after` begins.
  bool is_done(int before, int after) const;
  // The last step that may overlap with one of the steps `uses`, or the last of `uses` if no later step overlaps. A
  // buffer that these steps use must stay alive until then.
  int last_concurrent(std::span<const int> uses) const;

 private:
  std::vector<int> queue_;               // step -> its queue
  std::vector<std::vector<int>> steps_;  // queue -> its steps, in order
  // (step, queue) -> last step in the queue that is done when the step begins, or -1
  std::vector<std::vector<int>> done_;
};

}  // namespace laptime
