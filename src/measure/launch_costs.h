// LaunchCosts: how long launches of each signature take in the steps of one run.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/units.h"
#include "measure/measurement.h"
#include "plan/plan.h"
#include "record/store.h"

namespace laptime {

// Collects steps with launch times. The plan must outlive the collector.
class LaunchCosts {
 public:
  explicit LaunchCosts(const Plan& plan);

  // `times` are Executor::launch_times of one step, and `communication` states when communication ran in that step.
  void add(const std::vector<Seconds>& times, std::span<const CommunicationTime> communication = {});

  // One cost per signature: the median over steps of the mean time of its launches in a step. Waits have no cost. Empty
  // if there is no step. The caller fills in device, threads and date.
  std::vector<LaunchCost> result() const;
  // The highest FLOP/s among signatures that are plain matrix products, and the arithmetic that the kernel of that
  // signature claims to use. 0 if there is no step, or if every such launch was too short to time well.
  ReachedProducts products() const;

 private:
  static constexpr size_t kNoGroup = std::numeric_limits<size_t>::max();
  struct Group {
    LaunchCost cost;
    ProductMath math = ProductMath::kNone;  // set if a launch is a plain matrix product
    double launches = 0;
    std::vector<double> means;  // seconds, one per step
  };
  const Plan& plan_;
  std::vector<Group> groups_;
  std::vector<size_t> group_of_;  // for each launch of the plan; kNoGroup for waits
};

}  // namespace laptime
