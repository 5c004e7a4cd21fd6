// dead_code removes unread nodes and keeps updates, the loss and gradients.
#include "passes/dead_code.h"

#include <gtest/gtest.h>

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "passes/small_steps.h"
#include "support/types.h"

namespace laptime::test {
namespace {

TEST(DeadCode, DropsUnreadNodesAndKeepsUpdates) {
  Builder build;
  const ValueId x = build.source("x", floats({3}), Role::kInput);
  const ValueId state = build.source("state", floats({3}), Role::kOptimizerState);
  const ValueId unused = exp(build, x);
  neg(build, unused);
  const ValueId used = square(build, x);
  assign(build, state, used);  // no node reads the state's next value, but it outlives the step
  build.output("y", sum_all(build, used));
  const Graph graph = dead_code(build.finish());
  verify(graph, "dead_code");
  EXPECT_EQ(count(graph, "exp"), 0);
  EXPECT_EQ(count(graph, "neg"), 0);
  EXPECT_EQ(count(graph, "square"), 1);
  EXPECT_EQ(count(graph, "assign"), 1);
  EXPECT_TRUE(graph.find_source("x").valid());
  EXPECT_EQ(dead_code(graph).nodes.size(), graph.nodes.size());
}

TEST(DeadCode, KeepsTheLossAndEveryGradient) {
  RunConfig config = tiny_config(Edition::k2025);
  config.pass = Pass::kForwardBackward;
  std::vector<Graph> graphs;
  run_passes(build_train_step(config), eager_options(config),
             [&](const std::string&, const Graph& graph) { graphs.push_back(graph); });
  const Graph& before = graphs[graphs.size() - 2];
  const Graph& after = graphs.back();
  const auto names = [](const Graph& graph) {
    std::vector<std::string> found;
    for (const GraphOutput& output : graph.outputs) found.push_back(output.name);
    return found;
  };
  EXPECT_GT(after.outputs.size(), parameter_list(config.step_model()).size());
  EXPECT_EQ(names(after), names(before));
  EXPECT_LE(after.nodes.size(), before.nodes.size());
}

}  // namespace
}  // namespace laptime::test
