// optimizer_in_backward runs an update once its gradient is known and no other node still reads the weight.
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
  EXPECT_EQ(ops_in_order(graph), (std::vector<std::string>{"neg", "square", "sub", "assign", "sum", "reshape"}));
}

// A node that reads only states could run early, but it must stay next to the other nodes of its update.
TEST(OptimizerInBackward, KeepsTheNodesOfAnUpdateTogether) {
  Builder build;
  const ValueId w = build.source("w", floats({4}), Role::kParameter);
  build.current.phase = Phase::kForward;
  const ValueId y = square(build, w);
  build.current.phase = Phase::kBackward;
  const ValueId grad = neg(build, y);
  build.current.phase = Phase::kOptimizer;
  const ValueId decayed = square(build, w);
  assign(build, w, sub(build, decayed, grad));
  const Graph graph = optimizer_in_backward(build.finish());
  EXPECT_EQ(ops_in_order(graph), (std::vector<std::string>{"square", "neg", "square", "sub", "assign"}));
}

TEST(OptimizerInBackward, DoesNotChangeTheLosses) {
  for (const Edition edition : kEditions) {
    const RunConfig config = tiny_config(edition);
    for (PipelineOptions passes : {compile_options(config), eager_options(config)}) {
      const std::vector<double> after_backward = losses(config, passes);
      passes.optimizer_in_backward = true;
      EXPECT_EQ(losses(config, passes), after_backward) << name_of(edition);
    }
  }
}

// The option saves memory, or at least costs none, in every mode, with every variant of AdamW, and for shapes whose
// peak is in forward, in backward or in the optimizer.
TEST(OptimizerInBackward, SlowNeverRaisesThePeak) {
  struct Case {
    int64_t layers, d_model, context, batch, vocab;
    bool saves;  // true if the peak must drop, because most memory holds parameters
  };
  const cpu::CpuBackend backend(reference_kernels(), 1);
  for (const Case shape : {Case{2, 32, 8, 1, 64, true}, Case{4, 64, 8, 1, 32, true}, Case{1, 32, 64, 4, 256, false},
                           Case{3, 32, 32, 2, 512, false}, Case{2, 64, 48, 1, 1024, false}}) {
    for (const Edition edition : kEditions) {
      for (const Optimizer rule : {Optimizer::k2025, Optimizer::k2026, Optimizer::kTorch}) {
        RunConfig config = tiny_config(edition);
        config.model.num_layers = shape.layers;
        config.model.num_heads = 2;
        config.model.d_model = shape.d_model;
        config.model.d_ff = 4 * shape.d_model;
        config.model.context_length = shape.context;
        config.model.batch_size = shape.batch;
        config.model.vocab_size = shape.vocab;
        config.optimizer = rule;
        for (PipelineOptions passes : {compile_options(config), eager_options(config)}) {
          for (const int64_t group : {0, 1}) {
            passes.recompute = {.local = passes.compile, .group = group, .layers = shape.layers};
            passes.optimizer_in_backward = false;
            const Plan apart = make_plan(step_graph(config, passes), first_kernel(backend));
            passes.optimizer_in_backward = true;
            const Plan interleaved = make_plan(step_graph(config, passes), first_kernel(backend));
            const auto point = testing::Message()
                               << name_of(edition) << " rule " << static_cast<int>(rule)
                               << (passes.compile ? " compile " : " eager ") << shape.layers << " layers, d_model "
                               << shape.d_model << ", context " << shape.context << ", group " << group;
            EXPECT_LE(interleaved.live_peak_bytes, apart.live_peak_bytes) << point;
            if (shape.saves) {
              EXPECT_LT(interleaved.live_peak_bytes, apart.live_peak_bytes) << point;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace laptime::test
