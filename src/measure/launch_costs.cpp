// Groups the launches of a plan by signature, and computes the cost of each group.
#include "measure/launch_costs.h"

#include <string>
#include <unordered_map>

#include "distribution/median.h"
#include "prepare/time_forecast.h"

namespace laptime {

LaunchCosts::LaunchCosts(const Plan& plan) : plan_(plan) {
  std::unordered_map<std::string, size_t> groups;
  for (const PlanStep& step : plan.steps) {
    if (step.kernel->op->kind == OpKind::kWait) {
      group_of_.push_back(kNoGroup);
      continue;
    }
    const Signature signature = step.signature();
    const auto [found, is_new] = groups.emplace(signature.text(), groups_.size());
    if (is_new) {
      Group group;
      group.cost.signature = found->first;
      group.cost.kernel = step.kernel->name;
      group.cost.kind = kind_of(signature);
      group.cost.flops = step.flops;
      group.cost.bytes = step.bytes;
      const bool is_product =
          step.flops > 0 && product_flops_of(signature) == flops_of(signature) && !signature.op->may_skip_products;
      if (is_product) group.math = step.kernel->math_of_products(signature);
      groups_.push_back(std::move(group));
    }
    ++groups_[found->second].launches;
    group_of_.push_back(found->second);
  }
}

void LaunchCosts::add(const std::vector<Seconds>& times, std::span<const CommunicationTime> communication) {
  std::vector<double> sums(groups_.size());
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    Seconds begin = times[i];
    Seconds end = times[i + 1];
    if (plan_.steps[i].queue == kCommunicationQueue) {
      begin = communication.front().begin;
      end = communication.front().end;
      communication = communication.subspan(1);
    }
    if (group_of_[i] != kNoGroup) sums[group_of_[i]] += (end - begin).count();
  }
  for (size_t i = 0; i < groups_.size(); ++i) groups_[i].means.push_back(sums[i] / groups_[i].launches);
}

std::vector<LaunchCost> LaunchCosts::result() const {
  std::vector<LaunchCost> costs;
  for (const Group& group : groups_) {
    if (group.means.empty()) return {};
    costs.push_back(group.cost);
    costs.back().seconds = median(group.means);
  }
  return costs;
}

ReachedProducts LaunchCosts::products() const {
  constexpr double kTimedWell = 50e-6;
  ReachedProducts reached;
  for (const Group& group : groups_) {
    if (group.math == ProductMath::kNone || group.means.empty()) continue;
    const double seconds = median(group.means);
    const double rate = group.cost.flops / seconds;
    if (seconds >= kTimedWell && rate > reached.flops_per_second) reached = {group.math, rate};
  }
  return reached;
}

}  // namespace laptime
