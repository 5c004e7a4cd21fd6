// Execution of plans: sources, outputs, states, recorded steps, pools, find_nan, phase times, and roofline devices.
#include "exec/executor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "exec/small_step.h"
#include "graph/structural_ops.h"
#include "model/train_step.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "ops/rope/rope.h"
#include "passes/pipeline.h"

namespace laptime::test {
namespace {

class ExecutorOnCpu : public testing::Test {
 protected:
  Executor executor(Builder& build) {
    const Graph graph = build.finish();
    verify(graph, "test");
    return Executor(make_plan(graph, first_kernel(backend_)), backend_);
  }

  cpu::CpuBackend backend_{all_cpu_kernels(), 1};
};

TEST_F(ExecutorOnCpu, ComputesAndReadsInRowMajorOrder) {
  Builder build;
  const ValueId x = build.source("x", floats({2, 3}), Role::kInput);
  const ValueId turned = exp(build, transpose(build, x, 0, 1));  // column-major in memory
  build.output("turned", turned);
  build.output("view", slice(build, turned, 0, 1, 2));
  build.output("narrow", cast(build, x, DType::kBFloat16));
  build.output("place", max_last(build, x)[1]);
  Executor step = executor(build);
  write(step, "x", {0, 1, 2, 3, 5, 4});
  step.run();
  const std::vector<float> expected{0, 3, 1, 5, 2, 4};
  const std::vector<float> actual = floats_of(step.read_output("turned"));
  ASSERT_EQ(actual.size(), 6U);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(actual[i] / std::exp(expected[i]), 1, 1e-6);
  EXPECT_EQ(floats_of(step.read_output("view")), std::vector<float>(actual.begin() + 2, actual.end()));
  const std::vector<std::byte> narrow = step.read_output("narrow");
  ASSERT_EQ(narrow.size(), 12U);
  uint16_t bits = 0;
  std::memcpy(&bits, narrow.data() + 2, 2);
  EXPECT_EQ(bits, BFloat16(1.0F).bits);
  int64_t places[2];
  ASSERT_EQ(step.read_output("place").size(), sizeof(places));
  std::memcpy(places, step.read_output("place").data(), sizeof(places));
  EXPECT_EQ(places[0], 2);
  EXPECT_EQ(places[1], 1);
  EXPECT_EQ(floats_of(step.read_source("x"))[4], 5);
}

TEST_F(ExecutorOnCpu, FindsSourcesAndOutputsByName) {
  Builder build;
  build.output("y", neg(build, build.source("x", floats({4}), Role::kInput)));
  Executor step = executor(build);
  const float values[5] = {};
  EXPECT_FALSE(step.write("z", values, sizeof(float) * 4));
  EXPECT_TRUE(step.read_source("z").empty());
  EXPECT_TRUE(step.read_output("z").empty());
  EXPECT_TRUE(step.write("x", values, sizeof(float) * 4));
  EXPECT_EQ(step.read_source("x").size(), 16U);
  EXPECT_DEATH(step.write("x", values, sizeof(values)), "x takes 16 bytes, not 20");
}

TEST_F(ExecutorOnCpu, StateKeepsItsValueBetweenSteps) {
  Builder build;
  const ValueId w = build.source("w", floats({3}), Role::kParameter);
  build.output("next", assign(build, w, mul_scalar(build, w, 2)));
  Executor step = executor(build);
  write(step, "w", {1, -2, 0.5F});
  for (int i = 0; i < 3; ++i) step.run();
  EXPECT_EQ(floats_of(step.read_source("w")), (std::vector<float>{8, -16, 4}));
  EXPECT_EQ(floats_of(step.read_output("next")), (std::vector<float>{8, -16, 4}));
}

// A graph whose set-up copies source w and whose step multiplies the copy by x.
Builder copied_source() {
  Builder build;
  const ValueId w = build.source("w", floats({3}), Role::kParameter);
  build.current.phase = Phase::kSetup;
  const ValueId copy = cast(build, w, DType::kBFloat16);
  build.current.phase = Phase::kForward;
  const ValueId x = build.source("x", contiguous_type(DType::kBFloat16, {3}), Role::kInput);
  const ValueId next = assign(build, copy, mul(build, copy, x));
  build.output("next", cast(build, next, DType::kFloat32));
  return build;
}

TEST_F(ExecutorOnCpu, SetUpRunsAgainOnlyAfterItsSourceIsWritten) {
  Builder build = copied_source();
  Executor step = executor(build);
  const BFloat16 two[3] = {BFloat16(2.0F), BFloat16(2.0F), BFloat16(2.0F)};
  step.write("x", two, sizeof(two));
  write(step, "w", {1, -2, 0.5F});
  step.run();
  EXPECT_EQ(floats_of(step.read_output("next")), (std::vector<float>{2, -4, 1}));
  step.write("x", two, sizeof(two));  // the set-up does not read x, so it does not copy w again
  step.run();
  EXPECT_EQ(floats_of(step.read_output("next")), (std::vector<float>{4, -8, 2}));
  write(step, "w", {1, 1, 1});
  step.run();
  EXPECT_EQ(floats_of(step.read_output("next")), (std::vector<float>{2, 2, 2}));
}

// A CPU backend that records steps. Replaying a recording enqueues its launches again.
class RecordingBackend : public cpu::CpuBackend {
 public:
  using CpuBackend::CpuBackend;
  bool records_steps() const override { return true; }
  std::unique_ptr<Recording> record(const std::function<void()>& enqueue) override {
    ++recordings;
    if (lacks_memory) throw OutOfMemory(0, {});
    return std::make_unique<Again>(enqueue, runs);
  }

  bool lacks_memory = false;
  int recordings = 0;
  int runs = 0;

 private:
  class Again : public Recording {
   public:
    Again(std::function<void()> enqueue, int& runs) : enqueue_(std::move(enqueue)), runs_(runs) {}
    void run() override {
      ++runs_;
      enqueue_();
    }

   private:
    std::function<void()> enqueue_;
    int& runs_;
  };
};

TEST(ExecutorOnARecordingDevice, ReplaysUntracedStepsAfterTheFirst) {
  RecordingBackend backend{all_cpu_kernels(), 1};
  Builder build;
  const ValueId w = build.source("w", floats({3}), Role::kParameter);
  assign(build, w, mul_scalar(build, w, 2));
  Executor step(make_plan(build.finish(), first_kernel(backend)), backend);
  write(step, "w", {1, -2, 0.5F});
  EXPECT_FALSE(step.is_recorded());
  step.run();
  EXPECT_TRUE(step.is_recorded());
  EXPECT_EQ(backend.runs, 0);
  step.run();
  EXPECT_EQ(backend.runs, 1);
  step.run(Marks::kLaunches);
  EXPECT_EQ(backend.runs, 1);
  step.run();
  EXPECT_EQ(backend.runs, 2);
  EXPECT_EQ(backend.recordings, 1);
  EXPECT_EQ(floats_of(step.read_source("w")), (std::vector<float>{16, -32, 8}));
}

TEST(ExecutorOnARecordingDevice, ThrowsOutOfMemoryIfARecordingDoesNotFit) {
  RecordingBackend backend{all_cpu_kernels(), 1};
  backend.lacks_memory = true;
  Builder build;
  build.output("y", exp(build, build.source("x", floats({3}), Role::kInput)));
  Executor step(make_plan(build.finish(), first_kernel(backend)), backend);
  EXPECT_THROW(step.run(), OutOfMemory);
}

// A CPU backend that allocates the values of a step one by one and overwrites freed memory.
class PoolingBackend : public RecordingBackend {
 public:
  using RecordingBackend::RecordingBackend;
  bool records_steps() const override { return false; }
  std::unique_ptr<StepPool> step_pool() override { return std::make_unique<Pool>(*this); }
  bool names_ranges() const override { return true; }
  void begin_range(const char* name) override { ranges += fmt::format("{}(", name); }
  void end_range() override { ranges += ")"; }

  std::map<std::byte*, std::vector<std::byte>> handed_out;
  std::string ranges;

 private:
  class Pool : public StepPool {
   public:
    explicit Pool(PoolingBackend& owner) : owner_(owner) {}
    std::byte* allocate(int64_t bytes) override {
      std::vector<std::byte> memory(static_cast<size_t>(bytes), std::byte{0xFF});
      std::byte* const address = memory.data();
      owner_.handed_out.emplace(address, std::move(memory));
      peak_ = std::max(peak_, now_ += bytes);
      return address;
    }
    void free(std::byte* address) override {
      const auto found = owner_.handed_out.find(address);
      ASSERT_NE(found, owner_.handed_out.end());
      now_ -= static_cast<int64_t>(found->second.size());
      std::ranges::fill(found->second, std::byte{0xFF});
      owner_.handed_out.erase(found);
    }
    int64_t peak_requested_bytes() const override { return peak_; }
    int64_t peak_reserved_bytes() const override { return peak_; }

   private:
    PoolingBackend& owner_;
    int64_t now_ = 0;
    int64_t peak_ = 0;
  };
};

TEST(ExecutorOnAPoolingDevice, AllocatesStepValuesFromThePool) {
  PoolingBackend backend{all_cpu_kernels(), 1};
  Builder build;
  const ValueId w = build.source("w", floats({3}), Role::kParameter);
  const ValueId twice = mul_scalar(build, w, 2);
  build.output("y", exp(build, neg(build, square(build, twice))));
  assign(build, w, twice);
  Executor step(make_plan(build.finish(), first_kernel(backend)), backend);
  write(step, "w", {0, 0.25F, 0.5F});
  ASSERT_NE(step.pool(), nullptr);
  step.run();
  step.run(Marks::kLaunches);
  EXPECT_EQ(step.pool()->peak_requested_bytes(), step.plan().live_peak_bytes);
  EXPECT_EQ(backend.handed_out.size(), 1U);  // only the output outlives the step
  EXPECT_EQ(floats_of(step.read_source("w")), (std::vector<float>{0, 1, 2}));
  EXPECT_FLOAT_EQ(floats_of(step.read_output("y"))[1], std::exp(-1.0F));
  // Recorded steps use an arena instead of the pool, and the state keeps its value.
  int inputs = 0;
  EXPECT_EQ(step.run_recorded(2, [&] { ++inputs; }).size(), 2U);
  EXPECT_EQ(inputs, 2);
  EXPECT_EQ(backend.runs, 2);
  EXPECT_TRUE(backend.handed_out.empty());
  step.run();
  EXPECT_EQ(floats_of(step.read_source("w")), (std::vector<float>{0, 8, 16}));
  EXPECT_FLOAT_EQ(floats_of(step.read_output("y"))[0], 1);
  EXPECT_FALSE(step.find_nan().has_value());
}

TEST(ExecutorOnAPoolingDevice, ContinuesIfARecordingDoesNotFit) {
  PoolingBackend backend{all_cpu_kernels(), 1};
  Builder build;
  const ValueId w = build.source("w", floats({3}), Role::kParameter);
  assign(build, w, mul_scalar(build, w, 2));
  Executor step(make_plan(build.finish(), first_kernel(backend)), backend);
  write(step, "w", {1, -2, 0.5F});
  step.run();
  backend.lacks_memory = true;
  EXPECT_TRUE(step.run_recorded(2, [] { FAIL() << "no step runs"; }).empty());
  step.run();
  EXPECT_EQ(floats_of(step.read_source("w")), (std::vector<float>{4, -8, 2}));
}

TEST(ExecutorOnAPoolingDevice, NamesStepRanges) {
  PoolingBackend backend{all_cpu_kernels(), 1};
  Builder build;
  const ValueId x = build.source("x", floats({3}), Role::kInput);
  build.output("y", exp(build, neg(build, square(build, x))));
  Plan plan = make_plan(build.finish(), first_kernel(backend));
  ASSERT_EQ(plan.steps.size(), 3U);
  plan.steps[0].region.range = "attention/scores";
  plan.steps[1].region.range = "attention/softmax";
  Executor step(std::move(plan), backend);
  step.run();
  EXPECT_EQ(backend.ranges, "forward(attention(scores()softmax()))");
}

TEST_F(ExecutorOnCpu, ConstantsAreComputedBeforeTheFirstStep) {
  Builder build;
  const ValueId x = build.source("x", floats({5, 1}), Role::kInput);
  build.output("y", mul(build, x, rope_table(build, {5, 2, 10'000, DType::kFloat32}).cos));
  Executor step = executor(build);
  write(step, "x", {1, 1, 1, 1, 1});
  step.run();
  const std::vector<float> cosines = floats_of(step.read_output("y"));
  for (int t = 0; t < 5; ++t) EXPECT_NEAR(cosines[static_cast<size_t>(t)], std::cos(t), 1e-6);
}

TEST_F(ExecutorOnCpu, SkippedLaunchLeavesNan) {
  Builder build;
  const ValueId x = build.source("x", floats({100}), Role::kInput);
  const auto scope = build.scope("layers.0");
  const ValueId a = exp(build, x);
  build.output("loss", sum_all(build, square(build, a)));
  const Graph graph = build.finish();
  Plan whole = make_plan(graph, first_kernel(backend_));
  Plan broken = whole;
  broken.steps.erase(broken.steps.begin());  // square now reads a value that no step has written

  Executor good(whole, backend_);
  write(good, "x", std::vector<float>(100, 0));
  good.run();
  EXPECT_EQ(floats_of(good.read_output("loss"))[0], 100);
  EXPECT_FALSE(good.find_nan().has_value());

  Executor bad(broken, backend_);
  write(bad, "x", std::vector<float>(100, 0));
  bad.run();
  EXPECT_TRUE(std::isnan(floats_of(bad.read_output("loss"))[0]));
  const auto site = bad.find_nan();
  ASSERT_TRUE(site.has_value());
  EXPECT_EQ(site->op, "square");
  EXPECT_EQ(site->scope, "layers.0");
}

// A NaN in a weight or an optimizer state is reported at the op that first reads it.
TEST_F(ExecutorOnCpu, FindsTheFirstNanOfAModel) {
  RunConfig config;
  config.model = {.name = "custom",
                  .edition = Edition::k2025,
                  .d_model = 16,
                  .d_ff = 32,
                  .num_layers = 3,
                  .num_heads = 2,
                  .vocab_size = 13,
                  .context_length = 6,
                  .batch_size = 2};
  for (const auto& [poisoned, op, scope] :
       {std::tuple{"layers.1.ffn.w1.weight", "matmul", "layers.1.ffn.w1"},
        std::tuple{"layers.2.ln1.weight", "mul", "layers.2.ln1"}, std::tuple{"lm_head.weight", "matmul", "lm_head"},
        std::tuple{"m/ln_final.weight", "mul_scalar", "ln_final.weight"}}) {
    Executor step(make_plan(run_passes(build_train_step(config), {}), first_kernel(backend_)), backend_);
    for (const Buffer& buffer : step.plan().buffers) {
      if (buffer.name.empty() || (buffer.role != Role::kParameter && buffer.role != Role::kOptimizerState)) continue;
      std::vector<float> values(static_cast<size_t>(buffer.bytes) / sizeof(float));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = buffer.role == Role::kParameter ? 0.1F * std::sin(static_cast<float>(i)) : 0;
      write(step, buffer.name, values);
    }
    const std::vector<int64_t> ids(12, 3);
    step.write(source::kTokens, ids.data(), 12 * sizeof(int64_t));
    step.write(source::kTargets, ids.data(), 12 * sizeof(int64_t));
    const int64_t number = 1;
    step.write(source::kStep, &number, sizeof(number));
    write(step, source::kLr, {0});
    ASSERT_FALSE(step.find_nan().has_value()) << poisoned;
    std::vector<float> values = floats_of(step.read_source(poisoned));
    values[values.size() / 2] = std::nanf("");
    write(step, poisoned, values);
    const auto site = step.find_nan();
    ASSERT_TRUE(site.has_value()) << poisoned;
    EXPECT_EQ(site->op, op);
    EXPECT_EQ(site->scope, scope);
  }
}

TEST_F(ExecutorOnCpu, ReportsPositiveButNotNegativeInfinity) {
  Builder build;
  const ValueId x = build.source("x", floats({10}), Role::kParameter);
  build.output("y", exp(build, x));
  Executor step = executor(build);
  const float infinity = std::numeric_limits<float>::infinity();
  write(step, "x", std::vector<float>(10, -infinity));
  EXPECT_FALSE(step.find_nan().has_value());
  EXPECT_FALSE(step.state_holds_nan());
  write(step, "x", std::vector<float>(10, 1000));  // exp overflows
  EXPECT_FALSE(step.state_holds_nan());
  const auto site = step.find_nan();
  ASSERT_TRUE(site.has_value());
  EXPECT_TRUE(site->is_infinity);
  write(step, "x", std::vector<float>(10, infinity));
  EXPECT_TRUE(step.state_holds_nan());
  write(step, "x", std::vector<float>(10, std::nanf("")));
  EXPECT_TRUE(step.state_holds_nan());
  EXPECT_FALSE(step.find_nan()->is_infinity);
}

TEST_F(ExecutorOnCpu, HoldsTheBytesThatThePlanPredicts) {
  Builder build;
  const ValueId x = build.source("x", floats({500, 500}), Role::kInput);
  build.output("y", sum_all(build, matmul(build, x, exp(build, x))));
  const Graph graph = build.finish();
  {
    const Executor step(make_plan(graph, first_kernel(backend_)), backend_);
    const int64_t predicted = step.plan().predicted_peak_bytes();
    EXPECT_GE(backend_.held_bytes(), predicted);
    EXPECT_LT(backend_.held_bytes(), predicted + int64_t{2} * 4096);
  }
  EXPECT_EQ(backend_.held_bytes(), 0);
}

TEST_F(ExecutorOnCpu, PhasesFollowEachOtherWithoutGaps) {
  Builder build;
  ValueId x = build.source("x", floats({64, 64}), Role::kInput);
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kOptimizer}) {
    build.current.phase = phase;
    x = matmul(build, x, x);
  }
  build.output("y", x);
  Executor step = executor(build);
  const Timeline timeline = step.run();
  ASSERT_EQ(timeline.events.size(), 3U);
  EXPECT_GE(timeline.events[0].begin, timeline.begin);
  Seconds last = timeline.events[0].begin;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(timeline.events[i].what, static_cast<int>(Phase::kForward) + static_cast<int>(i));
    EXPECT_EQ(timeline.events[i].begin, last);  // no time passes between phases
    EXPECT_GT(timeline.events[i].end, timeline.events[i].begin);
    last = timeline.events[i].end;
  }
  EXPECT_GE(timeline.end, last);
  EXPECT_EQ(timeline.total(), timeline.end - timeline.begin);
}

class ExecutorOnRoofline : public testing::Test {
 protected:
  Plan plan(Builder& build) { return make_plan(build.finish(), first_kernel(backend_)); }

  std::vector<const OpCard*> ops_ = all_ops();
  roofline::RooflineBackend backend_{kTestDevice, ops_, kTestDevice.float32};
};

TEST_F(ExecutorOnRoofline, TimeFollowsTheRooflineModel) {
  Builder build;
  const ValueId a = build.source("a", floats({100, 200}), Role::kParameter);
  const ValueId b = build.source("b", floats({200, 100}), Role::kParameter);
  const ValueId y = matmul(build, a, b);  // 4 MFLOP, 200 kB
  build.current.phase = Phase::kBackward;
  build.output("z", exp(build, y));  // 10 kFLOP, 80 kB
  Executor step(plan(build), backend_);
  const Timeline timeline = step.run();
  ASSERT_EQ(timeline.events.size(), 2U);
  const double product = std::max(4e6 / 1e12, (2 * 100 * 200 + 100 * 100) * 4 / 1e9) + 1e-3;
  const double pointwise = 2 * 100 * 100 * 4 / 1e9 + 1e-3;
  EXPECT_DOUBLE_EQ(timeline.total(static_cast<int>(Phase::kForward)).count(), product);
  EXPECT_NEAR(timeline.total(static_cast<int>(Phase::kBackward)).count(), pointwise, 1e-12);
  EXPECT_NEAR(timeline.total().count(), product + pointwise, 1e-12);
  EXPECT_EQ(step.run().begin, timeline.end);  // the clock does not advance between steps
}

TEST_F(ExecutorOnRoofline, ComputesNoValues) {
  Builder build;
  build.output("y", exp(build, build.source("x", floats({10}), Role::kInput)));
  Executor step(plan(build), backend_);
  const std::vector<float> values(10);
  EXPECT_TRUE(step.write("x", values.data(), 40));
  EXPECT_FALSE(step.computes());
  step.run();
  EXPECT_TRUE(step.read_output("y").empty());
  EXPECT_TRUE(step.read_source("x").empty());
  EXPECT_FALSE(step.find_nan().has_value());
}

TEST_F(ExecutorOnRoofline, RejectsOversizedPlanAndReleasesMemory) {
  const auto plan_of = [&](int64_t elements) {
    Builder build;
    build.output("y", exp(build, build.source("x", floats({elements}), Role::kInput)));
    return plan(build);
  };
  const Plan large = plan_of(150'000);  // 600 kB resident and 600 kB in the arena exceed the 1 MiB of the device
  try {
    const Executor step(large, backend_);
    FAIL() << "no OutOfMemory";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.bytes_requested(), large.arena_bytes);
    EXPECT_EQ(error.bytes_available(), (1 << 20) - large.resident_bytes);
  }
  const Plan small = plan_of(120'000);
  for (int i = 0; i < 3; ++i) Executor(small, backend_).run();
  EXPECT_EQ(backend_.peak_held_bytes(), small.predicted_peak_bytes());
}

// The product peak passed to the backend applies to products only.
TEST(Roofline, OnlyProductsRunAtTheProductPeak) {
  const DataSheet fast{.name = "fast", .memory = 1 << 20, .bandwidth = 1e18, .float32 = 1e12, .bfloat16 = 4e12};
  const std::vector<const OpCard*> ops = all_ops();
  const auto seconds = [&](double product_peak, bool product) {
    roofline::RooflineBackend backend(fast, ops, product_peak);
    Builder build;
    const ValueId a = build.source("a", contiguous_type(DType::kFloat32, {200, 200}), Role::kParameter);
    build.output("y", product ? matmul(build, a, a) : mul(build, a, a));
    Executor step(make_plan(build.finish(), first_kernel(backend)), backend);
    return step.run().total().count();
  };
  EXPECT_DOUBLE_EQ(seconds(fast.float32, true), 2.0 * 200 * 200 * 200 / 1e12);
  EXPECT_DOUBLE_EQ(seconds(fast.bfloat16, true), 2.0 * 200 * 200 * 200 / 4e12);
  EXPECT_DOUBLE_EQ(seconds(fast.bfloat16, false), seconds(fast.float32, false));
}

}  // namespace
}  // namespace laptime::test
