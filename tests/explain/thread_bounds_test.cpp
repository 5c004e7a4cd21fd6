// Upper bounds on the speed-up of kernels and steps with several threads.
#include "explain/thread_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "explain/explain.h"
#include "prepare/kernel_choice.h"
#include "prepare/prepare.h"
#include "report/explanation_text.h"
#include "support/points.h"

namespace laptime {
namespace {

using test::Options;
using test::point_of;

Options large_step(const Options& more) {
  Options options{{"device", "cpu"}, {"optimizer", "torch"}, {"reproducible", "true"}};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

double speed_up_at(const std::vector<ThreadBound>& bounds, int64_t threads) {
  for (const ThreadBound& bound : bounds) {
    if (bound.threads == threads) return bound.speed_up;
  }
  ADD_FAILURE() << "no bound at " << threads << " threads";
  return 0;
}

TEST(ThreadBounds, SingleKernelsDoNotLimitLargeSteps) {
  for (const char* const model : {"medium", "large", "xl", "2.7B"}) {
    for (const char* const mode : {"eager", "compile"}) {
      const Explanation step = explain(point_of(large_step({{"model", model}, {"mode", mode}})), {});
      EXPECT_GE(speed_up_at(step.threads, 64), 0.9 * 64) << model << " " << mode;
      EXPECT_LE(speed_up_at(step.threads, 64), 64) << model << " " << mode;
    }
  }
}

TEST(ThreadBounds, StepBoundLiesBetweenKernelBounds) {
  const Explanation step = explain(point_of(large_step({{"model", "small"}})), {});
  ASSERT_FALSE(step.threads.empty());
  for (const ThreadBound& of_step : step.threads) {
    double least = 1e9;
    double most = 0;
    for (const KernelDecision& kernel : step.kernels) {
      if (kernel.threads.empty()) continue;  // the kernel runs only during set-up
      least = std::min(least, speed_up_at(kernel.threads, of_step.threads));
      most = std::max(most, speed_up_at(kernel.threads, of_step.threads));
    }
    EXPECT_GE(of_step.speed_up, least);
    EXPECT_LE(of_step.speed_up, most);
    EXPECT_LE(most, static_cast<double>(of_step.threads) * (1 + 1e-12));
  }
}

TEST(ThreadBounds, DevicesWithoutHostThreadsHaveNoBounds) {
  const Explanation step = explain(point_of({{"model", "small"}, {"device", "roofline:h100"}}), {});
  EXPECT_TRUE(step.threads.empty());
}

// Prepares the point without explain(), which refuses several ranks on a machine without MPI.
TEST(ThreadBounds, CommunicationHasNoBounds) {
  const RunConfig config =
      point_of({{"model", "small"}, {"device", "cpu"}, {"ranks", "2"}, {"oversubscribe", "true"}}).config;
  const Prepared prepared = prepare(config, find_device(config), {});
  const ChooseKernel choose = chooser(*prepared.device.kernels, prepared.choices);
  ThreadBoundSum step;
  int64_t communications = 0;
  for (const Node& node : prepared.graph.nodes) {
    if (node.op->kind == OpKind::kView) continue;
    const Signature signature = signature_of(prepared.graph, node);
    const std::vector<ThreadBound> bounds = thread_bounds(prepared, *choose(signature), signature);
    const bool communicates = node.op->kind == OpKind::kCommunication || node.op->kind == OpKind::kWait;
    EXPECT_EQ(bounds.empty(), communicates) << signature.text();
    communications += communicates ? 1 : 0;
    step.add(signature, 1, bounds);
  }
  EXPECT_GT(communications, 0);
  EXPECT_FALSE(step.of_step().empty());
}

// The scores of attention take 512 TB, more than an address space of x86-64.
TEST(ThreadBounds, TensorsBeyondTheAddressSpaceHaveNoBounds) {
  const Explanation step = explain(point_of({{"d-model", "2048"},
                                             {"num-heads", "32"},
                                             {"num-layers", "1"},
                                             {"context", "1000000"},
                                             {"batch", "4"},
                                             {"device", "cpu"},
                                             {"mode", "eager"}}),
                                   {});
  EXPECT_TRUE(step.threads.empty());
  const auto is_bounded = [](const KernelDecision& kernel) { return !kernel.threads.empty(); };
  EXPECT_TRUE(std::any_of(step.kernels.begin(), step.kernels.end(), is_bounded));
  EXPECT_FALSE(std::all_of(step.kernels.begin(), step.kernels.end(), is_bounded));
  EXPECT_NE(print(step, ExplainView::kThreads).find("no bound for the step"), std::string::npos);
}

// A kernel with several loops must state the work of each loop, because the bound weights loops by their work.
TEST(ThreadBounds, KernelsWithSeveralLoopsStateTheWorkOfEach) {
  const Options small{{"model", "small"}, {"context", "512"}, {"device", "cpu"}, {"optimizer", "torch"}};
  int64_t several = 0;
  for (const char* const edition : {"2024", "2025", "gpt2"}) {
    for (const char* const dtype : {"float32", "bfloat16"}) {
      for (const char* const mode : {"eager", "compile"}) {
        const SweepPoint point = point_of(small, {{"edition", edition}, {"dtype", dtype}, {"mode", mode}});
        const Prepared prepared = prepare(point.config, find_device(point.config), {});
        ASSERT_NE(prepared.device.launch_loops, nullptr);
        for (const Node& node : prepared.graph.nodes) {
          if (node.op->kind == OpKind::kView) continue;
          const Signature signature = signature_of(prepared.graph, node);
          for (const Kernel& kernel : prepared.device.kernels->of(*node.op)) {
            if (!kernel.refusal(signature).empty()) continue;
            const std::vector<LaunchLoop> loops = prepared.device.launch_loops(kernel, signature, 64);
            if (loops.size() < 2) continue;
            ++several;
            for (const LaunchLoop& loop : loops)
              EXPECT_GT(loop.work.flops, 0) << kernel.name << " of " << signature.text();
          }
        }
      }
    }
  }
  EXPECT_GT(several, 0);
}

}  // namespace
}  // namespace laptime
