// optimizer_in_backward: updates move as early as their gradients and the readers of the weight allow.
#include "passes/optimizer_in_backward.h"

#include <gtest/gtest.h>

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "passes/small_steps.h"
#include "support/types.h"

namespace laptime::test {
namespace {

std::vector<std::string> ops_in_order(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.emplace_back(node.op->name);
  return names;
}

TEST(OptimizerInBackward, UpdatesAWeightRightAfterItsGradient) {
  Builder build;
  const ValueId first = build.source("first", floats({4}), Role::kParameter);
  const ValueId second = build.source("second", floats({4}), Role::kParameter);
  build.current.phase = Phase::kBackward;
  const ValueId grad_second = neg(build, second);
  const ValueId grad_first = square(build, first);
  build.current.phase = Phase::kOptimizer;
  assign(build, first, grad_first);
  assign(build, second, grad_second);
  const Graph graph = optimizer_in_backward(build.finish());
  verify(graph, "optimizer_in_backward");
  EXPECT_EQ(ops_in_order(graph), (std::vector<std::string>{"neg", "assign", "square", "assign"}));
}

TEST(OptimizerInBackward, WaitsForTheLastReaderOfAWeight) {
  Builder build;
  const ValueId w = build.source("w", floats({4}), Role::kParameter);
  build.current.phase = Phase::kBackward;
  const ValueId grad = neg(build, w);
  const ValueId later = square(build, w);
  build.output("loss", sum_all(build, later));
  build.current.phase = Phase::kOptimizer;
  assign(build, w, sub(build, w, grad));
  const Graph graph = optimizer_in_backward(build.finish());
  verify(graph, "optimizer_in_backward");  // aborts if a node reads a state after its update
  EXPECT_EQ(ops_in_order(graph), (std::vector<std::string>{"neg", "sub", "square", "assign", "sum", "reshape"}));
}

TEST(OptimizerInBackward, ChangesNoLossAndHoldsFewerGradients) {
  for (const Edition edition : kEditions) {
    const RunConfig config = tiny_config(edition);
    PipelineOptions passes = compile_options(config);
    const cpu::CpuBackend backend(reference_kernels(), 1);
    const std::vector<double> after_backward = losses(config, passes);
    const Plan apart = make_plan(step_graph(config, passes), first_kernel(backend));
    passes.optimizer_in_backward = true;
    EXPECT_EQ(losses(config, passes), after_backward) << name_of(edition);
    const Plan interleaved = make_plan(step_graph(config, passes), first_kernel(backend));
    EXPECT_LT(interleaved.live_peak_bytes, apart.live_peak_bytes) << name_of(edition);
  }
}

}  // namespace
}  // namespace laptime::test
