// The sampling loop on a virtual clock: how many steps it takes, in which order, and when it stops. Also kernel trials.
#include "exec/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "exec/small_step.h"
#include "exec/trial.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"

namespace laptime::test {
namespace {

// Makes steps of launches that take 1 ms each and have negligible memory traffic.
class SamplerOnRoofline : public testing::Test {
 protected:
  std::unique_ptr<Executor> step_of(int launches) {
    Builder build;
    ValueId x = build.source("x", floats({1}), Role::kInput);
    for (int i = 0; i < launches; ++i) x = neg(build, x);
    build.output("y", x);
    return std::make_unique<Executor>(make_plan(build.finish(), first_kernel(backend_)), backend_);
  }

  std::vector<const OpCard*> ops_ = all_ops();
  roofline::RooflineBackend backend_{kTestDevice, ops_, kTestDevice.float32};
};

TEST_F(SamplerOnRoofline, TakesTheRequestedSteps) {
  const auto step = step_of(1);
  std::vector<std::string> order;
  StepHooks hooks;
  hooks.before = [&](int64_t number) { order.push_back("before " + std::to_string(number)); };
  hooks.after = [&](int64_t number, const Timeline& timeline) {
    order.push_back("after " + std::to_string(number));
    EXPECT_NEAR(timeline.total().count(), 1e-3, 1e-7);
  };
  const Sampling sampling = sample(*step, {StoppingRule::fixed(2, 3), true}, hooks);
  EXPECT_EQ(sampling.steps.size(), 5U);
  EXPECT_EQ(sampling.warmup, 2);
  EXPECT_EQ(sampling.steps_per_sample, 1);  // a fixed number of steps is never batched
  EXPECT_EQ(sampling.sample_count(), 3);
  EXPECT_EQ(sampling.reason, StopReason::kFixed);
  EXPECT_FALSE(sampling.interrupted);
  ASSERT_EQ(order.size(), 10U);
  EXPECT_EQ(order[0], "before 0");
  EXPECT_EQ(order[1], "after 0");
  EXPECT_EQ(order[9], "after 4");
}

TEST_F(SamplerOnRoofline, WarmupMayBeZero) {
  const Sampling sampling = sample(*step_of(1), {StoppingRule::fixed(0, 1), true}, {});
  EXPECT_EQ(sampling.steps.size(), 1U);
  EXPECT_EQ(sampling.warmup, 0);
  EXPECT_EQ(sampling.sample_count(), 1);
}

TEST_F(SamplerOnRoofline, TimesShortStepsInBatches) {
  const Sampling sampling = sample(*step_of(1), {StoppingRule(), false}, {});
  EXPECT_EQ(sampling.steps_per_sample, 5);  // steps of 1 ms make samples of 5 ms
  EXPECT_EQ(sampling.reason, StopReason::kInterval);
  EXPECT_EQ(sampling.sample_count(), 10);
  EXPECT_EQ(static_cast<int64_t>(sampling.steps.size()), sampling.warmup + 50);
  EXPECT_EQ((sampling.warmup - 2) % 5, 0);  // two single steps precede the first batch
}

TEST_F(SamplerOnRoofline, LongStepIsOneSample) {
  const Sampling sampling = sample(*step_of(8), {StoppingRule(), false}, {});
  EXPECT_EQ(sampling.steps_per_sample, 1);
  EXPECT_EQ(sampling.warmup, 5);
  EXPECT_EQ(sampling.sample_count(), 10);
  EXPECT_EQ(sampling.reason, StopReason::kInterval);
}

// The test reports only 1 or 1.2 ms of each 8 ms step. A sample is five steps, and the spread of the reported times
// decides when to stop.
TEST_F(SamplerOnRoofline, StopsByTheSpreadOfTheReportedTimes) {
  const auto step = step_of(8);
  int64_t taken = 0;
  const auto reported = [&](const Timeline&) { return Seconds(++taken % 2 == 0 ? 1e-3 : 1.2e-3); };
  const Sampling sampling = sample(*step, {StoppingRule(), false, 0, reported}, {});
  EXPECT_EQ(sampling.steps_per_sample, 5);
  EXPECT_GT(sampling.sample_count(), 10);  // unequal samples (5.4 and 5.6 ms) need more than 10
}

TEST_F(SamplerOnRoofline, InterruptEndsSamplingBetweenSteps) {
  int64_t taken = 0;
  StepHooks hooks;
  hooks.after = [&](int64_t, const Timeline&) { ++taken; };
  hooks.interrupted = [&] { return taken == 3; };
  const Sampling sampling = sample(*step_of(8), {StoppingRule::fixed(1, 10), true}, hooks);
  EXPECT_TRUE(sampling.interrupted);
  EXPECT_EQ(sampling.steps.size(), 3U);
}

// Marks take no time on a virtual clock, so any positive limit on their cost allows them.
TEST_F(SamplerOnRoofline, TracesTheFirstStepOnRequest) {
  const auto marked_steps = [&](double marks_below, bool marks_first) {
    std::vector<int64_t> marked;
    StepHooks hooks;
    hooks.launches = [&](int64_t number, const std::vector<Seconds>& times) {
      marked.push_back(number);
      EXPECT_EQ(times.size(), 9U);
    };
    sample(*step_of(8),
           {.rule = StoppingRule::fixed(1, 2),
            .fixed = true,
            .launch_marks_below = marks_below,
            .reported = {},
            .marks_first = marks_first},
           hooks);
    return marked;
  };
  EXPECT_EQ(marked_steps(0, false), (std::vector<int64_t>{}));
  EXPECT_EQ(marked_steps(0, true), (std::vector<int64_t>{0}));
  EXPECT_EQ(marked_steps(0.001, false), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(marked_steps(0.001, true), (std::vector<int64_t>{0, 1, 2}));
}

TEST(Trial, TimesAKernelOnOperandsOfItsSignature) {
  cpu::CpuBackend backend(all_cpu_kernels(), 1);
  Builder build;
  const ValueId a = build.source("a", floats({96, 64}), Role::kParameter);
  build.output("y", matmul(build, a, build.source("b", floats({64, 80}), Role::kParameter)));
  const Graph graph = build.finish();
  const Signature signature = signature_of(graph, graph.nodes[0]);
  double fastest = 1e9;
  double reference = 0;
  std::vector<const Kernel*> kernels;
  for (const Kernel& kernel : backend.kernels(kMatmul)) {
    if (kernel.refusal(signature).empty()) kernels.push_back(&kernel);
  }
  int64_t bytes = 0;
  for (const Kernel* kernel : kernels) bytes = std::max(bytes, Trial::bytes(signature, {}, *kernel));
  const std::unique_ptr<DeviceMemory> memory = backend.allocate(bytes);
  Trial trial(backend, signature, {}, *memory);
  for (const Kernel* kernel : kernels) {
    backend.prepare(*kernel, signature);
    const double seconds = trial.time(*kernel).count();
    EXPECT_GT(seconds, 0) << kernel->name;
    EXPECT_LT(seconds, 10) << kernel->name;
    (kernel->name == kReferenceName ? reference : fastest) = seconds;
  }
  EXPECT_LT(fastest, reference);
}

// A device with its own clock, which needs 50 ms to load the code of a kernel before the first launch.
class LoadsCode : public roofline::RooflineBackend {
 public:
  using RooflineBackend::RooflineBackend;
  bool has_own_clock() const override { return true; }
  void launch(const Launch& launch) override {
    if (std::exchange(launches, launches + 1) == 0) pause(Seconds{0.05});
    RooflineBackend::launch(launch);
  }
  int launches = 0;
};

TEST(Trial, LoadsDeviceCodeBeforeTiming) {
  Builder build;
  const ValueId a = build.source("a", floats({96, 64}), Role::kParameter);
  build.output("y", matmul(build, a, build.source("b", floats({64, 80}), Role::kParameter)));
  const Graph graph = build.finish();
  const Signature signature = signature_of(graph, graph.nodes[0]);
  const auto time_on = [&](Seconds launch_cost) {
    DataSheet sheet = kTestDevice;
    sheet.launch = launch_cost.count();
    LoadsCode backend(sheet, all_ops(), 1e12);
    const Kernel& kernel = backend.kernels(kMatmul)[0];
    const std::unique_ptr<DeviceMemory> memory = backend.allocate(Trial::bytes(signature, {}, kernel));
    Trial trial(backend, signature, {}, *memory);
    return std::pair(trial.time(kernel).count(), backend.launches);
  };
  const auto [slow, slow_launches] = time_on(Seconds{1e-3});
  EXPECT_GT(slow, 0.9e-3);
  EXPECT_LT(slow, 1.2e-3);
  EXPECT_EQ(slow_launches, 2);
  // The first launch loads the code, the second shows that launches are short, and the rest are timed together.
  EXPECT_GT(time_on(Seconds{1e-9}).second, 4);
}

}  // namespace
}  // namespace laptime::test
