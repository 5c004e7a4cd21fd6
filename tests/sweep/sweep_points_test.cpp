// The variants of a point that save memory.
#include "sweep/sweep_points.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/points.h"

namespace laptime {
namespace {

std::vector<RunConfig> savings_of(const std::string& pass) {
  const SweepPoint point = test::point_of({{"device", "h100"}, {"batch", "4"}, {"pass", pass}});
  std::vector<RunConfig> configs;
  for (const SweepPoint& variant : expand_savings(point)) configs.push_back(variant.config);
  return configs;
}

bool any_has_narrow_moments(const std::vector<RunConfig>& configs) {
  return std::ranges::any_of(configs, [](const RunConfig& one) { return one.moments == MomentType::kBFloat16; });
}

bool any_recomputes_in_micro_batches(const std::vector<RunConfig>& configs) {
  return std::ranges::any_of(configs,
                             [](const RunConfig& one) { return one.recompute == "block" && one.micro_batches == 4; });
}

// A pass without an optimizer has no moments, but can still combine recomputation with micro-batches.
TEST(ExpandSavings, NarrowsMomentsOnlyWithAnOptimizer) {
  const std::vector<RunConfig> step = savings_of("step");
  EXPECT_TRUE(any_has_narrow_moments(step));
  EXPECT_TRUE(any_recomputes_in_micro_batches(step));
  const std::vector<RunConfig> backward = savings_of("forward_backward");
  EXPECT_FALSE(any_has_narrow_moments(backward));
  EXPECT_TRUE(any_recomputes_in_micro_batches(backward));
}

}  // namespace
}  // namespace laptime
