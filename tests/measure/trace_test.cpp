// Traces contain every launch and buffer of the plan, and their sums match the step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "measure/make_trace.h"
#include "measure/run_one.h"
#include "prepare/prepare.h"
#include "support/points.h"

namespace laptime {
namespace {

const test::Options kTiny{{"d-model", "32"}, {"num-layers", "2"}, {"num-heads", "2"}, {"vocab", "64"},
                          {"context", "16"}, {"batch", "2"},      {"warmup", "1"},    {"steps", "3"}};

PointResult traced(const test::Options& options, int64_t steps) {
  return run_one(test::point_of(kTiny, options), {}, {}, {.wanted = true, .traced_steps = steps});
}

class Editions : public testing::TestWithParam<test::Options> {};

TEST_P(Editions, LaunchesAndPhasesAddUpToTheStep) {
  test::Options options = GetParam();
  options.emplace_back("device", "roofline:h100");  // its clock advances only during launches
  const PointResult result = traced(options, 2);
  ASSERT_EQ(result.record.status, Status::kOk) << result.record.reason;
  ASSERT_TRUE(result.trace.has_value());
  const StepTrace& trace = *result.trace;
  check(trace);
  ASSERT_EQ(trace.steps.size(), 2U);
  EXPECT_EQ(trace.untraced.size(), 2U);
  std::map<std::string, double> phases;
  double sum = 0;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    phases[std::string(trace.launch(i).phase)] += trace.mean_seconds(i);
    sum += trace.mean_seconds(i);
  }
  const double rounding = 0.5e-9 * static_cast<double>(trace.launch_count());
  EXPECT_NEAR(sum, trace.steps[0].total, rounding);
  for (const PhaseShare& phase : result.record.phases) {
    if (phases.contains(phase.phase)) {
      EXPECT_NEAR(phases[phase.phase], phase.seconds, rounding) << phase.phase;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Editions,
                         testing::Values(test::Options{}, test::Options{{"mode", "compile"}},
                                         test::Options{{"edition", "2024"}, {"dtype", "bfloat16"}},
                                         test::Options{{"edition", "gpt2"}, {"mode", "compile"}},
                                         test::Options{{"pass", "inference"}},
                                         test::Options{{"recompute", "block"}, {"mode", "compile"}}));

TEST(Trace, SignalDuringTracedStepsInterruptsThePoint) {
  bool is_traced = false;
  PointHooks hooks;
  hooks.progress = [&](const PointProgress& progress) { is_traced = progress.stage == "trace" && progress.done == 2; };
  hooks.interrupted = [&] { return is_traced; };
  const PointResult result =
      run_one(test::point_of(kTiny, {{"device", "roofline:h100"}}), {}, hooks, {.wanted = true, .traced_steps = 3});
  EXPECT_EQ(result.record.status, Status::kInterrupted);
  EXPECT_THAT(result.record.reason,
              testing::StartsWith("stopped by a signal after 4 steps and 1 of 3 traced ones; the times cover the "));
  EXPECT_FALSE(result.record.time.empty());
}

TEST(Trace, BuffersAliveAtThePeakSumToThePeak) {
  for (const char* mode : {"eager", "compile"}) {
    const RunConfig config = test::point_of(kTiny, {{"device", "roofline:h100"}, {"mode", mode}}).config;
    const Prepared prepared = prepare(config, find_device(config), {});
    const StepTrace trace = trace_of(prepared.plan);
    int64_t alive = 0;
    int64_t resident = 0;
    for (size_t i = 0; i < trace.buffer_count(); ++i) {
      const TraceBuffer buffer = trace.buffer(i);
      if (buffer.resident) {
        resident += (buffer.bytes + 63) / 64 * 64;
      } else if (buffer.first <= trace.peak_launch && trace.peak_launch <= buffer.last) {
        alive += buffer.bytes;
      }
    }
    EXPECT_EQ(resident, trace.resident_bytes) << mode;
    EXPECT_EQ(alive, trace.live_peak_bytes) << mode;
  }
}

TEST(Trace, EveryMicroBatchSavesBuffersForItsBackward) {
  const RunConfig config = test::point_of(kTiny, {{"device", "roofline:h100"}, {"micro-batches", "2"}}).config;
  const StepTrace trace = trace_of(prepare(config, find_device(config), {}).plan);
  int64_t backward = 0;
  while (trace.launch(static_cast<size_t>(backward)).phase != "backward") ++backward;
  int64_t first = 0;
  int64_t second = 0;
  for (size_t i = 0; i < trace.buffer_count(); ++i) {
    const TraceBuffer buffer = trace.buffer(i);
    if (buffer.saved && !buffer.resident) (buffer.first < backward ? first : second) += buffer.bytes;
  }
  EXPECT_GT(first, 0);
  EXPECT_EQ(first, second);
}

TEST(Trace, AssignsWorkClasses) {
  std::map<std::string, std::set<std::string>> ops;  // by work class
  const PointResult eager = traced({{"device", "roofline:h100"}, {"dtype", "bfloat16"}}, 1);
  for (size_t i = 0; i < eager.trace->launch_count(); ++i) {
    const TraceLaunch launch = eager.trace->launch(i);
    ops[std::string(launch.work_class)].insert(std::string(launch.op));
    if (launch.phase == "optimizer") {
      EXPECT_EQ(launch.work_class, "optimizer");
    }
    if (launch.op == "matmul" && launch.phase != "optimizer") {
      EXPECT_EQ(launch.work_class, "matmul");
    }
  }
  EXPECT_THAT(ops["cast"], testing::ElementsAre("cast"));
  EXPECT_THAT(ops["softmax"], testing::IsSupersetOf({"exp", "max", "sum", "sub", "div"}));
  EXPECT_THAT(ops["loss"], testing::Contains("log"));
  EXPECT_THAT(ops["copy"], testing::Contains("embedding"));
  const PointResult compiled = traced({{"device", "roofline:h100"}, {"mode", "compile"}}, 1);
  ops.clear();
  for (size_t i = 0; i < compiled.trace->launch_count(); ++i)
    ops[std::string(compiled.trace->launch(i).work_class)].insert(std::string(compiled.trace->launch(i).op));
  EXPECT_THAT(ops["attention"],
              testing::ElementsAre("scaled_dot_product_attention", "scaled_dot_product_attention_backward"));
  EXPECT_FALSE(ops.contains("softmax"));
}

TEST(Trace, AttentionRangesNameTheirStages) {
  std::set<std::string> ranges;
  const PointResult result = traced({{"device", "roofline:h100"}}, 1);
  for (size_t i = 0; i < result.trace->launch_count(); ++i) {
    const TraceLaunch launch = result.trace->launch(i);
    if (!launch.range.empty()) {
      EXPECT_EQ(launch.part, "attn") << launch.scope;
    }
    ranges.insert(std::string(launch.range));
  }
  const std::string whole = "scaled dot product attention";
  EXPECT_THAT(ranges, testing::IsSupersetOf({whole + "/computing attention scores", whole + "/masking",
                                             whole + "/computing softmax", whole + "/final matmul"}));
}

// On a CPU, launches are timed with marks. A step that does not fit in memory has a trace without times.
TEST(Trace, CpuStepHasTimesAndOversizedStepHasNone) {
  const PointResult result = traced({{"device", "cpu"}, {"threads", "1"}}, 3);
  ASSERT_TRUE(result.trace.has_value());
  EXPECT_GT(result.trace->mark.value_or(0), 0);
  for (const TracedStep& step : result.trace->steps) {
    const double launches =
        1e-9 * static_cast<double>(std::accumulate(step.launches.begin(), step.launches.end(), int64_t{0}));
    EXPECT_LE(launches, step.total + 1e-6);
    EXPECT_GT(launches, 0);
  }
  const PointResult refused = traced({{"device", "cpu"}, {"memory-limit", "4KiB"}, {"recompute", "none"}}, 3);
  EXPECT_EQ(refused.record.status, Status::kOutOfMemory);
  ASSERT_TRUE(refused.trace.has_value());
  EXPECT_TRUE(refused.trace->steps.empty());
  EXPECT_GT(refused.trace->buffer_count(), 0U);
}

TEST(Trace, SamplesHaveClassSharesIfMarksTakeNoTime) {
  const PointResult predicted = run_one(test::point_of(kTiny, {{"device", "roofline:h100"}}), {});
  double sum = 0;
  for (const ClassShare& share : predicted.record.classes) sum += share.share;
  EXPECT_NEAR(sum, 1, 1e-6);  // marks take no virtual time
}

TEST(Trace, CheckRejectsInconsistentColumns) {
  const RunConfig config = test::point_of(kTiny, {{"device", "roofline:h100"}}).config;
  const StepTrace good = trace_of(prepare(config, find_device(config), {}).plan);
  StepTrace trace = good;
  trace.launches.op.pop_back();
  EXPECT_THROW(check(trace), Error);
  trace = good;
  trace.launches.kernel[0] = static_cast<int64_t>(trace.texts.size());
  EXPECT_THROW(check(trace), Error);
  trace = good;
  trace.buffers.last[0] = static_cast<int64_t>(trace.launch_count()) + 1;
  EXPECT_THROW(check(trace), Error);
  trace = good;
  trace.steps.push_back({});
  EXPECT_THROW(check(trace), Error);
}

}  // namespace
}  // namespace laptime
