// Steps of another program: the record states only what is known, and its statistics match those of laptime bench.
#include "measure/recorded_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "measure/make_record.h"
#include "support/error_of.h"
#include "support/fake_root.h"
#include "support/points.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Given = std::vector<GivenOption>;

const SystemConfig kPyTorch{.system = "pytorch", .version = "2.15.0", .name = "", .tokens = {}};
const Given kTinyModel{{"model", "custom"}, {"d-model", "32"}, {"num-layers", "1"}, {"num-heads", "2"},
                       {"vocab", "64"},     {"context", "16"}, {"batch", "2"},      {"dtype", "float32"}};
const Given kOnCuda{{"device", "cuda"}};  // no peak is measured for steps on CUDA

Given with(Given given, const Given& more) {
  given.insert(given.end(), more.begin(), more.end());
  return given;
}

std::string refusal_of_point(const Given& given, const SystemConfig& system) {
  return test::error_of([&] { recorded_point(given, system); });
}

StepLine line_of(double seconds, double forward = 0) {
  StepLine line{.keys = {"step"}, .step = Seconds{seconds}};
  if (forward > 0) {
    line.keys.insert("forward");
    line.phases.emplace_back(Phase::kForward, Seconds{forward});
  }
  return line;
}

// Steps of about 10 ms; the first steps are slower.
double nth_step(int64_t n) { return 0.01 * (1 + 0.3 * std::exp(-static_cast<double>(n)) + 0.001 * ((n * 7) % 5)); }

StepLine line_at(int64_t begin, double seconds) {
  StepLine line = line_of(seconds);
  line.keys.insert("begin");
  line.begin = begin;
  return line;
}

// Writes the counters of a machine with a single core, from which the host has stolen this much time.
void write_stolen_seconds(const FakeRoot& root, int64_t seconds) {
  root.write("proc/self/status", "Cpus_allowed_list:\t0\n");
  root.write("proc/stat", fmt::format("cpu0 0 0 0 0 0 0 0 {}\n", seconds * sysconf(_SC_CLK_TCK)));
}

Record record_of(const RecordedPoint& point, RecordedSteps steps, std::string_view interrupted_by = "") {
  return recorded_result(point, describe_recorded(point), std::move(steps), interrupted_by, {}).record;
}

TEST(RecordedPoint, StatesOnlyKnownFields) {
  const RecordedPoint point = recorded_point({}, {.system = "jax", .version = "", .name = "mine", .tokens = 512});
  EXPECT_EQ(point.name, "step/system:jax/implementation:mine/tokens:512");
  EXPECT_EQ(point.version, "jax");
  EXPECT_FALSE(point.knows_model);
  const Json& config = point.stated.json();
  for (const char* key : {"model", "d_model", "context_length", "batch_size", "dtype", "mode", "optimizer", "threads",
                          "seed", "warmup", "system_version"})
    EXPECT_TRUE(config.at(key).is_null()) << key;
  EXPECT_EQ(config.at("pass"), "step");
  EXPECT_EQ(config.at("device"), "cpu");
  EXPECT_EQ(config.at("system"), "jax");
  EXPECT_EQ(config.at("tokens"), 512);
}

TEST(RecordedPoint, StatesAKnownModel) {
  const RecordedPoint point = recorded_point(with(kTinyModel, {{"threads", "1"}}), kPyTorch);
  EXPECT_THAT(point.name, StartsWith("step/model:custom/ctx:16/dtype:float32/d_model:32/"));
  EXPECT_THAT(point.name, HasSubstr("/batch:2/threads:1/system:pytorch"));
  EXPECT_EQ(point.stated.json().at("d_ff"), 128);
  EXPECT_EQ(point.stated.json().at("threads"), 1);
  EXPECT_TRUE(point.stated.json().at("mode").is_null());
  EXPECT_TRUE(point.stated.json().at("lr").is_null());
}

TEST(RecordedPoint, AcceptsAnyMicroBatchCountForAnUnknownBatch) {
  SystemConfig system = kPyTorch;
  system.tokens = 8192;
  const RecordedPoint point = recorded_point(with(kOnCuda, {{"micro-batches", "8"}}), system);
  EXPECT_EQ(point.stated.json().at("micro_batches"), 8);
  EXPECT_TRUE(point.stated.json().at("batch_size").is_null());
  EXPECT_EQ(point.name.find("batch:"), std::string::npos) << point.name;
  EXPECT_THAT(refusal_of_point(with(kTinyModel, {{"micro-batches", "8"}}), kPyTorch), HasSubstr("--micro-batches 8"));
}

TEST(RecordedPoint, CudaPointHasNoLocalDevice) {
  const RecordedPoint point = recorded_point({{"device", "cuda"}, {"dtype", "tf32"}}, kPyTorch);
  EXPECT_FALSE(point.device.has_value());
  EXPECT_EQ(point.name, "step/dtype:tf32/device:cuda/system:pytorch");
}

TEST(RecordedPoint, RejectsIncompleteOrContradictoryOptions) {
  EXPECT_THAT(refusal_of_point({}, {}), HasSubstr("--system is missing"));
  EXPECT_THAT(refusal_of_point({{"model", "small"}, {"batch", "2"}}, kPyTorch), HasSubstr("needs --context"));
  EXPECT_THAT(refusal_of_point({{"d-model", "64"}}, kPyTorch), HasSubstr("--d-model describes a model"));
  EXPECT_THAT(refusal_of_point({{"device", "roofline:h100"}}, kPyTorch), HasSubstr("only predicts"));
  EXPECT_THAT(refusal_of_point({{"dtype", "tf32"}}, kPyTorch), HasSubstr("tf32"));
  SystemConfig with_tokens = kPyTorch;
  with_tokens.tokens = 64;
  EXPECT_THAT(refusal_of_point(kTinyModel, with_tokens), HasSubstr("leave it out"));
  EXPECT_THAT(refusal_of_point(with(kTinyModel, {{"num-heads", "5"}}), kPyTorch), HasSubstr("num_heads"));
}

TEST(RecordedSteps, MatchBenchFigures) {
  const RecordedPoint point = recorded_point(with(kTinyModel, kOnCuda), kPyTorch);
  const RunConfig config = test::point_of({{"model", "custom"},
                                           {"d-model", "32"},
                                           {"num-layers", "1"},
                                           {"num-heads", "2"},
                                           {"vocab", "64"},
                                           {"context", "16"},
                                           {"batch", "2"},
                                           {"device", "cpu"}})
                               .config;
  RecordedSteps steps(point);
  Measurement run;
  run.rule = StoppingRule({.budget = Seconds{config.budget}});
  SampleSeries series(run.rule, false);
  Seconds at{};
  for (int64_t n = 0; !steps.is_done(); ++n) {
    const Seconds step{nth_step(n)};
    steps.add(line_of(step.count()));
    ASSERT_FALSE(series.is_done());
    series.add({{}, at, at + step});
    at += step;
  }
  EXPECT_TRUE(series.is_done());
  run.sampling = std::move(series).finish(false);
  Record described;
  described.name = "point";
  const Record own = make_record(described, prepare(config, find_device(config), {}), run);
  const Record recorded = record_of(point, std::move(steps));
  EXPECT_EQ(recorded.status, Status::kOk);
  EXPECT_EQ(recorded.time.at("step"), own.time.at("step"));
  EXPECT_EQ(recorded.stopping, own.stopping);
  EXPECT_EQ(recorded.transient.warmup, own.transient.warmup);
  EXPECT_EQ(recorded.transient.excess, own.transient.excess);
  EXPECT_EQ(recorded.tokens_per_second, own.tokens_per_second);
  EXPECT_EQ(recorded.flops.forward, own.flops.forward);
  EXPECT_EQ(recorded.flops.model_flops_per_second, own.flops.model_flops_per_second);
  EXPECT_EQ(recorded.config.json().at("warmup"), own.config.json().at("warmup"));
  std::vector<std::string> reasons = own.verdict.reasons;
  const bool is_release = reasons.empty() || !reasons.front().starts_with("measured with a");
  if (!is_release) reasons.erase(reasons.begin());  // only the record of laptime bench notes a debug build
  EXPECT_EQ(recorded.verdict.reasons, reasons);
  if (is_release) {
    EXPECT_EQ(recorded.verdict.rating, own.verdict.rating);
  }
}

TEST(RecordedSteps, NameTheSystemThatRanThem) {
  const RecordedPoint point = recorded_point(with(kTinyModel, kOnCuda), kPyTorch);
  RecordedSteps steps(point);
  while (!steps.is_done()) steps.add(line_of(0.01));
  const Record record = record_of(point, std::move(steps));
  EXPECT_EQ(system_of(record), "pytorch");
  EXPECT_EQ(record.binary.version, "pytorch 2.15.0");
  EXPECT_EQ(record.binary.id, "pytorch 2.15.0");  // laptime history distinguishes builds by this id
  EXPECT_TRUE(record.binary.commit.empty() && record.config_hash.empty());
  EXPECT_TRUE(record.math_mode.empty() && record.kernels.empty() && record.classes.empty());
  EXPECT_TRUE(record.prediction.from.empty() && record.prediction.time.empty());
  EXPECT_FALSE(record.transient.page_faults || record.memory.predicted_peak_bytes || record.setup.total);
  EXPECT_FALSE(record.machine.json().contains("during"));
  EXPECT_TRUE(record.machine.json().at("isa_used").is_null());
  EXPECT_THAT(record.machine.text("recorded_by"), StartsWith("laptime "));
  Record only_name;
  only_name.name = record.name;
  EXPECT_EQ(system_of(only_name), "pytorch");
  EXPECT_EQ(system_of(Record{}), "");
}

TEST(RecordedSteps, GiveNoKernelChoicesPeaksOrTrace) {
  const RecordedPoint point = recorded_point(with(kTinyModel, kOnCuda), kPyTorch);
  RecordedSteps steps(point);
  while (!steps.is_done()) steps.add(line_of(0.01));
  const PointResult result = recorded_result(point, describe_recorded(point), std::move(steps), "", {});
  EXPECT_TRUE(result.learned.kernel_choices.empty() && result.learned.launch_costs.empty());
  EXPECT_TRUE(result.learned.peaks.empty());
  EXPECT_FALSE(result.trace.has_value());
  EXPECT_TRUE(result.record.flops.model_flops_per_second.has_value());
  EXPECT_FALSE(result.record.flops.peak_measured || result.record.flops.mfu_measured);
}

TEST(RecordedSteps, UnknownModelHasNoFlops) {
  SystemConfig system = kPyTorch;
  for (const bool knows_tokens : {true, false}) {
    system.tokens = knows_tokens ? std::optional<int64_t>(200) : std::nullopt;
    const RecordedPoint point = recorded_point({{"warmup", "1"}, {"steps", "2"}}, system);
    RecordedSteps steps(point);
    while (!steps.is_done()) steps.add(line_of(0.5));
    const Record record = record_of(point, std::move(steps));
    EXPECT_EQ(record.tokens_per_second.has_value(), knows_tokens);
    EXPECT_DOUBLE_EQ(record.tokens_per_second.value_or(0), knows_tokens ? 400 : 0);
    EXPECT_FALSE(record.flops.forward || record.flops.model_flops_per_second || record.flops.peak_measured);
    EXPECT_TRUE(record.phases.empty());
    EXPECT_EQ(record.stopping.rule, "fixed");
  }
}

TEST(RecordedSteps, PhasesAndResidueAddUp) {
  const RecordedPoint point = recorded_point({{"warmup", "0"}, {"steps", "3"}}, kPyTorch);
  RecordedSteps steps(point);
  while (!steps.is_done()) steps.add(line_of(0.01, 0.004));
  const Record record = record_of(point, std::move(steps));
  ASSERT_EQ(record.phases.size(), 2U);
  EXPECT_NEAR(record.phases[0].seconds, 0.004, 1e-15);
  EXPECT_EQ(record.phases[1].phase, "residue");
  EXPECT_DOUBLE_EQ(record.phases[0].seconds + record.phases[1].seconds, record.time.at("step").mean);
}

TEST(RecordedSteps, MainTimeIsThatOfThePass) {
  const RecordedPoint point = recorded_point({{"warmup", "0"}, {"steps", "3"}, {"pass", "forward"}}, kPyTorch);
  RecordedSteps steps(point);
  while (!steps.is_done()) steps.add(line_of(0.01, 0.004));
  const Record record = record_of(point, std::move(steps));
  EXPECT_NEAR(record.main_time()->median, 0.004, 1e-15);
}

TEST(RecordedSteps, DriftingTimesAreNotSteady) {
  const RecordedPoint point = recorded_point({}, kPyTorch);
  RecordedSteps steps(point);
  for (int64_t n = 0; !steps.is_done(); ++n) steps.add(line_of(0.01 + 0.002 * static_cast<double>(n)));
  EXPECT_EQ(record_of(point, std::move(steps)).verdict.rating, "no_steady_state");
}

TEST(RecordedSteps, NonFiniteLossEndsTheSeries) {
  const RecordedPoint point = recorded_point({}, kPyTorch);
  RecordedSteps steps(point);
  StepLine line = line_of(0.01);
  line.keys.insert("loss");
  line.loss = 2;
  steps.add(line);
  EXPECT_FALSE(steps.is_done());
  line.loss = std::numeric_limits<double>::infinity();
  steps.add(line);
  EXPECT_TRUE(steps.is_done());
  EXPECT_EQ(steps.progress(), "the loss of step 2 is not finite");
  const Record record = record_of(point, std::move(steps));
  EXPECT_EQ(record.status, Status::kFailed);
  EXPECT_THAT(record.reason, HasSubstr("the loss of step 2 is not finite, so no timing is reported"));
  EXPECT_TRUE(record.time.empty());
}

TEST(RecordedSteps, KeepTheirSamplesIfTheInputEndsEarly) {
  const RecordedPoint point = recorded_point({{"warmup", "2"}, {"steps", "10"}}, kPyTorch);
  RecordedSteps steps(point);
  for (int64_t n = 0; n < 5; ++n) steps.add(line_of(0.01));
  EXPECT_EQ(steps.progress(), "sample 3, step 5");
  const Record record = record_of(point, std::move(steps), "the end of the input");
  EXPECT_EQ(record.status, Status::kInterrupted);
  EXPECT_EQ(record.reason, "stopped by the end of the input after 5 steps; the times cover the 3 samples taken so far");
  EXPECT_EQ(record.stopping.reason, "the end of the input");
  EXPECT_EQ(record.time.at("step").count, 3);
  EXPECT_EQ(record.config.json().at("steps"), 10);
}

TEST(RecordedSteps, RejectContradictoryLines) {
  RecordedSteps steps(recorded_point({}, kPyTorch));
  StepLine line = line_at(5'000'000'000, 1);
  steps.add(line);
  EXPECT_EQ(steps.progress(), "warm-up, step 1");
  EXPECT_THROW(steps.add(line_of(1)), Error);  // `begin` is missing
  line.begin = 5'500'000'000;                  // 0.5 s before the first step ends
  EXPECT_THROW(steps.add(line), Error);
  line.begin = 4'000'000'000;
  EXPECT_THROW(steps.add(line), Error);
  EXPECT_EQ(steps.count(), 1);
  line.begin = 6'000'000'000;
  steps.add(line);
  EXPECT_EQ(steps.count(), 2);
}

TEST(RecordedSteps, ExcludeTimeLostBeforeTheFirstStep) {
  const RecordedPoint point = recorded_point({{"warmup", "0"}, {"steps", "2"}, {"threads", "1"}}, kPyTorch);
  const FakeRoot root;
  write_stolen_seconds(root, 0);
  RecordedSteps steps(point, MachineCounters(root.path()));
  write_stolen_seconds(root, 100);  // while the program starts
  steps.add(line_at(0, 1));
  write_stolen_seconds(root, 101);
  steps.add(line_at(4'000'000'000, 1));
  const Record record = record_of(point, std::move(steps));
  // The second of two equally long samples lost 1 s of the 4 s since the first.
  EXPECT_DOUBLE_EQ(record.verdict.lost.value_or(-1), 0.125);
  EXPECT_EQ(record.machine.json()["during"]["stolen_seconds"], 1);
}

// After three years, a double no longer resolves nanoseconds, so the last two steps begin and end at the same time.
TEST(RecordedSteps, TolerateAClockTooCoarseForAStep) {
  const RecordedPoint point = recorded_point({{"warmup", "0"}, {"steps", "3"}, {"threads", "1"}}, kPyTorch);
  const FakeRoot root;
  write_stolen_seconds(root, 0);
  RecordedSteps steps(point, MachineCounters(root.path()));
  constexpr int64_t kLater = 100'000'000'000'000'000;
  for (const int64_t begin : {int64_t{0}, kLater, kLater + 1}) steps.add(line_at(begin, 1e-9));
  const Record record = record_of(point, std::move(steps));
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_EQ(record.verdict.lost, 0);
}

TEST(RecordedSteps, KeepThePeakMemory) {
  const RecordedPoint point = recorded_point({{"warmup", "0"}, {"steps", "2"}}, kPyTorch);
  RecordedSteps steps(point);
  for (const int64_t bytes : {300, 200}) {
    StepLine line = line_of(0.01);
    line.keys.insert({"peak_bytes", "begin"});
    line.peak_bytes = bytes;
    line.begin = 1'000'000'000 - bytes * 1'000'000;
    steps.add(line);
  }
  const Record record = record_of(point, std::move(steps));
  EXPECT_EQ(record.memory.peak_bytes, 300);
  EXPECT_FALSE(record.memory.peak_rss_bytes.has_value());
  EXPECT_TRUE(record.machine.json().contains("during"));  // the steps ran now, so the counters of this machine apply
  EXPECT_TRUE(record.machine.json()["during"]["minor_faults"].is_null());
  EXPECT_TRUE(record.machine.json()["during"]["user_seconds"].is_null());
}

}  // namespace
}  // namespace laptime
