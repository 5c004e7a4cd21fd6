// TimeForecast: times from data sheets, from measured launches, and for sizes that were not measured.
#include "prepare/time_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "measure/launch_costs.h"
#include "measure/run_one.h"
#include "predict/launch_times.h"
#include "prepare/prepare.h"
#include "prepare/resolved_point.h"
#include "support/points.h"

namespace laptime {
namespace {

constexpr double kRate = 1e9;  // FLOP/s and bytes/s of the machine that the tests use

SweepPoint tiny_sweep_point(const test::Options& more = {}) {
  return test::point_of({{"d-model", "32"},
                         {"num-layers", "2"},
                         {"num-heads", "2"},
                         {"vocab", "64"},
                         {"context", "32"},
                         {"batch", "2"},
                         {"threads", "1"},
                         {"mode", "compile"},
                         {"warmup", "1"},
                         {"steps", "2"}},
                        more);
}

Prepared prepared_tiny(const test::Options& more = {}) {
  const RunConfig config = tiny_sweep_point(more).config;
  return prepare(config, find_device(config), {});
}

double invented_seconds(const PlanStep& step) {
  return std::max({step.flops / kRate, static_cast<double>(step.bytes) / kRate, 1e-7});
}

MachineKnowledge costs_of(const Plan& plan, int64_t threads = 1) {
  MachineKnowledge known;
  for (const PlanStep& step : plan.steps) {
    known.launch_costs.push_back({"", threads, step.signature().text(), step.kernel->name, kind_of(step.signature()),
                                  step.flops, step.bytes, invented_seconds(step), "2026-01-02"});
  }
  return known;
}

double invented_seconds(const Plan& plan) {
  double seconds = 0;
  for (const PlanStep& step : plan.steps) seconds += invented_seconds(step);
  return seconds;
}

void expect_parts_add_up(const Prediction& prediction) {
  double phases = 0;
  double classes = 0;
  for (const char* const phase : {"forward", "backward", "optimizer"}) phases += prediction.time.at(phase);
  for (const ClassShare& share : prediction.classes) classes += share.seconds;
  EXPECT_NEAR(phases, prediction.time.at("step"), 1e-12);
  EXPECT_NEAR(classes, prediction.time.at("step"), 1e-12);
}

TEST(TimeForecast, KindNamesOpAndOperands) {
  std::set<std::string> kinds;
  for (const PlanStep& step : prepared_tiny().plan.steps) kinds.insert(kind_of(step.signature()));
  EXPECT_TRUE(kinds.contains("matmul float32,float32"));
  EXPECT_TRUE(kinds.contains("matmul float32~,float32"));
}

Prediction predicted(const ResolvedPoint& point) {
  const Prepared ready = prepare(point.config, *point.device, {});
  const auto forecast = TimeForecast::of(*point.device, {});
  return predict(*forecast, ready.plan, forecast->of(ready.plan), point.config.pass);
}

TEST(TimeForecast, DescribedMachineMatchesTheRooflineDevice) {
  for (const char* mode : {"eager", "compile"}) {
    for (const auto& [device, basis] :
         {std::pair("roofline:h100", "reached rates"), std::pair("roofline:epyc-9554", "data sheet")}) {
      const SweepPoint point = tiny_sweep_point({{"device", device}, {"mode", mode}});
      const Prediction prediction = predicted(point);
      const Record record = run_one(point, {}).record;
      ASSERT_EQ(prediction.time.size(), record.time.size());
      for (const auto& [key, stats] : record.time) EXPECT_NEAR(prediction.time.at(key), stats.median, 1e-12) << key;
      EXPECT_EQ(prediction.from, basis);
      EXPECT_EQ(prediction.low.has_value(), prediction.from == "reached rates");
    }
  }
}

TEST(TimeForecast, LaunchesOfADescribedMachineAddUpToThePhases) {
  const Prediction prediction =
      predicted(as_program(tiny_sweep_point({{"device", "roofline:h100"}}), Program::kPyTorchEager));
  expect_parts_add_up(prediction);
}

// The kernels of a tiny model take less time than PyTorch's host needs to launch them.
TEST(TimeForecast, HostTimeBoundsTinySteps) {
  const SweepPoint point = tiny_sweep_point({{"device", "roofline:h100"}, {"mode", "eager"}, {"pass", "forward"}});
  const DataSheet machine = find_machine("h100");
  const auto launches = [](const Prediction& prediction) { return static_cast<double>(*prediction.launches); };
  const Prediction eager = predicted(as_program(point, Program::kPyTorchEager));
  EXPECT_NEAR(eager.time.at("forward") / launches(eager), machine.host_forward, 0.01 * machine.host_forward);
  const Prediction compiled = predicted(as_program(point, Program::kPyTorchCompile));
  EXPECT_NEAR(compiled.time.at("forward") / launches(compiled), machine.host_compiled, 0.01 * machine.host_compiled);
  EXPECT_LT(launches(compiled), launches(eager));
  EXPECT_LT(predicted(point).time.at("forward"), eager.time.at("forward"));
}

TEST(TimeForecast, LargeProductsReachTheirShareOfThePeak) {
  const ResolvedPoint point = test::point_of({{"model", "2.7B"},
                                              {"num-layers", "1"},
                                              {"context", "1024"},
                                              {"batch", "16"},
                                              {"pass", "inference"},
                                              {"mode", "compile"},
                                              {"dtype", "bfloat16"},
                                              {"device", "roofline:h100"}});
  const DataSheet machine = find_machine("h100");
  const Prepared ready = prepare(point.config, *point.device, {});
  const auto launches = TimeForecast::of(*point.device, {})->of(ready.plan);
  double flops = 0;
  double seconds = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    if (ready.plan.steps[i].work_class != WorkClass::kMatmul) continue;
    flops += ready.plan.steps[i].flops;
    seconds += launches[i].seconds;
  }
  const double reached = flops / seconds / machine.bfloat16;
  constexpr double kOwnProducts = 1.25;  // speed of laptime's products relative to PyTorch's
  EXPECT_LT(reached, kOwnProducts * machine.reached_tensor);
  EXPECT_GT(reached, 0.8 * kOwnProducts * machine.reached_tensor);
}

TEST(TimeForecast, PredictsOtherProgramsForDescribedMachinesOnly) {
  EXPECT_THROW(as_program(tiny_sweep_point(), Program::kPyTorchEager), Error);
  EXPECT_EQ(predicted(as_program(tiny_sweep_point({{"device", "roofline:h100"}}), Program::kLaptime)).time,
            predicted(tiny_sweep_point({{"device", "roofline:h100"}})).time);
}

TEST(TimeForecast, IsAbsentWithoutMeasurements) {
  const Prepared ready = prepared_tiny();
  EXPECT_FALSE(TimeForecast::of(ready.device, {}).has_value());
  EXPECT_FALSE(TimeForecast::of(ready.device, costs_of(ready.plan, 2)).has_value());  // a different number of threads
}

TEST(TimeForecast, MeasuredLaunchesAddUpToTheStep) {
  const Prepared ready = prepared_tiny();
  const auto forecast = TimeForecast::of(ready.device, costs_of(ready.plan));
  const Prediction prediction = predict(*forecast, ready.plan, forecast->of(ready.plan), Pass::kStep);
  EXPECT_NEAR(prediction.time.at("step"), invented_seconds(ready.plan), 1e-12);
  EXPECT_DOUBLE_EQ(*prediction.measured_share, 1);
  EXPECT_EQ(prediction.newest, "2026-01-02");
  expect_parts_add_up(prediction);
}

TEST(TimeForecast, StatesTheShareMeasuredOnADisturbedMachine) {
  const Prepared ready = prepared_tiny();
  MachineKnowledge known = costs_of(ready.plan);
  const auto predicted = [&](const Plan& plan) {
    const auto forecast = TimeForecast::of(ready.device, known);
    return predict(*forecast, plan, forecast->of(plan), Pass::kStep);
  };
  EXPECT_FALSE(predicted(ready.plan).disturbed_share);
  EXPECT_EQ(predicted(ready.plan).disturbance, "");
  double disturbed = 0;
  for (LaunchCost& cost : known.launch_costs) {
    const bool is_product = cost.kind.starts_with("linear");
    cost.disturbance = is_product ? "12 % of the time was stolen" : "";
  }
  for (const PlanStep& step : ready.plan.steps) {
    if (kind_of(step.signature()).starts_with("linear")) disturbed += invented_seconds(step);
  }
  ASSERT_GT(disturbed, 0);
  EXPECT_NEAR(*predicted(ready.plan).disturbed_share, disturbed / invented_seconds(ready.plan), 1e-9);
  EXPECT_EQ(predicted(ready.plan).disturbance, "12 % of the time was stolen");
  // The nearest measured launches were disturbed.
  EXPECT_GT(predicted(prepared_tiny({{"batch", "8"}}).plan).disturbed_share.value_or(0), 0.1);
  for (LaunchCost& cost : known.launch_costs) cost.disturbance = "steps varied by 20 %";
  EXPECT_NEAR(*predicted(ready.plan).disturbed_share, 1, 1e-9);
}

TEST(TimeForecast, OtherSizesAreScaledFromTheNearestMeasuredSize) {
  const auto forecast = TimeForecast::of(prepared_tiny().device, costs_of(prepared_tiny().plan));
  for (const test::Options& other : {test::Options{{"context", "64"}}, {{"batch", "8"}}, {{"d-model", "48"}}}) {
    const Plan plan = prepared_tiny(other).plan;
    const Prediction prediction = predict(*forecast, plan, forecast->of(plan), Pass::kStep);
    EXPECT_NEAR(prediction.time.at("step") / invented_seconds(plan), 1, 0.02);
    EXPECT_LT(*prediction.measured_share, 0.9);
  }
  const Plan eager = prepared_tiny({{"mode", "eager"}}).plan;  // contains ops that were never measured
  EXPECT_NEAR(predict(*forecast, eager, forecast->of(eager), Pass::kStep).time.at("step") / invented_seconds(eager), 1,
              0.25);
}

bool communicates(const PlanStep& step) { return step.queue == kCommunicationQueue; }
bool waits(const PlanStep& step) { return step.kernel->op->kind == OpKind::kWait; }

TEST(TimeForecast, CommunicationCountsOnlyIfComputationWaits) {
  const Prepared ready = prepared_tiny({{"ranks", "2"}, {"oversubscribe", "true"}, {"bucket", "1KiB"}});
  const std::vector<PlanStep>& steps = ready.plan.steps;
  const auto seconds_with = [&](double communication) {
    MachineKnowledge known = costs_of(ready.plan);
    for (size_t i = 0; i < steps.size(); ++i)
      known.launch_costs[i].seconds = communicates(steps[i]) ? communication : 1;
    const auto forecast = TimeForecast::of(ready.device, known);
    const Prediction prediction = predict(*forecast, ready.plan, forecast->of(ready.plan), Pass::kStep);
    expect_parts_add_up(prediction);
    return prediction.time.at("step");
  };
  const auto sent = static_cast<double>(std::ranges::count_if(steps, communicates));
  const auto computed = static_cast<double>(
      std::ranges::count_if(steps, [](const PlanStep& step) { return !communicates(step) && !waits(step); }));
  ASSERT_GT(sent, 2);
  const double hidden = seconds_with(1e-3);
  EXPECT_GE(hidden, computed);
  EXPECT_LT(hidden, computed + 1e-3 * sent);
  const double exposed = seconds_with(1e3);
  EXPECT_GE(exposed, 1e3 * sent);
  EXPECT_LT(exposed, 1e3 * sent + computed);
}

TEST(LaunchCosts, CommunicationIsTimedByItsOwnThread) {
  const Plan plan = prepared_tiny({{"ranks", "2"}, {"oversubscribe", "true"}}).plan;
  LaunchCosts costs(plan);
  std::vector<Seconds> times;
  for (size_t i = 0; i <= plan.steps.size(); ++i) times.emplace_back(static_cast<double>(i));
  const auto sent = static_cast<size_t>(std::ranges::count_if(plan.steps, communicates));
  costs.add(times, std::vector<CommunicationTime>(sent, {Seconds{2}, Seconds{9}}));
  for (const LaunchCost& cost : costs.result()) {
    const auto step =
        std::ranges::find_if(plan.steps, [&](const PlanStep& one) { return one.signature().text() == cost.signature; });
    EXPECT_FALSE(waits(*step));
    EXPECT_DOUBLE_EQ(cost.seconds, communicates(*step) ? 7 : 1) << cost.signature;
  }
}

TEST(LaunchCosts, AddUpToTheStep) {
  const Plan plan = prepared_tiny().plan;
  LaunchCosts costs(plan);
  EXPECT_TRUE(costs.result().empty());
  for (const double scale : {1.0, 3.0, 100.0}) {
    std::vector<Seconds> times{Seconds{5}};
    for (size_t i = 0; i < plan.steps.size(); ++i) times.push_back(times.back() + Seconds{scale * (i % 7 + 1)});
    costs.add(times);
  }
  double whole = 0;
  double expected = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) expected += 3.0 * (i % 7 + 1);  // the step scaled by 3 is the median
  for (const LaunchCost& cost : costs.result()) {
    whole +=
        cost.seconds * static_cast<double>(std::count_if(plan.steps.begin(), plan.steps.end(), [&](const auto& step) {
          return step.signature().text() == cost.signature;
        }));
  }
  EXPECT_NEAR(whole, expected, 1e-9 * expected);
}

TEST(LaunchCosts, ReportTheRateOfTheFastestProduct) {
  const Plan plan = prepared_tiny().plan;
  LaunchCosts costs(plan);
  EXPECT_EQ(costs.products().flops_per_second, 0);
  double best = 0;
  std::vector<Seconds> times{Seconds{0}};
  for (const PlanStep& step : plan.steps) {
    const Signature signature = step.signature();
    const bool is_product = product_flops_of(signature) > 0 && product_flops_of(signature) == flops_of(signature);
    if (is_product) best = std::max(best, step.flops);
    // Attention also has FLOPs outside of products, and is faster than any product here.
    times.push_back(times.back() + Seconds{is_product ? 1 : 1e-4});
  }
  costs.add(times);
  EXPECT_DOUBLE_EQ(costs.products().flops_per_second, best);
  EXPECT_NE(costs.products().math, ProductMath::kNone);
  LaunchCosts of_short_launches(plan);
  for (Seconds& time : times) time *= 1e-5;
  of_short_launches.add(times);
  EXPECT_EQ(of_short_launches.products().flops_per_second, 0);
}

TEST(LaunchTimes, FractionsOfPeakOverrideMeasuredRates) {
  const std::filesystem::path folder(testing::TempDir());
  const std::string sheet =
      "title = \"Paper\"\nsource = \"a note\"\nmemory = \"8GiB\"\nbandwidth = 100e9\nlaunch = 1e-6\nfloat32 = 1e12\n";
  const std::string reached =
      "processors = 10\ncache = \"4MiB\"\nreached_float32 = 0.9\nreached_tf32 = 0.5\nreached_tensor = 0.6\n"
      "reached_bandwidth = 0.8\nreached_attention = 0.5\nhost_forward = 2e-5\nhost_compiled = 3e-5\n"
      "reached_source = \"me\"\n";
  const std::string measured = "measured_float32 = 0.5e12\nmeasured_bandwidth = 50e9\nmeasured_source = \"me\"\n";
  const auto seconds = [&](const std::string& text) {
    const std::string path = (folder / "measured_machine.toml").string();
    std::ofstream(path) << text;
    const RunConfig config = tiny_sweep_point({{"device", "roofline:" + path}}).config;
    const Device device = find_device(config);
    std::filesystem::remove(path);
    return device.launch_times->kernel(
        {.kind = LaunchWork::Kind::kProduct, .written = {1, 4096, 4096}, .flops = 1e12, .bytes = 1e6});
  };
  EXPECT_DOUBLE_EQ(seconds(sheet), 1);
  EXPECT_DOUBLE_EQ(seconds(sheet + measured), 2);
  EXPECT_GT(seconds(sheet + reached), 1.1);
  EXPECT_DOUBLE_EQ(seconds(sheet + reached + measured), seconds(sheet + reached));
}

TEST(LaunchCosts, RunsLearnLaunchCostsForTheNextPrediction) {
  const SweepPoint point = tiny_sweep_point();
  const PointResult first = run_one(point, {}, {}, {.wanted = true, .traced_steps = 2});
  ASSERT_EQ(first.record.status, Status::kOk) << first.record.reason;
  EXPECT_EQ(first.record.prediction, Prediction());
  ASSERT_FALSE(first.learned.launch_costs.empty());
  EXPECT_EQ(first.learned.launch_costs.front().device, device_key(find_device(point.config)));
  const Record second = run_one(point, first.learned).record;
  EXPECT_DOUBLE_EQ(second.prediction.measured_share.value_or(0), 1);
  EXPECT_GT(second.prediction.time.at("step"), 0);
}

}  // namespace
}  // namespace laptime
