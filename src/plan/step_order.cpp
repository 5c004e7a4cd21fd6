// Computes the order of steps with vector clocks: one clock per queue, propagated along queues and waits.
#include "plan/step_order.h"

#include <algorithm>

namespace laptime {

StepOrder::StepOrder(std::span<const PlanStep> steps) {
  for (const PlanStep& step : steps) {
    queue_.push_back(step.queue);
    queues_ = std::max(queues_, step.queue + 1);
  }
  if (queues_ == 1) return;  // a single queue runs its steps in order
  const auto queues = static_cast<size_t>(queues_);
  std::vector<int> previous(queues, -1);  // last step so far in each queue
  for (size_t i = 0; i < steps.size(); ++i) {
    std::vector<int> done(queues, -1);
    const auto include = [&](int step) {
      if (step < 0) return;
      const std::vector<int>& known = done_[static_cast<size_t>(step)];
      for (size_t queue = 0; queue < queues; ++queue) done[queue] = std::max(done[queue], known[queue]);
      int& own = done[static_cast<size_t>(queue_[static_cast<size_t>(step)])];
      own = std::max(own, step);
    };
    const auto queue = static_cast<size_t>(steps[i].queue);
    include(previous[queue]);
    for (const int step : steps[i].waits) include(step);
    done_.push_back(std::move(done));
    previous[queue] = static_cast<int>(i);
  }
}

bool StepOrder::is_done(int before, int after) const {
  if (queues_ == 1) return before < after;
  return before <= done_[static_cast<size_t>(after)][static_cast<size_t>(queue_[static_cast<size_t>(before)])];
}

int StepOrder::last_concurrent(std::span<const int> uses) const {
  int last = -1;
  for (const int use : uses) last = std::max(last, use);
  if (queues_ == 1) return last;
  for (int step = static_cast<int>(queue_.size()) - 1; step > last; --step) {
    const bool all_done = std::all_of(uses.begin(), uses.end(), [&](int use) { return is_done(use, step); });
    if (!all_done) return step;
  }
  return last;
}

}  // namespace laptime
