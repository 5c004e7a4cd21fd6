// LaunchCosts: what launches of each signature take in the steps of one run.
#pragma once

#include <cstddef>
#include <vector>

#include "base/units.h"
#include "measure/measurement.h"
#include "plan/plan.h"
#include "record/store.h"

namespace laptime {

// Collects marked steps. The plan must outlive it.
class LaunchCosts {
 public:
  explicit LaunchCosts(const Plan& plan);

  // `times` are Executor::launch_times of one step.
  void add(const std::vector<Seconds>& times);

  // One cost for each signature: the median over the steps of the mean over its launches in a step, so that costs add
  // up to the step. Empty without a step. Device, threads and date are left to the caller.
  std::vector<LaunchCost> result() const;
  // The highest FLOP/s of the launches of a signature that are matrix products and nothing else, and the arithmetic
  // that their kernel claims. 0 without a step, or where every such launch was too short to time well.
  ReachedProducts products() const;

 private:
  struct Group {
    LaunchCost cost;
    ProductMath math = ProductMath::kNone;  // of a launch that is a product and nothing else
    double launches = 0;
    std::vector<double> means;  // seconds, one for each step
  };
  const Plan& plan_;
  std::vector<Group> groups_;
  std::vector<size_t> group_of_;  // of each launch of the plan
};

}  // namespace laptime
