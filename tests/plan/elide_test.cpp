// Copy elision: assignments that need a copy, and assignments that do not.
#include "plan/elide.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "support/types.h"

namespace laptime {
namespace {

using test::floats;

struct Step {
  Builder build;
  ValueId w = build.source("w", floats({2, 3}), Role::kParameter);
  ValueId other = build.source("other", floats({2, 3}), Role::kParameter);

  // For each assignment in order, true if its copy is elided.
  std::vector<bool> dropped() {
    const Graph graph = build.finish();
    verify(graph, "test");
    const Elision elision = elide_assignments(graph);
    std::vector<bool> assigns;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].op == &kAssign) assigns.push_back(elision.dropped[i]);
      EXPECT_TRUE(!elision.dropped[i] || graph.nodes[i].op == &kAssign);
    }
    return assigns;
  }
};

TEST(Elide, ElementwiseUpdateNeedsNoCopy) {
  Step step;
  assign(step.build, step.w, add(step.build, step.w, mul_scalar(step.build, step.other, 2)));
  EXPECT_EQ(step.dropped(), std::vector<bool>{true});
}

TEST(Elide, ConsecutiveUpdatesNeedNoCopy) {
  Step step;
  const ValueId once = assign(step.build, step.w, mul_scalar(step.build, step.w, 2));
  assign(step.build, once, add(step.build, once, step.other));
  EXPECT_EQ(step.dropped(), (std::vector<bool>{true, true}));
}

// Only on rank 0 does the slice have offset 0, like the value, so only rank 0 could write the value in place. It keeps
// the copy, so that all ranks do the same work.
TEST(Elide, SliceOfAStateNeedsTheCopyOnEveryRank) {
  for (const int64_t begin : {0, 1}) {
    Step step;
    const ValueId part = slice(step.build, step.w, 0, begin, 1);
    assign(step.build, part, mul_scalar(step.build, part, 2));
    EXPECT_EQ(step.dropped(), std::vector<bool>{false});
  }
}

TEST(Elide, ReadOfTheStateAfterTheComputationNeedsTheCopy) {
  Step step;
  const ValueId next = mul_scalar(step.build, step.w, 2);
  step.build.output("y", exp(step.build, step.w));
  assign(step.build, step.w, next);
  EXPECT_EQ(step.dropped(), std::vector<bool>{false});
}

TEST(Elide, ReadOfAViewAfterTheComputationNeedsTheCopy) {
  Step step;
  const ValueId turned = transpose(step.build, step.w, 0, 1);
  const ValueId next = mul_scalar(step.build, step.w, 2);
  step.build.output("y", exp(step.build, turned));
  assign(step.build, step.w, next);
  EXPECT_EQ(step.dropped(), std::vector<bool>{false});
}

TEST(Elide, PermutedReadNeedsTheCopy) {
  Step step;
  const ValueId square_w = step.build.source("square", floats({3, 3}), Role::kParameter);
  assign(step.build, square_w, add(step.build, square_w, transpose(step.build, square_w, 0, 1)));
  EXPECT_EQ(step.dropped(), std::vector<bool>{false});
}

TEST(Elide, BroadcastReadNeedsTheCopy) {
  Step step;
  const ValueId row = slice(step.build, step.w, 0, 0, 1);
  assign(step.build, step.w, add(step.build, step.other, row));
  EXPECT_EQ(step.dropped(), std::vector<bool>{false});
}

TEST(Elide, DifferentLayoutNeedsTheCopy) {
  Step step;
  const ValueId wide = step.build.source("wide", floats({3, 2}), Role::kInput);
  assign(step.build, step.w, exp(step.build, transpose(step.build, wide, 0, 1)));
  EXPECT_EQ(step.dropped(), std::vector<bool>{false});
}

TEST(Elide, NonPointwiseProducerNeedsTheCopy) {
  Step step;
  const ValueId vector = step.build.source("vector", floats({1, 3}), Role::kParameter);
  assign(step.build, vector, sum(step.build, step.other, {0}));
  const ValueId same = step.build.source("same", floats({2, 3}), Role::kInput);
  assign(step.build, step.w, same);  // the step does not compute the value
  assign(step.build, step.other,
         reshape(step.build, exp(step.build, reshape(step.build, step.other, {6})), {2, 3}));  // the value is a view
  EXPECT_EQ(step.dropped(), (std::vector<bool>{false, false, false}));
}

TEST(Elide, ElidesOnlyOneAssignmentOfAValue) {
  Step step;
  const ValueId value = exp(step.build, step.build.source("x", floats({2, 3}), Role::kInput));
  assign(step.build, step.w, value);
  assign(step.build, step.other, value);
  EXPECT_EQ(step.dropped(), (std::vector<bool>{true, false}));
}

// The first assigned value shares the storage of the state, so a later read of this value reads the state.
TEST(Elide, LaterReadOfTheFirstValueNeedsTheSecondCopy) {
  Step step;
  const ValueId first = mul_scalar(step.build, step.w, 2);
  const ValueId once = assign(step.build, step.w, first);
  const ValueId second = add_scalar(step.build, once, 1);
  step.build.output("y", exp(step.build, first));
  assign(step.build, once, second);
  EXPECT_EQ(step.dropped(), (std::vector<bool>{true, false}));
}

// An output stays valid until the step ends, so it must not share storage with a state that changes later.
TEST(Elide, OutputNeedsItsCopyIfTheStateChangesLater) {
  Step step;
  const ValueId first = mul_scalar(step.build, step.w, 2);
  const ValueId once = assign(step.build, step.w, first);
  step.build.output("y", first);
  assign(step.build, once, add_scalar(step.build, once, 1));
  EXPECT_EQ(step.dropped(), (std::vector<bool>{false, true}));
}

// The second assignment must not overwrite a value that is read after it.
TEST(Elide, ReadAfterALaterUpdateNeedsTheFirstCopy) {
  Step step;
  const ValueId first = mul_scalar(step.build, step.w, 2);
  const ValueId once = assign(step.build, step.w, first);
  assign(step.build, once, add_scalar(step.build, once, 1));
  step.build.output("y", exp(step.build, first));
  EXPECT_EQ(step.dropped(), (std::vector<bool>{false, true}));
}

}  // namespace
}  // namespace laptime
