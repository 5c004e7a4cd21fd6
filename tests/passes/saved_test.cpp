// Values that forward saves for backward, and steps that are cut after forward.
#include "passes/saved.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "passes/small_steps.h"
#include "support/training.h"
#include "support/types.h"

namespace laptime::test {
namespace {

// e = exp(w), s = e * e, loss = sum(s). The gradients of exp and of the product read e, and no gradient reads s.
TEST(Saved, CountsOnlyValuesThatBackwardReads) {
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

TEST(Saved, DoesNotCountParameters) {
  Builder build;
  const ValueId w = build.source("w", floats({5}), Role::kParameter);
  const ValueId x = build.source("x", floats({5}), Role::kInput);
  const ValueId loss = sum_all(build, mul(build, w, x));
  build.output("loss", loss);
  build.current = {Phase::kBackward, {}, {}, false};
  const std::vector<ValueId> grads = gradients(build, loss, std::vector<ValueId>{w});
  build.output("grad", grads[0]);
  EXPECT_EQ(saved_bytes(run_passes(build.finish(), {})), 5 * 4);  // x is saved, w is not
}

// At the end of a step that is cut after forward, exactly the saved bytes and the loss are alive.
TEST(Saved, HoldsOnlySavedBytesAndTheLossAfterForward) {
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
      // At the end of the step, the plan holds the saved storages that the step created, and the loss.
      const Plan plan = make_plan(forward, first_kernel(backend));
      std::set<int> alive;
      int64_t resident = 0;
      for (const Action& action : plan.actions) {
        if (action.kind == Action::Kind::kAlloc) alive.insert(action.index);
        if (action.kind == Action::Kind::kFree) {
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

// A key head is saved once, even if several query heads share it.
TEST(Saved, CompileModeSavesSharedKeyHeadsOnce) {
  RunConfig config = tiny_config(Edition::kLlama);
  config.model.num_heads = 4;
  const auto saved = [&](int64_t kv_heads, bool compile) {
    config.model.num_kv_heads = kv_heads;
    return saved_bytes(step_graph(config, compile ? compile_options(config) : eager_options(config)));
  };
  const ModelConfig& model = config.model;
  const int64_t head = model.batch_size * model.context_length * model.d_head() * 4;  // bytes of one head
  const int64_t keys_and_values = 2 * model.num_layers * head;
  EXPECT_EQ(saved(4, true) - saved(1, true), 3 * keys_and_values);
  EXPECT_EQ(saved(4, true) - saved(2, true), 2 * keys_and_values);
  EXPECT_LT(saved(4, false) - saved(1, false), keys_and_values);  // eager mode saves repeated heads, like PyTorch
}

TEST(Saved, ForwardAndInferenceGiveTheLossOfAStep) {
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

}  // namespace
}  // namespace laptime::test
