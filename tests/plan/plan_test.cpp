// Plans: peaks match hand-computed values, buffers live as long as they are used, and plans of real steps are valid.
#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "graph/structural_ops.h"
#include "model/model_card.h"
#include "model/train_step.h"
#include "ops/adamw/adamw.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "ops/rope/rope.h"
#include "passes/pipeline.h"
#include "plan/any_kernel.h"
#include "plan/memory_plan.h"
#include "support/error_of.h"
#include "support/types.h"

namespace laptime {
namespace {

using test::any_kernel;
using test::floats;

// A kernel for any op, with 100 bytes of workspace.
const Kernel* with_workspace(const Signature& signature) {
  static std::map<const OpCard*, Kernel> kernels;
  Kernel& kernel = kernels[signature.op];
  kernel = *any_kernel(signature);
  kernel.workspace = [](const Signature&) -> int64_t { return 100; };
  return &kernel;
}

// The first and last step of the plan during which a buffer is allocated, according to the plan's actions.
struct Life {
  int first = -1;
  int last = -1;
};
std::vector<Life> lives_of(const Plan& plan) {
  std::vector<Life> lives(plan.buffers.size());
  int step = 0;
  for (const Action& action : plan.actions) {
    const auto index = static_cast<size_t>(action.index);
    if (action.kind == Action::Kind::kStep) {
      EXPECT_EQ(action.index, step);
      ++step;
    }
    if (action.kind == Action::Kind::kAlloc) {
      EXPECT_EQ(lives[index].first, -1) << "allocated twice";
      lives[index].first = step;
    }
    if (action.kind == Action::Kind::kFree) {
      EXPECT_NE(lives[index].first, -1) << "freed before it was allocated";
      EXPECT_EQ(lives[index].last, -1) << "freed twice";
      lives[index].last = step - 1;
    }
  }
  EXPECT_EQ(step, static_cast<int>(plan.steps.size()));
  return lives;
}

// Checks properties that every plan must have.
void expect_sound(const Plan& plan) {
  const std::vector<Life> lives = lives_of(plan);
  std::set<int> used;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    std::vector<Operand> operands = step.in;
    operands.insert(operands.end(), step.out.begin(), step.out.end());
    operands.push_back({step.workspace, {}});
    for (const Operand& operand : operands) {
      if (operand.buffer < 0) continue;
      used.insert(operand.buffer);
      const Buffer& buffer = plan.buffers[static_cast<size_t>(operand.buffer)];
      EXPECT_LE(operand.type.layout.extent() * size_of(operand.type.dtype), buffer.bytes);
      if (buffer.lifetime != Lifetime::kStep) continue;
      const Life& life = lives[static_cast<size_t>(operand.buffer)];
      EXPECT_LE(life.first, static_cast<int>(i)) << "step " << i << " uses a buffer before its allocation";
      EXPECT_GE(life.last, static_cast<int>(i)) << "step " << i << " uses a buffer after it is freed";
    }
  }
  // Buffers stay inside their block, and buffers alive at the same time do not overlap.
  std::vector<size_t> in_arena;
  int64_t resident_end = 0;
  int64_t by_role = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    EXPECT_EQ(buffer.offset % kBufferAlignment, 0);
    if (buffer.lifetime == Lifetime::kStep) {
      if (lives[i].first < 0) continue;
      EXPECT_TRUE(used.contains(static_cast<int>(i)));
      EXPECT_LE(buffer.offset + buffer.bytes, plan.arena_bytes);
      in_arena.push_back(i);
    } else {
      EXPECT_EQ(lives[i].first, -1) << "resident bytes are not allocated in the step";
      EXPECT_GE(buffer.offset, resident_end);
      resident_end = buffer.offset + buffer.bytes;
      EXPECT_LE(resident_end, plan.resident_bytes);
    }
  }
  for (size_t a = 0; a < in_arena.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const Buffer& x = plan.buffers[in_arena[a]];
      const Buffer& y = plan.buffers[in_arena[b]];
      const Life& p = lives[in_arena[a]];
      const Life& q = lives[in_arena[b]];
      if (p.first > q.last || q.first > p.last) continue;
      ASSERT_TRUE(x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset)
          << in_arena[a] << " and " << in_arena[b];
    }
  }
  // Replaying the actions gives the same peak.
  int64_t alive = 0;
  int64_t peak = 0;
  for (const Action& action : plan.actions) {
    if (action.kind == Action::Kind::kAlloc) alive += plan.buffers[static_cast<size_t>(action.index)].bytes;
    if (action.kind == Action::Kind::kFree) alive -= plan.buffers[static_cast<size_t>(action.index)].bytes;
    peak = std::max(peak, alive);
  }
  EXPECT_EQ(alive, 0) << "some bytes are never freed";
  EXPECT_EQ(peak, plan.live_peak_bytes);
  EXPECT_GE(plan.arena_bytes, plan.live_peak_bytes);
  EXPECT_EQ(plan.predicted_peak_bytes(), plan.resident_bytes + plan.arena_bytes);
  for (const int64_t bytes : plan.peak_bytes_by_role) by_role += bytes;
  EXPECT_GE(by_role, plan.live_peak_bytes);
  EXPECT_LE(by_role, plan.predicted_peak_bytes());
}

// x (1000 floats) -> a = exp(x) -> b = neg(a) -> c = a + b -> loss = sum(c)
TEST(Plan, PeakOfAChainMatchesAHandComputedValue) {
  Builder build;
  const ValueId x = build.source("x", floats({1000}), Role::kInput);
  const ValueId a = exp(build, x);
  const ValueId b = neg(build, a);
  build.output("loss", sum_all(build, add(build, a, b)));
  const Plan plan = make_plan(build.finish(), any_kernel);
  expect_sound(plan);
  EXPECT_EQ(plan.live_peak_bytes, 3 * 4000);  // a, b and c are alive at the addition
  EXPECT_EQ(plan.peak_step, 2);
  EXPECT_EQ(plan.arena_bytes, 3 * 4032);
  EXPECT_EQ(plan.resident_bytes, 4032);
  EXPECT_EQ(plan.peak_bytes_by_role[static_cast<size_t>(Role::kActivation)], 12000);
  EXPECT_EQ(plan.peak_bytes_by_role[static_cast<size_t>(Role::kInput)], 4000);
  EXPECT_EQ(plan.steps.size(), 4U);
  const Operand* loss = plan.find_output("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->type.shape(), Shape{});
}

TEST(Plan, ViewKeepsItsBaseAlive) {
  Builder build;
  const ValueId x = build.source("x", floats({10, 10}), Role::kInput);
  const ValueId a = exp(build, x);
  const ValueId turned = transpose(build, a, 0, 1);
  ValueId b = x;
  for (int i = 0; i < 3; ++i) b = neg(build, b);
  build.output("y", sum_all(build, mul(build, turned, b)));
  const Plan plan = make_plan(build.finish(), any_kernel);
  expect_sound(plan);
  // At the multiplication, a, the end of the chain and the product are alive.
  EXPECT_EQ(plan.live_peak_bytes, 3 * 400);
  EXPECT_EQ(plan.steps[4].in[0].buffer, plan.steps[0].out[0].buffer);
  EXPECT_EQ(plan.steps[4].in[0].type.layout.strides, (Dims{1, 10}));
}

TEST(Plan, OutputLivesToTheEnd) {
  Builder build;
  const ValueId x = build.source("x", floats({1000}), Role::kInput);
  const ValueId early = exp(build, x);
  build.output("early", early);
  build.output("late", neg(build, square(build, neg(build, x))));
  const Plan plan = make_plan(build.finish(), any_kernel);
  expect_sound(plan);
  EXPECT_EQ(lives_of(plan)[static_cast<size_t>(plan.find_output("early")->buffer)].last,
            static_cast<int>(plan.steps.size()) - 1);
  EXPECT_EQ(plan.live_peak_bytes, 3 * 4000);
}

TEST(Plan, UnreadOptionalOutputIsNull) {
  const auto plan_with = [](bool read) {
    Builder build;
    const std::vector<ValueId> largest = max_last(build, build.source("x", floats({4, 100}), Role::kInput));
    build.output("max", largest[0]);
    if (read) build.output("place", largest[1]);
    return make_plan(build.finish(), any_kernel);
  };
  const Plan without = plan_with(false);
  expect_sound(without);
  EXPECT_EQ(without.steps[0].out[1].buffer, -1);
  EXPECT_EQ(without.live_peak_bytes, 4 * 4);
  const Plan with = plan_with(true);
  expect_sound(with);
  EXPECT_GE(with.steps[0].out[1].buffer, 0);
  EXPECT_EQ(with.live_peak_bytes, 4 * 4 + 4 * 8);
}

TEST(Plan, UnreadRequiredOutputHasABuffer) {
  Builder build;
  const ValueId x = build.source("x", floats({100}), Role::kInput);
  exp(build, x);
  build.output("y", neg(build, x));
  const Plan plan = make_plan(build.finish(), any_kernel);
  expect_sound(plan);
  EXPECT_GE(plan.steps[0].out[0].buffer, 0);
}

TEST(Plan, UpdatesStatesInPlace) {
  Builder build;
  const ValueId w = build.source("w", floats({100}), Role::kParameter);
  const ValueId grad = build.source("grad", floats({100}), Role::kGradient);
  build.current.phase = Phase::kOptimizer;
  assign(build, w, sub(build, w, mul_scalar(build, grad, 0.1)));
  const Plan plan = make_plan(build.finish(), any_kernel);
  expect_sound(plan);
  ASSERT_EQ(plan.steps.size(), 2U);  // the multiplication and the subtraction, but no copy
  EXPECT_EQ(plan.steps[1].out[0].buffer, plan.find_source("w"));
  EXPECT_EQ(plan.live_peak_bytes, 400);
}

TEST(Plan, CopyThatCannotBeElidedWritesTheState) {
  Builder build;
  const ValueId w = build.source("w", floats({10, 10}), Role::kParameter);
  assign(build, w, add(build, w, transpose(build, w, 0, 1)));
  const Plan plan = make_plan(build.finish(), any_kernel);
  expect_sound(plan);
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_NE(plan.steps[0].out[0].buffer, plan.find_source("w"));
  EXPECT_EQ(plan.steps[1].out[0].buffer, plan.find_source("w"));
}

TEST(Plan, ValueAssignedToTwoStatesReachesBoth) {
  Builder build;
  const ValueId a = build.source("a", floats({8}), Role::kParameter);
  const ValueId b = build.source("b", floats({8}), Role::kParameter);
  const ValueId value = exp(build, build.source("x", floats({8}), Role::kInput));
  assign(build, a, value);
  assign(build, b, value);
  const Plan plan = make_plan(build.finish(), any_kernel);
  ASSERT_EQ(plan.steps.size(), 2U);
  EXPECT_EQ(plan.steps[0].out[0].buffer, plan.find_source("a"));
  EXPECT_EQ(plan.steps[1].in[1].buffer, plan.find_source("a"));
  EXPECT_EQ(plan.steps[1].out[0].buffer, plan.find_source("b"));
}

TEST(Plan, ConstantsAreComputedInSetUpAndKept) {
  Builder build;
  const ValueId x = build.source("x", floats({8, 2}), Role::kInput);
  build.output("y", sum_all(build, mul(build, x, rope_table(build, {8, 4, 10'000, DType::kFloat32}).cos)));
  const Plan plan = make_plan(build.finish(), any_kernel);
  expect_sound(plan);
  ASSERT_EQ(plan.setup.size(), 1U);
  EXPECT_EQ(plan.setup[0].phase, Phase::kSetup);
  const Buffer& table = plan.buffers[static_cast<size_t>(plan.setup[0].out[0].buffer)];
  EXPECT_EQ(table.lifetime, Lifetime::kConstant);
  EXPECT_EQ(table.op, "rope_table");
  EXPECT_EQ(plan.peak_bytes_by_role[static_cast<size_t>(Role::kConstant)], 2 * 8 * 2 * 4);
  EXPECT_EQ(plan.steps.size(), 2U);
}

TEST(Plan, WorkspaceIsAliveOnlyDuringItsStep) {
  Builder build;
  const ValueId x = build.source("x", floats({1000}), Role::kInput);
  build.output("y", sum_all(build, exp(build, x)));
  const Plan plan = make_plan(build.finish(), with_workspace);
  expect_sound(plan);
  ASSERT_GE(plan.steps[0].workspace, 0);
  EXPECT_NE(plan.steps[0].workspace, plan.steps[1].workspace);
  EXPECT_EQ(plan.buffers[static_cast<size_t>(plan.steps[0].workspace)].role, Role::kWorkspace);
  EXPECT_EQ(plan.live_peak_bytes, 4000 + 4 + 100);
}

// A value held by a variable stays alive until the function ends or the variable is reassigned.
TEST(Plan, EagerVariableKeepsItsValueAlive) {
  const auto peak = [](bool held, bool again) {
    Builder build;
    build.current.frame = "forward";
    ValueId x = build.source("x", floats({1000}), Role::kInput);
    ValueId a = exp(build, x);
    if (held) build.hold(a, "a");
    ValueId b = neg(build, a);
    if (again) build.hold(b, "a");
    for (int i = 0; i < 3; ++i) b = neg(build, b);
    build.output("y", sum_all(build, b));
    const Plan plan = make_plan(build.finish(), any_kernel);
    expect_sound(plan);
    return plan.live_peak_bytes;
  };
  EXPECT_EQ(peak(false, false), 2 * 4000);
  EXPECT_EQ(peak(true, false), 3 * 4000);
  EXPECT_EQ(peak(true, true), 3 * 4000);  // the variable now holds b
}

// A copy in autocast's cache belongs to no function. PyTorch empties the cache when the forward phase of a micro-batch
// ends, and backward then frees the copy after its last use.
TEST(Plan, AutocastCacheKeepsCopiesUntilForwardEnds) {
  Builder build;
  const ValueId x = build.source("x", floats({1000}), Role::kInput);
  for (const char* name : {"first", "second"}) {
    build.current.phase = Phase::kForward;
    const ValueId copy = build.hold(neg(build, x), "w");
    const ValueId y = neg(build, exp(build, copy));
    build.current.phase = Phase::kBackward;
    build.output(name, sum_all(build, neg(build, y)));
  }
  const Plan plan = make_plan(build.finish(), any_kernel);
  expect_sound(plan);
  ASSERT_EQ(plan.steps.size(), 10U);
  const std::vector<Life> lives = lives_of(plan);
  const auto last_use = [&](size_t step) { return lives[static_cast<size_t>(plan.steps[step].out[0].buffer)].last; };
  EXPECT_EQ(last_use(0), 2);  // forward is steps 0 to 2 and 5 to 7
  EXPECT_EQ(last_use(5), 7);
}

TEST(Plan, FlopsAreSummedByPhase) {
  Builder build;
  const ValueId a = build.source("a", floats({3, 4}), Role::kParameter);
  const ValueId b = build.source("b", floats({4, 5}), Role::kParameter);
  build.output("forward", matmul(build, a, b));
  build.current.phase = Phase::kBackward;
  build.output("backward", matmul(build, a, b));
  build.current.recomputed = true;
  build.output("again", matmul(build, a, b));
  const Plan plan = make_plan(build.finish(), any_kernel);
  EXPECT_EQ(plan.flops(Phase::kForward), 2 * 3 * 4 * 5);
  EXPECT_EQ(plan.flops(Phase::kBackward), 2 * 3 * 4 * 5);  // recomputation does not count as model FLOPs
  EXPECT_TRUE(plan.has(Phase::kBackward));
  EXPECT_FALSE(plan.has(Phase::kOptimizer));
}

TEST(Plan, RejectsOpWithoutKernel) {
  Builder build;
  build.output("y", exp(build, build.source("x", floats({3}), Role::kInput)));
  const auto plan = [&] { make_plan(build.finish(), [](const Signature&) -> const Kernel* { return nullptr; }); };
  EXPECT_EQ(test::error_of(plan), "this device has no kernel for exp(float32 [3])");
}

struct Point {
  Edition edition;
  Precision dtype;
  Pass pass;
};

Plan plan_of(const Point& point, const ChooseKernel& choose) {
  RunConfig config;
  config.model = {.name = "custom",
                  .edition = point.edition,
                  .d_model = 24,
                  .d_ff = 56,
                  .num_layers = 2,
                  .num_heads = 3,
                  .vocab_size = 31,
                  .context_length = 7,
                  .batch_size = 2};
  config.dtype = point.dtype;
  config.pass = point.pass;
  config.accumulate = point.pass == Pass::kBackward;
  config.clip_norm = point.edition == Edition::k2024 ? std::optional<double>(1.0) : std::nullopt;
  const PipelineOptions options{card_of(config.model).kept_by_eager(config.model), autocast_dtype(point.dtype),
                                point.pass == Pass::kForward};
  return make_plan(run_passes(build_train_step(config), options), choose);
}

TEST(Plan, PlansOfRealStepsAreValid) {
  for (const Edition edition : {Edition::k2024, Edition::k2025, Edition::k2026, Edition::kGpt2}) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kForwardBackward, Pass::kStep, Pass::kInference}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(edition), name_of(dtype), name_of(pass)));
        expect_sound(plan_of({edition, dtype, pass}, any_kernel));
        expect_sound(plan_of({edition, dtype, pass}, with_workspace));
      }
    }
  }
}

TEST(Plan, OptimizerAssignmentsAreNotCopied) {
  for (const Edition edition : {Edition::k2024, Edition::k2025, Edition::k2026, Edition::kGpt2}) {
    for (const PlanStep& step : plan_of({edition, Precision::kFloat32, Pass::kStep}, any_kernel).steps)
      EXPECT_NE(step.kernel->op, &kAssign);
  }
}

TEST(Plan, PeakGrowsFromInferenceToForwardToStep) {
  const auto peak = [](Pass pass) {
    return plan_of({Edition::k2025, Precision::kFloat32, pass}, any_kernel).predicted_peak_bytes();
  };
  EXPECT_LT(peak(Pass::kInference), peak(Pass::kForward));
  EXPECT_LT(peak(Pass::kForward), peak(Pass::kForwardBackward));
  EXPECT_LT(peak(Pass::kForwardBackward), peak(Pass::kStep));
}

TEST(Plan, PrintsEveryStepAndBuffer) {
  Builder build;
  const ValueId x = build.source("x", floats({1000}), Role::kInput);
  const auto scope = build.scope("ffn");
  build.output("loss", sum_all(build, exp(build, x)));
  EXPECT_EQ(print(make_plan(build.finish(), any_kernel)),
            "resident 3.938 KiB, arena 4.000 KiB, alive at the peak 3.910 KiB (step 1)\n"
            "b0 input input 3.906 KiB at 0 'x'\n"
            "b1 step activation 3.906 KiB at 0 of exp in ffn\n"
            "b2 step activation 4 B at 4032 of sum in ffn\n"
            "alloc b1\n"
            "0: b1 float32 [1000] = exp:any(b0 float32 [1000])  # forward ffn 1.000 kFLOP 7.812 KiB\n"
            "alloc b2\n"
            "1: b2 float32 [1] = sum:any(b1 float32 [1000]) {axes=[0]}  # forward ffn 1.000 kFLOP 3.910 KiB\n"
            "free b1\n"
            "free b2\n");
}

}  // namespace
}  // namespace laptime
