// Computes the order of steps with vector clocks: one clock per queue, propagated along queues and waits.
#include "plan/step_order.h"

#include <algorithm>
#include <iterator>

namespace laptime {

StepOrder::StepOrder(std::span<const PlanStep> steps) : steps_(1) {
  for (size_t i = 0; i < steps.size(); ++i) {
    queue_.push_back(steps[i].queue);
    steps_.resize(std::max(steps_.size(), static_cast<size_t>(steps[i].queue) + 1));
    steps_[static_cast<size_t>(steps[i].queue)].push_back(static_cast<int>(i));
  }
  const size_t queues = steps_.size();
  if (queues == 1) return;                // a single queue runs its steps in order
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
  if (queues() == 1) return before < after;
  return before <= done_[static_cast<size_t>(after)][static_cast<size_t>(queue_[static_cast<size_t>(before)])];
}

int StepOrder::last_concurrent(std::span<const int> uses) const {
  int last = -1;
  for (const int use : uses) {
    last = std::max(last, use);
    for (const std::vector<int>& steps : steps_) {
      // Once a step of a queue begins after `use` is done, so do all later steps of that queue.
      const auto after =
          std::partition_point(steps.begin(), steps.end(), [&](int step) { return !is_done(use, step); });
      if (after != steps.begin()) last = std::max(last, *std::prev(after));
    }
  }
  return last;
}

}  // namespace laptime
