// make_record: the record depends only on the prepared point and the measurement.
#include "measure/make_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"
#include "base/json_path.h"
#include "config/fields_json.h"
#include "model/parameters.h"
#include "record/metrics.h"
#include "support/points.h"

namespace laptime {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class MakeRecord : public testing::Test {
 protected:
  MakeRecord() {
    prepared_ = prepared_point({});
    described_.name = "point";
    described_.setup.plan = 0.5;
    described_.setup.kernel_trial = 0.25;
    run_.setup.data = 0.125;
    run_.setup.memory = 1;
    run_.setup.weights = 2;
    run_.rule = StoppingRule::fixed(1, 2);
    run_.sampling.warmup = 1;
    for (const double scale : {4.0, 1.0, 3.0}) run_.sampling.steps.push_back(step(scale));
    run_.states.resize(3);
    run_.losses = {3, 2, 1};
    run_.base_rss_bytes = 10;
    run_.peak_bytes = 20;
    run_.limits.product_flops = 1e9;
  }

  static Prepared prepared_point(const test::Options& more) {
    const RunConfig config = test::point_of({{"d-model", "32"},
                                             {"num-layers", "1"},
                                             {"num-heads", "2"},
                                             {"vocab", "64"},
                                             {"context", "16"},
                                             {"batch", "2"},
                                             {"device", "roofline:h100"},
                                             {"warmup", "1"},
                                             {"steps", "2"}},
                                            more)
                                 .config;
    return prepare(config, find_device(config), {});
  }

  // Forward takes 1 s, backward 2 s, the optimizer 0.5 s and the residue 0.5 s, all multiplied by `scale`.
  static Timeline step(double scale) {
    Timeline timeline;
    timeline.begin = Seconds(100);
    timeline.end = timeline.begin + Seconds(4 * scale);
    Seconds at = timeline.begin;
    for (const auto& [phase, seconds] :
         {std::pair{Phase::kForward, 1.0}, std::pair{Phase::kBackward, 2.0}, std::pair{Phase::kOptimizer, 0.5}}) {
      timeline.events.push_back({static_cast<int>(phase), at, at + Seconds(seconds * scale)});
      at = timeline.events.back().end;
    }
    return timeline;
  }

  Record record() const { return make_record(described_, prepared_, run_); }

  Prepared prepared_;
  Record described_;
  Measurement run_;
};

TEST_F(MakeRecord, ReportsEnergyOnlyForLongStepsWithoutPauses) {
  for (const size_t steps : {0, 1, 3}) {
    SensorReading& reading = run_.sensors.emplace_back();
    reading.steps = steps;
    reading.sensors.joules = 100 * static_cast<double>(steps);
  }
  const auto energy = [&](double seconds, double pause) {
    Seconds at{100};
    for (Timeline& step : run_.sampling.steps) {
      step.begin = at + Seconds{pause};
      at = step.end = step.begin + Seconds{seconds};
    }
    return number_at(record().machine, "sensors.joules_per_step");
  };
  EXPECT_EQ(energy(1, 0.01), 100);
  EXPECT_EQ(energy(0.9, 0.01), std::nullopt);
  EXPECT_EQ(energy(1, 0.1), std::nullopt);
  run_.sensors.erase(run_.sensors.begin() + 1);  // the energy of warm-up cannot be told from that of the samples
  EXPECT_EQ(energy(1, 0.01), std::nullopt);
}

TEST_F(MakeRecord, ListsSensorReadingsOfMeasuredStepsOnly) {
  for (const size_t steps : {0, 1, 3}) {
    SensorReading& reading = run_.sensors.emplace_back();
    reading.steps = steps;
    reading.sensors.power_watts = static_cast<double>(steps);
    reading.sensors.slowed_by = {"heat"};
  }
  const Json sensors = record().machine.json()["sensors"];
  EXPECT_EQ(sensors["power_watts"], Json::array({3.0}));
  EXPECT_EQ(sensors["slowed_steps"], Json({{"heat", 1}}));
}

TEST_F(MakeRecord, PhasesAndResidueAddUpToTheStep) {
  const Record result = record();
  EXPECT_EQ(result.status, Status::kOk);
  EXPECT_EQ(result.time.at("step").samples, (std::vector<double>{4, 12}));
  EXPECT_EQ(result.time.at("forward").mean, 2);
  EXPECT_EQ(result.time.at("backward").mean, 4);
  EXPECT_EQ(result.time.at("optimizer").mean, 1);
  double seconds = 0;
  double share = 0;
  for (const PhaseShare& phase : result.phases) {
    seconds += phase.seconds;
    share += phase.share;
  }
  EXPECT_EQ(result.phases.back().phase, "residue");
  EXPECT_EQ(result.phases.back().seconds, 1);
  EXPECT_DOUBLE_EQ(seconds, result.time.at("step").mean);
  EXPECT_DOUBLE_EQ(share, 1);
}

TEST_F(MakeRecord, RatesFollowFromTheMedian) {
  described_.config = to_json(prepared_.config);
  const Record result = record();
  EXPECT_DOUBLE_EQ(*result.tokens_per_second, 2 * 16 / 8.0);
  const double flops = *result.flops.forward + *result.flops.backward;
  EXPECT_DOUBLE_EQ(*result.flops.model_flops_per_second, flops / 8);
  EXPECT_DOUBLE_EQ(*result.flops.mfu_measured, flops / 8 / 1e9);
  EXPECT_DOUBLE_EQ(*result.flops.mfu_datasheet, flops / 8 / *prepared_.device.datasheet_flops);
  const ModelSummary summary = summarize(prepared_.config.step_model());
  EXPECT_EQ(*result.flops.attention, summary.attention_flops);
  EXPECT_EQ(*result.flops.head, summary.head_flops);
  EXPECT_EQ(*result.flops.parameters, summary.parameter_count);
  const auto figure = [&](const char* metric) { return find_metric(metric)->read(result).value_or(0); };
  EXPECT_DOUBLE_EQ(figure("mfu_causal"), (flops - 1.5 * summary.attention_flops) / 8 / 1e9);
  EXPECT_DOUBLE_EQ(figure("mfu_6n"), 6.0 * static_cast<double>(summary.parameter_count) * 2 * 16 / 8 / 1e9);
}

TEST_F(MakeRecord, CountsTheUpdateOfAllParametersOnce) {
  const auto optimizer_flops = [&](const char* mode, test::Options ranks) {
    for (const auto& [flag, value] : {std::pair{"device", "cpu"}, {"threads", "1"}, {"vocab", "63"}, {"batch", "12"}})
      ranks.emplace_back(flag, value);
    ranks.emplace_back("mode", mode);
    prepared_ = prepared_point(ranks);
    return record().flops.optimizer.value();
  };
  // 4 ranks divide every parameter; 3 ranks divide only the embedding and the head.
  for (const char* const mode : {"eager", "compile"}) {
    const double alone = optimizer_flops(mode, {});
    const double error = std::string_view(mode) == "eager" ? 1e-3 * alone : 0;  // operations on scalars
    for (const char* const ranks : {"3", "4"}) {
      for (const char* const shard : {"none", "optimizer", "gradients", "parameters"}) {
        EXPECT_NEAR(optimizer_flops(mode, {{"ranks", ranks}, {"shard", shard}, {"oversubscribe", "true"}}), alone,
                    error)
            << mode << ' ' << ranks << ' ' << shard;
      }
    }
  }
}

TEST(SchemaPage, NamesEveryClassOfWork) {
  std::ifstream page(LAPTIME_SOURCE_DIR "/docs/record_schema.md");
  std::string row;
  while (std::getline(page, row) && !row.starts_with("| `classes[].class`")) {}
  for (size_t i = 0; i < kWorkClassCount; ++i)
    EXPECT_THAT(row, HasSubstr(fmt::format("`{}`", name_of(static_cast<WorkClass>(i)))));
}

TEST_F(MakeRecord, ExplainsMfuAboveOne) {
  EXPECT_EQ(record().flops.above_peak, "");
  const double reached = *record().flops.model_flops_per_second;
  run_.limits.product_flops = reached / 1.5;
  EXPECT_THAT(record().flops.above_peak, HasSubstr("masked attention"));
  run_.limits.product_flops = reached / 4;
  EXPECT_THAT(record().flops.above_peak, HasSubstr("no program is that fast"));
}

TEST_F(MakeRecord, ReportsProductsAbovePeak) {
  prepared_.device.computes = true;
  prepared_.device.datasheet_flops = 2e9;
  run_.products = {ProductMath::kFloat32, 1.2e9};
  EXPECT_THAT(record().verdict.reasons, Not(Contains(HasSubstr("arithmetic"))));
  EXPECT_EQ(record().flops.products_per_second, 1.2e9);
  run_.products.flops_per_second = 1.6e9;
  EXPECT_THAT(record().verdict.reasons,
              Contains("a product in float32 reached 1.600 GFLOP/s, above the peak of float32 (1.000 GFLOP/s as "
                       "measured here): it used different arithmetic, or not all of it ran"));
  prepared_.config.ranks = 4;
  run_.limits.product_flops = 4e9;  // the peak of all four ranks
  EXPECT_THAT(record().verdict.reasons,
              Contains(HasSubstr("above the peak of float32 (1.000 GFLOP/s as measured here)")));
  prepared_.config.ranks = 1;
  run_.limits.product_flops = 1.5e9;  // as if the peak had been measured with the arithmetic of the product
  run_.products.flops_per_second = 3.2e9;
  EXPECT_THAT(record().verdict.reasons, Contains(HasSubstr("2.000 GFLOP/s in the data sheet")));
  run_.products.math = ProductMath::kBFloat16;  // the float32 peak does not apply to bfloat16 products
  EXPECT_THAT(record().verdict.reasons, Not(Contains(HasSubstr("arithmetic"))));
}

TEST_F(MakeRecord, ReportsDifferingClocks) {
  EXPECT_FALSE(record().host.median.has_value());
  prepared_.device.computes = true;
  const auto with_host = [&](double factor) {
    for (Timeline& timeline : run_.sampling.steps) timeline.host = factor * timeline.total();
    return record();
  };
  const Record near = with_host(1.01);
  EXPECT_EQ(near.host.samples, (std::vector<double>{4 * 1.01, 12 * 1.01}));
  EXPECT_NEAR(*near.host.difference, 0.01, 1e-9);
  EXPECT_THAT(near.verdict.reasons, Not(Contains(HasSubstr("clock"))));
  EXPECT_THAT(with_host(1.25).verdict.reasons,
              Contains("the host's clock shows 25.0 % more time per step than the device's: 10.00 s against 8.000 s"));
  EXPECT_THAT(with_host(0.5).verdict.reasons, Contains(HasSubstr("50.0 % less")));
}

// Three steps of 4 s that begin every 10 s. In each of these periods, a core loses 5 s.
TEST_F(MakeRecord, DividesLostTimeByElapsedTimeAndThreads) {
  prepared_.device.computes = true;
  prepared_.device.threads = 1;
  const auto with_lost = [&](std::optional<double> MachineState::*counter) {
    run_.sampling.steps.clear();
    run_.states.assign(3, {});
    for (int i = 0; i < 3; ++i) {
      Timeline timeline = step(1);
      const Seconds later{10.0 * i};
      timeline.begin += later;
      timeline.end += later;
      for (auto& event : timeline.events) {
        event.begin += later;
        event.end += later;
      }
      run_.sampling.steps.push_back(timeline);
      run_.states[static_cast<size_t>(i)].*counter = 5.0 * (i + 1);
    }
    return record().verdict.lost.value_or(-1);
  };
  EXPECT_DOUBLE_EQ(with_lost(&MachineState::stolen_seconds), 0.5);
  EXPECT_DOUBLE_EQ(with_lost(&MachineState::waiting_seconds), 0.5);
  prepared_.config.ranks = 5;
  EXPECT_DOUBLE_EQ(with_lost(&MachineState::stolen_seconds), 0.1);
  EXPECT_DOUBLE_EQ(with_lost(&MachineState::throttled_seconds), 0.1);
  EXPECT_DOUBLE_EQ(with_lost(&MachineState::waiting_seconds), 0.5);
  run_.cores = 2;
  EXPECT_DOUBLE_EQ(with_lost(&MachineState::stolen_seconds), 0.25);
}

TEST_F(MakeRecord, PredictionIsRatedAsPredicted) {
  EXPECT_EQ(record().verdict.rating, "predicted");
  EXPECT_TRUE(record().verdict.reasons.empty());
}

TEST_F(MakeRecord, StatesMemorySetupTimesAndStoppingRule) {
  const Record result = record();
  EXPECT_EQ(result.name, "point");
  EXPECT_EQ(*result.setup.total, 3.875);
  EXPECT_EQ(*result.setup.plan, 0.5);
  EXPECT_EQ(result.memory.predicted_peak_bytes, predicted_peak_bytes(prepared_.plan, prepared_.bound));
  EXPECT_EQ(result.memory.base_rss_bytes, 10);
  EXPECT_EQ(result.memory.peak_bytes, 20);
  EXPECT_EQ(result.loss.values, (std::vector<double>{3, 2, 1}));
  EXPECT_EQ(result.stopping.rule, "fixed");
  EXPECT_EQ(result.stopping.warmup, 1);
  EXPECT_EQ(result.stopping.steps, 2);
  EXPECT_EQ(result.transient.warmup, std::vector<double>{16});
  EXPECT_FALSE(result.kernels.empty());
}

TEST_F(MakeRecord, SplitsTheExtraTimeOfTheFirstStepsIntoParts) {
  run_.sampling.steps.clear();
  for (const double scale : {4.0, 2.0, 1.0, 1.0, 1.0}) run_.sampling.steps.push_back(step(scale));
  run_.sampling.warmup = 0;
  run_.states.resize(5);
  Record result = record();
  EXPECT_EQ(result.transient.steps, 2);
  EXPECT_DOUBLE_EQ(*result.transient.excess, 16);
  const std::vector<ClassShare> by_phase{
      {"forward", "", 4, 0.25}, {"backward", "", 8, 0.5}, {"optimizer", "", 2, 0.125}};
  EXPECT_EQ(result.transient.parts, by_phase);

  // In the first step only, the matrix products of forward take 3 seconds longer.
  run_.classes.resize(5);
  const auto product = static_cast<size_t>(WorkClass::kMatmul);
  for (ClassTimes& times : run_.classes) times[static_cast<size_t>(Phase::kForward)][product] = 1;
  run_.classes[0][static_cast<size_t>(Phase::kForward)][product] = 4;
  result = record();
  EXPECT_EQ(result.transient.parts, (std::vector<ClassShare>{{"forward", "matmul", 3, 3.0 / 16}}));
  EXPECT_EQ(result.classes.size(), 1U);

  // If launches are marked only in the first step, the samples have no classes.
  run_.classes.resize(1);
  result = record();
  EXPECT_EQ(result.transient.parts, by_phase);
  EXPECT_TRUE(result.classes.empty());
}

TEST_F(MakeRecord, GivesEqualRecordsForTheSameRun) { EXPECT_EQ(record(), record()); }

TEST_F(MakeRecord, NonFiniteRunHasNoTiming) {
  run_.finite = false;
  run_.first_nan = {"softmax", "layers.0.attn"};
  const Record result = record();
  EXPECT_EQ(result.status, Status::kFailed);
  EXPECT_THAT(result.reason, HasSubstr("the loss of step 3 is not finite"));
  EXPECT_THAT(result.reason, HasSubstr("the first NaN is an output of softmax in layers.0.attn"));
  EXPECT_EQ(result.op, "softmax");
  EXPECT_EQ(result.scope, "layers.0.attn");
  EXPECT_TRUE(result.time.empty());
  EXPECT_FALSE(result.tokens_per_second.has_value());
}

TEST_F(MakeRecord, InterruptedRunKeepsItsSamples) {
  run_.sampling.interrupted = true;
  described_.config = Json{{"warmup", 1}, {"steps", 10}};
  const Record result = record();
  EXPECT_EQ(result.status, Status::kInterrupted);
  EXPECT_EQ(result.reason, "stopped by a signal after 3 steps; the times cover the 2 samples taken so far");
  EXPECT_EQ(result.time.at("step").samples, (std::vector<double>{4, 12}));
  EXPECT_EQ(result.stopping.rule, "interrupted");
  EXPECT_EQ(result.stopping.steps, 2);
  EXPECT_EQ(result.config.json()["steps"], 10);
}

TEST_F(MakeRecord, RunInterruptedInWarmupHasNoTiming) {
  run_.sampling.interrupted = true;
  run_.sampling.warmup = 3;
  const Record result = record();
  EXPECT_EQ(result.status, Status::kInterrupted);
  EXPECT_EQ(result.reason, "stopped by a signal after 3 steps");
  EXPECT_TRUE(result.time.empty());
  EXPECT_EQ(result.loss.values.size(), 3U);
}

}  // namespace
}  // namespace laptime
