// Answers about planned points, and predictions compared with measured times.
#include "report/plan_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/made_trace.h"
#include "base/json.h"
#include "config/machine.h"
#include "report/tables_of.h"
#include "table/text.h"

namespace laptime {
namespace {

using testing::HasSubstr;

Record planned() {
  Record record;
  record.name = "step/model:small";
  record.config = Json{{"pass", "step"},   {"device", "cpu"},    {"batch_size", 4}, {"context_length", 256},
                       {"model", "small"}, {"dtype", "float32"}, {"mode", "eager"}, {"threads", 2}};
  record.memory.predicted_peak_bytes = 1 << 20;
  record.prediction.from = "measured launches";
  record.prediction.newest = "2026-01-02";
  record.prediction.launches = 3;
  record.prediction.measured_share = 0.75;
  record.prediction.time = {{"forward", 1.0}, {"backward", 2.0}, {"step", 3.0}};
  record.prediction.classes = {
      {"forward", "matmul", 0.8, 0.27}, {"forward", "softmax", 0.2, 0.07}, {"backward", "matmul", 2.0, 0.66}};
  return record;
}

Record refused() {
  Record record = planned();
  record.name = "step/model:large";
  record.status = Status::kOutOfMemory;
  record.bytes_requested = int64_t{5} << 30;
  record.bytes_available = int64_t{3} << 30;
  return record;
}

Record measured() {
  Record record = planned();
  record.time["forward"].median = 1.0;
  record.time["backward"].median = 4.0;
  record.time["step"].median = 5.0;
  record.classes = {
      {"forward", "matmul", 0.7, 0.14}, {"forward", "softmax", 0.3, 0.06}, {"backward", "matmul", 4, 0.8}};
  return record;
}

std::string text(const PlannedPoint& point, const PlanQuery& query = {}) {
  return text_of(plan_answer(point, std::nullopt, query), {.unicode = false, .width = 0});
}

Finding finding(const PlannedPoint& point, std::string_view kind) {
  return one(plan_findings(point, {.tokens = 1e9}), kind);
}

Table plan_of_points(const std::vector<PlannedPoint>& points) { return table_named(plan_answer(points, {}), "plan"); }

TEST(PlanAnswer, StartsWithFitThenTimeAndThroughput) {
  PlannedPoint point{.record = planned(), .largest_batch = 7, .largest_context = 3780};
  EXPECT_EQ(text(point), R"(fits: 1.00 MiB
3.00 s per step   341 tokens/s   1B tokens: 976,563 steps, 34 days
  forward 1.00 s   backward 2.00 s
largest batch 7, largest context 3780
small, ctx 256, batch 4, step float32 eager - cpu, 2 threads - from measured launches, 75 % of the time from launches of the same shapes
)");
  EXPECT_THAT(markdown_of(plan_answer(point, {}, {})),
              HasSubstr("\n3.00 s per step, 341 tokens/s, 1B tokens: 976,563 steps, 34 days\n"));
}

TEST(PlanAnswer, ShowsPublishedRunsBesideADataSheetBound) {
  Record record = planned();
  record.config.json()["device"] = "roofline:mine";
  record.config.json()["dtype"] = "tf32";
  record.config.json()["mode"] = "compile";
  record.prediction.from = "data sheet";
  record.prediction.newest = "";
  EXPECT_TRUE(finding({record}, "predicted_time").values.json().at("is_bound").get<bool>());
  EXPECT_NEAR(finding({record}, "published_runs").number("median"), 2.53, 1e-12);
  EXPECT_NEAR(finding({record}, "training_time").number("high_s"), 7.7 * 976'563 * 3, 1);
  EXPECT_THAT(text({record}), HasSubstr("3.00 s per step at best"));
  EXPECT_THAT(text({record}), HasSubstr("judging by published runs"));
}

TEST(PlanAnswer, PredictionFromReachedRatesIsARange) {
  Record record = planned();
  record.config.json()["device"] = "roofline:h100";
  record.config.json()["mode"] = "eager";
  record.prediction.from = "reached rates";
  record.prediction.newest = "";
  record.prediction.low = 2.5;
  record.prediction.high = 4;
  record.prediction.earlier = 30;
  record.prediction.median_error = 0.05;
  const Finding time = finding({record}, "predicted_time");
  EXPECT_FALSE(time.values.json().at("is_bound").get<bool>());
  EXPECT_EQ(time.number("low_s"), 2.5);
  EXPECT_EQ(finding({record}, "measured_times").integer("times"), 30);
  EXPECT_EQ(finding({record}, "measured_times").number("median_error"), 0.05);
}

TEST(PlanAnswer, LargestClassBelongsToTheRequestedPass) {
  MadeTrace made;
  const auto launch = [&](const char* phase, const char* work_class) {
    made.launch({.phase = phase,
                 .scope = "",
                 .part = "",
                 .range = "",
                 .op = work_class,
                 .work_class = work_class,
                 .kernel = "plain",
                 .signature = ""});
  };
  launch("forward", "softmax");
  launch("backward", "matmul");
  launch("backward", "cast");
  made.trace.steps = {{0, 4, {2'000'000'000, 1'500'000'000, 500'000'000}}};
  Record record = planned();
  const auto said = [&] { return text_of(plan_answer({record}, made.trace, {}), {.unicode = false, .width = 0}); };
  EXPECT_THAT(said(), HasSubstr("backward 2.00 s   softmax 50 % of the time\n"));
  record.config.json()["pass"] = "backward";
  EXPECT_THAT(said(), HasSubstr("\n  forward 1.00 s   matmul 75 % of backward\n"));
}

TEST(PlanAnswer, NamesRecomputationThatWasNotRequested) {
  Record record = planned();
  record.config.json()["recompute"] = "none";
  record.memory.recompute = "cheap ops";
  EXPECT_THAT(text({record}), testing::StartsWith("fits: 1.00 MiB, recompute: cheap ops\n"));
  const Table table = plan_of_points({{planned()}, {record}});
  EXPECT_EQ(cell(table, 1, "fits"), "yes");
  EXPECT_THAT(text_of(table, {.unicode = false, .width = 0}), HasSubstr("  yes, recompute: cheap ops\n"));
  record.config.json()["recompute"] = record.memory.recompute = "block";
  EXPECT_FALSE(finding({record}, "fit").has("recompute"));
}

TEST(PlanAnswer, PointThatDoesNotFitSuggestsSettingsThatFit) {
  const PlannedPoint point{.record = refused(), .fitting_recompute = "block", .largest_batch = 7, .largest_context = 0};
  EXPECT_THAT(text(point), testing::StartsWith("does not fit: 1.00 MiB of 3.00 GiB, 2.00 GiB too much; fits with "
                                               "--recompute block\n"));
  EXPECT_THAT(text(point), HasSubstr("\nlargest batch 7, no context fits\n"));
  EXPECT_EQ(finding(point, "fit").integer("missing_bytes"), int64_t{2} << 30);
}

TEST(PlanAnswer, StatesTheMemoryLimit) {
  Record record = planned();
  record.verdict.rating = kPredicted;
  record.bytes_available = int64_t{76} << 30;
  EXPECT_THAT(text({record}), HasSubstr("of 76.0 GiB (95 % of 80.0 GiB)"));
  record.config.json()["memory_limit"] = "76GiB";
  EXPECT_THAT(text({record}), HasSubstr("of 76.0 GiB (--memory-limit)"));
  record.config.json()["memory_limit"] = "any text";
  EXPECT_THAT(text({record}), HasSubstr("(95 % of 80.0 GiB)"));
}

TEST(PlanAnswer, SuggestsCompileModeIfItIsBetter) {
  PlannedPoint faster{.record = planned(), .compiled = planned()};
  faster.compiled->prediction.time["step"] = 2;
  EXPECT_THAT(text(faster), HasSubstr("\n--mode compile is faster: 2.00 s, 1.00 MiB\n"));
  EXPECT_EQ(cell(plan_of_points({faster, {planned()}}), 0, "compile_s"), 2.0);
  faster.record.status = Status::kOutOfMemory;
  EXPECT_THAT(text(faster), HasSubstr("\n--mode compile fits: "));
}

TEST(PlanAnswer, WarnsAboutDisturbedLaunches) {
  Record record = planned();
  EXPECT_EQ(disturbed_prediction_line(record.prediction), "");
  record.prediction.disturbed_share = 0.58;
  EXPECT_THAT(text({record}), HasSubstr("\n! 58 % of the predicted time is from launches timed on a busy machine; run "
                                        "laptime calibrate when it is idle\n"));
}

TEST(PlanAnswer, FailedPointIsNotReportedAsTooLarge) {
  Record failed = refused();
  failed.status = Status::kFailed;
  const std::string said = text_of(plan_answer({{planned()}, {refused()}, {failed}}, {}), {});
  EXPECT_THAT(said, testing::StartsWith("1 of 3 points fit into 3.00 GiB; not: large; no plan: large\n"));
}

TEST(PlanAnswer, ShowsSeveralPointsAsATable) {
  const std::vector<PlannedPoint> points{{planned()}, {refused(), "block", 7, 0}};
  const std::string said = text_of(plan_answer(points, {}), {});
  EXPECT_THAT(said, testing::StartsWith("1 of 2 points fit into 3.00 GiB; not: large\n"));
  const Table table = plan_of_points(points);
  EXPECT_EQ(cell(table, 0, "predicted_s"), 3.0);
  EXPECT_NEAR(cell(table, 0, "tokens_per_second").get<double>(), 1024.0 / 3, 1e-9);
  EXPECT_EQ(cell(table, 0, "fits"), "yes");
  EXPECT_EQ(cell(table, 1, "fits"), "2.00 GiB too much");
  EXPECT_EQ(cell(table, 1, "fitting_recompute"), "block");
  EXPECT_EQ(cell(table, 1, "largest_context"), 0);
  EXPECT_EQ(table.rows[1].cells[0].text, "large");
}

TEST(PlanAnswer, NoteBelowTheTableSaysWhyAPointCannotRun) {
  Record record = planned();
  record.status = Status::kUnsupported;
  record.reason = "the CPU has no tf32 arithmetic; use float32 or bfloat16";
  const Table table = plan_of_points({{planned()}, {record}});
  EXPECT_EQ(cell(table, 1, "fits"), "unsupported");
  EXPECT_THAT(table.notes.at(0), HasSubstr(record.reason));
}

TEST(Prediction, ComparesEachPartWithTheMeasurement) {
  const std::vector<PredictedPart> parts = predicted_parts(measured());
  EXPECT_EQ(parts.front().part, "forward matmul");
  EXPECT_EQ(parts.back().part, "step");
  EXPECT_NEAR(parts.back().error(), -0.4, 1e-12);
  EXPECT_EQ(prediction_words(measured()),
            "predicted 3.00 s, measured 5.00 s: -40.0 %; largest part: backward matmul -40.0 %");
}

TEST(Prediction, ComparisonIsEmptyWithoutAPrediction) {
  Record record = measured();
  record.prediction = {};
  EXPECT_FALSE(prediction_table(record).has_value());
  EXPECT_EQ(prediction_words(record), "");
  EXPECT_FALSE(prediction_table(planned()).has_value());
}

TEST(LaunchCostsTable, HasARowForEachKind) {
  const std::vector<LaunchCost> costs{
      {"d", 2, "a", "k", "matmul float32", 2e9, 1000, 1.0, "2026-01-01"},
      {"d", 2, "b", "k", "matmul float32", 4e9, 1000, 1.0, "2026-01-02"},
      {"d", 2, "c", "k", "add float32", 1, 1000, 3.0, "2026-01-01"},
  };
  const Table table = launch_costs_table(costs);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].cells[0].value, "add float32");
  EXPECT_EQ(cell(table, 1, "shapes"), 2);
  EXPECT_EQ(cell(table, 1, "best_flops_per_second"), 4e9);
  EXPECT_EQ(cell(table, 1, "median_flops_per_second"), 3e9);
  EXPECT_EQ(cell(table, 1, "newest"), "2026-01-02");
}

}  // namespace
}  // namespace laptime
