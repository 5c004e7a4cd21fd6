// store_copies: parameters whose copies outlive the step, and casts that it leaves alone.
#include "passes/store_copies.h"

#include <gtest/gtest.h>

#include "graph/op.h"
#include "passes/saved.h"
#include "passes/small_steps.h"

namespace laptime::test {
namespace {

RunConfig small_step() { return tiny_config(Edition::k2025, Precision::kBFloat16); }

// The passes of a step on a device that, like a GPU, casts a value once for all its readers. `store` enables
// store_copies.
PipelineOptions passes(bool store) {
  PipelineOptions options = compile_options(small_step());
  options.shared_casts = SharedCasts::kKeep;
  options.recompute.parameter_copies = false;
  options.store_copies = store;
  return options;
}

// Number of casts that read a parameter in the given phase.
int64_t casts_of_parameters(const Graph& graph, Phase phase) {
  return std::ranges::count_if(graph.nodes, [&](const Node& node) {
    return node.op->is_cast && node.annotations.phase == phase && !graph.value(node.inputs[0]).producer.valid() &&
           graph.value(node.inputs[0]).role == Role::kParameter;
  });
}

TEST(StoreCopies, CastsParametersOnlyInSetUp) {
  const Graph before = step_graph(small_step(), passes(false));
  const Graph after = step_graph(small_step(), passes(true));
  const int64_t casts = casts_of_parameters(before, Phase::kForward);
  ASSERT_GT(casts, 0);
  EXPECT_EQ(casts_of_parameters(after, Phase::kForward), 0);
  EXPECT_EQ(casts_of_parameters(after, Phase::kSetup), casts);
  EXPECT_EQ(count(after, "adamw_with_copy"), casts);
  EXPECT_EQ(count(after, "adamw") + casts, count(before, "adamw"));
}

TEST(StoreCopies, StepsAreBitIdentical) {
  EXPECT_EQ(bits(small_step(), passes(true)), bits(small_step(), passes(false)));
}

TEST(StoreCopies, KeepsCastsOfParametersThatAnotherOpUpdates) {
  PipelineOptions lowered = passes(true);
  std::erase(lowered.keep, "adamw");
  const Graph graph = step_graph(small_step(), lowered);
  EXPECT_EQ(count(graph, "adamw_with_copy"), 0);
  EXPECT_GT(casts_of_parameters(graph, Phase::kForward), 0);
}

TEST(StoreCopies, ForwardDoesNotSaveStoredCopies) {
  EXPECT_LT(saved_bytes(step_graph(small_step(), passes(true))), saved_bytes(step_graph(small_step(), passes(false))));
}

}  // namespace
}  // namespace laptime::test
