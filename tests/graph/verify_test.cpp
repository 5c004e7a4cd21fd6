// verify: a graph that breaks a rule aborts with a message that names the pass.
#include <gtest/gtest.h>

#include "graph/structural_ops.h"
#include "ops/adamw/adamw.h"
#include "ops/pointwise/pointwise.h"
#include "support/types.h"

namespace laptime {
namespace {

using test::floats;

// A graph with the update w' = assign(w, 2 w). Each test adds outputs to the graph.
struct Updated {
  Builder build;
  ValueId w = build.source("w", floats({3}), Role::kParameter);
  ValueId twice = mul_scalar(build, w, 2);
  ValueId next = assign(build, w, twice);
};

TEST(Verify, ValidGraphPasses) {
  Updated graph;
  graph.build.output("y", add_scalar(graph.build, graph.next, 1));
  verify(graph.build.finish(), "a pass");
}

TEST(VerifyDeath, ReadAfterUpdateAborts) {
  Updated graph;
  graph.build.output("y", add_scalar(graph.build, graph.w, 1));
  const Graph wrong = graph.build.finish();
  EXPECT_DEATH(verify(wrong, "my_pass"),
               "after my_pass: add_scalar reads the old value of 'w', which has been overwritten");
}

TEST(VerifyDeath, ReadOfAViewAfterUpdateAborts) {
  Builder build;
  const ValueId w = build.source("w", floats({2, 3}), Role::kParameter);
  const ValueId turned = transpose(build, w, 0, 1);
  assign(build, w, mul_scalar(build, w, 2));
  build.output("y", exp(build, turned));
  const Graph wrong = build.finish();
  EXPECT_DEATH(verify(wrong, "my_pass"), "exp reads the old value of '', which has been overwritten");
}

TEST(VerifyDeath, SecondUpdateOfOldValueAborts) {
  Updated graph;
  assign(graph.build, graph.w, graph.twice);
  const Graph wrong = graph.build.finish();
  EXPECT_DEATH(verify(wrong, "my_pass"), "assign reads the old value of 'w', which has been overwritten");
}

TEST(Verify, ConsecutiveUpdatesPass) {
  Builder build;
  const AdamState state{build.source("w", floats({3}), Role::kParameter),
                        build.source("m", floats({3}), Role::kOptimizerState),
                        build.source("v", floats({3}), Role::kOptimizerState)};
  const ValueId grad = build.source("grad", floats({3}), Role::kGradient);
  const ValueId step = build.source("step", contiguous_type(DType::kInt64, {}), Role::kInput);
  const ValueId lr = build.source("lr", floats({}), Role::kInput);
  const AdamState once = adamw(build, state, grad, {step, lr}, {});
  adamw(build, once, grad, {step, lr}, {});
  verify(build.finish(), "a pass");
}

Graph one_node() {
  Builder build;
  const ValueId x = build.source("x", floats({2, 3}), Role::kInput);
  build.output("y", exp(build, x));
  return build.finish();
}

TEST(VerifyDeath, WrongTypeAborts) {
  Graph wrong = one_node();
  wrong.values[1].type.dtype = DType::kBFloat16;
  EXPECT_DEATH(verify(wrong, "my_pass"), "after my_pass: exp gives float32 \\[2, 3\\], recorded bfloat16 \\[2, 3\\]");
  wrong = one_node();
  wrong.values[1].type.layout = Layout::contiguous({3, 2});
  EXPECT_DEATH(verify(wrong, "my_pass"), "recorded float32 \\[3, 2\\]");
}

TEST(VerifyDeath, WrongViewAborts) {
  Builder build;
  const ValueId x = build.source("x", floats({2, 3}), Role::kInput);
  const ValueId t = transpose(build, x, 0, 1);
  Graph wrong = build.finish();
  wrong.value(t).type.layout = Layout::contiguous({3, 2});
  EXPECT_DEATH(verify(wrong, "my_pass"), "after my_pass: permute");
}

TEST(VerifyDeath, ReadBeforeDefinitionAborts) {
  Builder build;
  const ValueId x = build.source("x", floats({3}), Role::kInput);
  build.output("y", neg(build, exp(build, x)));
  Graph wrong = build.finish();
  std::swap(wrong.nodes[0], wrong.nodes[1]);
  EXPECT_DEATH(verify(wrong, "my_pass"), "after my_pass: neg reads %1 before it is defined");
}

TEST(VerifyDeath, UndefinedOutputAborts) {
  Graph wrong = one_node();
  wrong.nodes.clear();
  EXPECT_DEATH(verify(wrong, "my_pass"), "after my_pass: output y");
  wrong = one_node();
  wrong.outputs.push_back({"z", {}});
  EXPECT_DEATH(verify(wrong, "my_pass"), "output z");
}

TEST(VerifyDeath, OverwrittenOutputAborts) {
  Updated graph;
  graph.build.output("y", graph.w);
  const Graph wrong = graph.build.finish();
  EXPECT_DEATH(verify(wrong, "my_pass"), "output y is an old value, which has been overwritten");
}

TEST(VerifyDeath, MissingOutputAborts) {
  Graph wrong = one_node();
  wrong.nodes[0].outputs.clear();
  EXPECT_DEATH(verify(wrong, "my_pass"), "exp has 0 outputs");
}

}  // namespace
}  // namespace laptime
