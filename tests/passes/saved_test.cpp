// Dead code, what forward saves, and forward alone as the cut of the whole step.
#include "passes/saved.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "passes/dead_code.h"
#include "support/training.h"
#include "support/types.h"

namespace laptime::test {
namespace {

TEST(DeadCode, DropsWhatNobodyNeeds) {
  Builder build;
  const ValueId x = build.source("x", floats({3}), Role::kInput);
  const ValueId state = build.source("state", floats({3}), Role::kOptimizerState);
  const ValueId unused = exp(build, x);
  neg(build, unused);
  const ValueId used = square(build, x);
  assign(build, state, used);  // nobody reads it, but it outlives the step
  build.output("y", sum_all(build, used));
  const Graph graph = dead_code(build.finish());
  verify(graph, "dead_code");
  std::vector<const OpCard*> left;
  for (const Node& node : graph.nodes) left.push_back(node.op);
  EXPECT_EQ(std::count(left.begin(), left.end(), &kExp), 0);
  EXPECT_EQ(std::count(left.begin(), left.end(), &kNeg), 0);
  EXPECT_EQ(std::count(left.begin(), left.end(), &kSquare), 1);
  EXPECT_EQ(std::count(left.begin(), left.end(), &kAssign), 1);
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
  EXPECT_EQ(after.outputs.size(), before.outputs.size());
  EXPECT_LE(after.nodes.size(), before.nodes.size());
}

// x -> e = exp(x) -> s = e * e -> loss = sum(s); backward of exp reads e, of the product too; s is not kept.
TEST(Saved, IsWhatBackwardReads) {
  Builder build;
  const ValueId w = build.source("w", floats({5}), Role::kParameter);
  const ValueId e = exp(build, w);
  const ValueId loss = sum_all(build, mul(build, e, e));
  build.output("loss", loss);
  build.current = {Phase::kBackward, {}, {}, false};
  build.output("grad", gradients(build, loss, std::vector<ValueId>{w})[0]);
  const Graph graph = run_passes(build.finish(), {});
  EXPECT_EQ(saved_storages(graph).size(), 1U);
  EXPECT_EQ(saved_bytes(graph), 5 * 4);
  const Graph forward = cut_forward(graph);
  verify(forward, "cut_forward");
  ASSERT_EQ(forward.outputs.size(), 2U);
  EXPECT_EQ(forward.outputs[0].name, "loss");
  EXPECT_EQ(forward.outputs[1].name, "saved/0");
  EXPECT_EQ(forward.producer(forward.outputs[1].value)->op, &kExp);
}

TEST(Saved, ParametersAreNotCounted) {
  Builder build;
  const ValueId w = build.source("w", floats({5}), Role::kParameter);
  const ValueId x = build.source("x", floats({5}), Role::kInput);
  const ValueId loss = sum_all(build, mul(build, w, x));
  build.output("loss", loss);
  build.current = {Phase::kBackward, {}, {}, false};
  const std::vector<ValueId> grads = gradients(build, loss, std::vector<ValueId>{w});
  build.output("grad", grads[0]);
  EXPECT_EQ(saved_bytes(run_passes(build.finish(), {})), 5 * 4);  // x; not w
}

// forward alone ends with exactly the saved bytes alive.
TEST(Saved, TheCutKeepsExactlyTheSavedBytes) {
  const cpu::CpuBackend backend(reference_kernels(), 1);
  for (const Edition edition : kEditions) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      RunConfig config = tiny_config(edition, dtype);
      config.pass = Pass::kForward;
      int64_t saved = 0;
      const Graph forward =
          run_passes(build_train_step(config), eager_options(config), [&](const std::string& pass, const Graph& graph) {
            if (pass == "dead_code") saved = saved_bytes(graph);
          });
      std::set<StorageId> storages;
      int64_t kept = 0;
      for (const GraphOutput& output : forward.outputs) {
        if (output.name.rfind(kSavedOutput, 0) != 0) continue;
        EXPECT_TRUE(storages.insert(forward.value(output.value).storage).second) << output.name;
        kept += forward.storage_bytes(forward.value(output.value).storage);
      }
      EXPECT_EQ(kept, saved);
      for (const Node& node : forward.nodes) {
        EXPECT_TRUE(node.annotations.phase == Phase::kForward || node.annotations.phase == Phase::kSetup);
      }
      // What the plan holds when the step ends: saved storages that the step makes, and the loss.
      const Plan plan = make_plan(forward, first_kernel(backend));
      std::set<int> alive;
      int64_t resident = 0;
      for (const Action& action : plan.actions) {
        if (action.kind == Action::Kind::kAlloc) alive.insert(action.index);
        if (action.kind == Action::Kind::kFree && action.index != -1) {
          const Buffer& buffer = plan.buffers[static_cast<size_t>(action.index)];
          const bool outlives = std::any_of(plan.outputs.begin(), plan.outputs.end(), [&](const PlanOutput& output) {
            return output.operand.buffer == action.index;
          });
          if (!outlives) alive.erase(action.index);
          EXPECT_EQ(buffer.lifetime, Lifetime::kStep);
        }
      }
      int64_t held = 0;
      for (const int buffer : alive) held += plan.buffers[static_cast<size_t>(buffer)].bytes;
      for (const StorageId storage : storages) {
        const Value& root = forward.root(storage);
        const bool in_step = root.producer.valid() && forward.node(root.producer).annotations.phase == Phase::kForward;
        resident += in_step ? 0 : root.type.bytes();
      }
      EXPECT_EQ(held + resident, saved + 4);
    }
  }
}

TEST(Saved, TheCutLeavesTheLoss) {
  for (const Edition edition : kEditions) {
    RunConfig config = tiny_config(edition);
    Training step(config);
    step.step();
    config.pass = Pass::kForward;
    Training forward(config);
    forward.step();
    config.pass = Pass::kInference;
    Training inference(config);
    inference.step();
    EXPECT_EQ(forward.loss(), step.loss());
    EXPECT_EQ(inference.loss(), step.loss());
  }
}

TEST(Pipeline, TellsItsPassesInOrder) {
  const auto passes_of = [](Pass pass, Precision dtype) {
    RunConfig config = tiny_config(Edition::k2025, dtype);
    config.pass = pass;
    std::vector<std::string> names;
    run_passes(build_train_step(config), eager_options(config),
               [&](const std::string& name, const Graph&) { names.push_back(name); });
    return names;
  };
  EXPECT_EQ(passes_of(Pass::kStep, Precision::kFloat32),
            (std::vector<std::string>{"model", "decompose", "differentiate", "dead_code"}));
  EXPECT_EQ(passes_of(Pass::kForward, Precision::kBFloat16),
            (std::vector<std::string>{"model", "decompose", "autocast", "differentiate", "dead_code", "cut_forward"}));
}

// The phase of every pass: backward timed in place has its forward beside it; no optimizer but in a step.
TEST(Pipeline, AStepHasThePhasesOfItsPass) {
  const cpu::CpuBackend backend(reference_kernels(), 1);
  const auto phases_of = [&](Pass pass) {
    RunConfig config = tiny_config(Edition::k2024);
    config.pass = pass;
    const Plan plan = make_plan(run_passes(build_train_step(config), eager_options(config)), first_kernel(backend));
    std::vector<Phase> phases;
    for (const PlanStep& step : plan.steps) {
      if (phases.empty() || phases.back() != step.phase) phases.push_back(step.phase);
    }
    return phases;
  };
  EXPECT_EQ(phases_of(Pass::kInference), (std::vector<Phase>{Phase::kForward}));
  EXPECT_EQ(phases_of(Pass::kForward), (std::vector<Phase>{Phase::kForward}));
  EXPECT_EQ(phases_of(Pass::kBackward), (std::vector<Phase>{Phase::kForward, Phase::kBackward}));
  EXPECT_EQ(phases_of(Pass::kForwardBackward), (std::vector<Phase>{Phase::kForward, Phase::kBackward}));
  EXPECT_EQ(phases_of(Pass::kStep), (std::vector<Phase>{Phase::kForward, Phase::kBackward, Phase::kOptimizer}));
}

}  // namespace
}  // namespace laptime::test
