// The table of plans, and predictions beside measured times.
#include "report/plan_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "record/fields_json.h"
#include "report/launch_costs_table.h"
#include "table/text.h"

namespace laptime {
namespace {

using testing::HasSubstr;

Record planned() {
  Record record;
  record.name = "step/small";
  record.config = Json{{"pass", "step"}, {"device", "cpu"}, {"batch_size", 4}};
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

Record measured() {
  Record record = planned();
  record.time["forward"].median = 1.0;
  record.time["backward"].median = 4.0;
  record.time["step"].median = 5.0;
  record.classes = {
      {"forward", "matmul", 0.7, 0.14}, {"forward", "softmax", 0.3, 0.06}, {"backward", "matmul", 4, 0.8}};
  record.memory.peak_bytes = 1 << 20;
  return record;
}

size_t column(const Grid& grid, const std::string& key) {
  for (size_t i = 0; i < grid.columns.size(); ++i) {
    if (grid.columns[i].key == key) return i;
  }
  ADD_FAILURE() << "no column " << key;
  return 0;
}

TEST(PlanGrid, LeavesOutColumnsWithoutAValue) {
  const Grid grid = plan_grid({{planned()}});
  EXPECT_EQ(grid.rows[0][column(grid, "predicted_s")], 3.0);
  EXPECT_EQ(grid.rows[0][column(grid, "fits")], "yes");
  EXPECT_EQ(grid.rows[0][column(grid, "batch")], 4);
  EXPECT_EQ(grid.rows[0][column(grid, "basis")], "measured launches, 75 % of the same shapes");
  for (const GridColumn& one : grid.columns) EXPECT_NE(one.key, "largest_batch");
}

TEST(PlanGrid, NamesWhatPointsHaveInCommonOnce) {
  Record other = planned();
  other.name = "step/large";
  const Grid grid = plan_grid({{planned()}, {other}});
  EXPECT_EQ(grid.title, "Plans: step");
  EXPECT_EQ(grid.columns[0].shown(grid.rows[1][0]), "large");
  EXPECT_EQ(grid.rows[1][0], "step/large");
}

TEST(PlanGrid, SaysByHowMuchAPointDoesNotFit) {
  Record record = planned();
  record.status = Status::kOutOfMemory;
  record.bytes_requested = int64_t{5} << 30;
  record.bytes_available = int64_t{3} << 30;
  const Grid grid = plan_grid({{record, "block", 7, 0}});
  EXPECT_EQ(grid.rows[0][column(grid, "fits")], "2.000 GiB too many");
  EXPECT_EQ(grid.rows[0][column(grid, "fitting_recompute")], "block");
  EXPECT_EQ(grid.rows[0][column(grid, "largest_batch")], 7);
  EXPECT_EQ(grid.rows[0][column(grid, "largest_context")], 0);
}

TEST(PlanGrid, SaysWhatWasMeasuredOnADisturbedMachine) {
  Record record = planned();
  record.prediction.from = "measured launches";
  record.prediction.newest = "2026-01-02";
  record.prediction.measured_share = 1;
  EXPECT_TRUE(plan_grid({{record}}).notes.empty());
  EXPECT_EQ(disturbed_sentence(record.prediction), "");
  record.prediction.disturbed_share = 0.58;
  record.prediction.disturbance = "12 % of the time was lost to other guests of the host";
  const std::string sentence = disturbed_sentence(record.prediction);
  EXPECT_EQ(sentence,
            "The machine was disturbed when the launches of 58 % of the predicted time were measured: 12 % of the time "
            "was lost to other guests of the host; laptime calibrate measures them again.");
  EXPECT_EQ(basis_text(record.prediction), "measured launches, 100 % of the same shapes, 58 % on a disturbed machine");
  EXPECT_EQ(plan_grid({{record}}).notes, std::vector<std::string>{sentence});
  EXPECT_EQ(plan_grid({{planned()}, {record}}).notes, std::vector<std::string>{record.name + ": " + sentence});
  record.prediction.disturbed_share = 0.001;
  EXPECT_TRUE(plan_grid({{record}}).notes.empty());
}

TEST(PlanGrid, SaysWhatSetsTheLimit) {
  Record record = planned();
  record.verdict.rating = kPredicted;
  record.bytes_available = int64_t{76} << 30;
  EXPECT_THAT(plan_answer({{record}}), HasSubstr("of the 76.00 GiB that the step may use (95 % of 80.00 GiB); "));
  record.config.json()["memory_limit"] = "76GiB";
  EXPECT_THAT(plan_answer({{record}}), HasSubstr("of the 76.00 GiB that the step may use (--memory-limit); "));
  record.config.json()["memory_limit"] = "90GiB";
  EXPECT_THAT(plan_answer({{record}}), HasSubstr("(95 % of 80.00 GiB)"));
  record.config.json()["memory_limit"] = "any text";
  EXPECT_THAT(plan_answer({{record}}), HasSubstr("(95 % of 80.00 GiB)"));
}

TEST(PlanGrid, AnswersFirst) {
  EXPECT_EQ(plan_answer({{planned()}}), "it fits: 1.000 MiB at the peak; step predicted to take 3.000 s");
  Record record = planned();
  record.name = "step/large";
  record.status = Status::kOutOfMemory;
  record.bytes_requested = int64_t{5} << 30;
  record.bytes_available = int64_t{3} << 30;
  EXPECT_EQ(
      plan_answer({{record, "block", 7, 0}}),
      "it does not fit, 2.000 GiB too many: 1.000 MiB at the peak; it fits with --recompute block; step predicted to "
      "take 3.000 s; largest batch that fits: 7; no context is small enough");
  record.config = Json{{"pass", "step"}, {"device", "cpu"}, {"batch_size", 4}, {"recompute", "auto"}};
  record.memory.recompute = "block";
  record.status = Status::kOk;
  PlannedPoint recomputed{.record = record, .largest_batch = 7, .largest_context = 9};
  recomputed.largest_batch_kept = 2;
  recomputed.largest_context_kept = 0;
  EXPECT_EQ(plan_answer({recomputed}),
            "it fits: 1.000 MiB at the peak (--recompute auto: block), of the 3.000 GiB that the step may use; step "
            "predicted to take 3.000 s; largest batch that fits: 7, without recomputation 2; largest context that "
            "fits: 9, without "
            "recomputation none");
  record.status = Status::kOutOfMemory;
  EXPECT_EQ(plan_answer({{planned()}, {record}}), "1 of 2 points fit; not: large (2.000 GiB too many)");
  EXPECT_EQ(plan_answer({{planned()}, {planned()}}), "all 2 points fit");
}

TEST(PlanGrid, OffersCompileModeWhereItIsBetter) {
  PlannedPoint faster{.record = planned(), .compiled = planned()};
  faster.compiled->prediction.time["step"] = 2;
  EXPECT_EQ(
      plan_answer({faster}),
      "it fits: 1.000 MiB at the peak; step predicted to take 3.000 s; --mode compile is faster: 1.000 MiB at the "
      "peak, step 2.000 s");
  const Grid grid = plan_grid({faster, {planned()}});
  EXPECT_EQ(grid.rows[0][column(grid, "compile_s")], 2.0);
  EXPECT_EQ(grid.rows[0][column(grid, "compile_peak_bytes")], 1 << 20);
  EXPECT_TRUE(grid.rows[1][column(grid, "compile_s")].is_null());
  EXPECT_THAT(grid.notes.back(), HasSubstr("--mode compile"));
  faster.record.status = Status::kOutOfMemory;
  EXPECT_THAT(plan_answer({faster}), HasSubstr("; --mode compile fits: 1.000 MiB at the peak"));
}

TEST(PlanGrid, SaysBelowWhyAPointCannotRun) {
  Record record = planned();
  record.status = Status::kUnsupported;
  record.reason = "the CPU has no tf32 arithmetic; use float32 or bfloat16";
  const Grid grid = plan_grid({{planned()}, {record}});
  EXPECT_EQ(grid.rows[1][column(grid, "fits")], "unsupported: " + record.reason);
  EXPECT_THAT(grid.notes.at(0), HasSubstr(record.reason));
  EXPECT_EQ(grid.columns[column(grid, "fits")].shown(grid.rows[1][column(grid, "fits")]), "unsupported");
}

TEST(PlanGrid, KeepsNamesAndAnswersWholeOnNarrowTerminals) {
  Record record = planned();
  Record other = planned();
  record.name = "step/model:small/ctx:256/recompute:every=2/memory_limit:512MiB";
  other.name = "step/model:large/ctx:1024/recompute:none";
  const Grid grid = plan_grid({{record, "auto (block in layers 0-3 of 12)", 16, 4096}, {other, "block", 7, 1024}});
  for (const size_t width : {80U, 120U, 200U}) {
    const std::string text = grid_text(grid, {.unicode = true, .width = width});
    for (const char* const whole : {"model:small/ctx:256/recompute:every=2/memory_limit:512MiB",
                                    "auto (block in layers 0-3 of 12)", "4096", "Max context"})
      EXPECT_THAT(text, HasSubstr(whole)) << width;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width) << line;
  }
}

TEST(Prediction, IsHeldAgainstEachPart) {
  const std::optional<Grid> grid = prediction_grid(measured());
  ASSERT_TRUE(grid.has_value());
  EXPECT_EQ(grid->rows.front()[0], "forward matmul");
  EXPECT_EQ(grid->rows.back()[0], "step");
  EXPECT_NEAR(grid->rows.back()[column(*grid, "error")].get<double>(), -0.4, 1e-12);
  EXPECT_THAT(grid->notes.at(0), HasSubstr("1.000 MiB predicted, 1.000 MiB held"));
  EXPECT_EQ(prediction_error_sentence(measured()),
            "predicted 3.000 s, measured 5.000 s: -40.0 % of the measured time; of which backward matmul -40.0 %, "
            "forward matmul +2.0 %; 25 % "
            "of the prediction is from other sizes");
}

TEST(Prediction, IsEmptyWithoutOne) {
  Record record = measured();
  record.prediction = {};
  EXPECT_FALSE(prediction_grid(record).has_value());
  EXPECT_EQ(prediction_error_sentence(record), "");
  EXPECT_THAT(prediction_sentence(record), HasSubstr("laptime calibrate"));
  EXPECT_FALSE(prediction_grid(planned()).has_value());
}

TEST(LaunchCostsGrid, HasARowForEachKind) {
  const std::vector<LaunchCost> costs{
      {"d", 2, "a", "k", "matmul float32", 2e9, 1000, 1.0, "2026-01-01"},
      {"d", 2, "b", "k", "matmul float32", 4e9, 1000, 1.0, "2026-01-02"},
      {"d", 2, "c", "k", "add float32", 1, 1000, 3.0, "2026-01-01"},
  };
  const Grid grid = launch_costs_grid(costs);
  ASSERT_EQ(grid.rows.size(), 2U);
  EXPECT_EQ(grid.rows[0][0], "add float32");
  EXPECT_EQ(grid.rows[1][column(grid, "shapes")], 2);
  EXPECT_EQ(grid.rows[1][column(grid, "best_flops_per_second")], 4e9);
  EXPECT_EQ(grid.rows[1][column(grid, "median_flops_per_second")], 3e9);
  EXPECT_EQ(grid.rows[1][column(grid, "newest")], "2026-01-02");
}

TEST(PlanTable, MarksInAGridWhatDoesNotFit) {
  EXPECT_FALSE(fitting_grid({{planned()}}).has_value());
  Record refused = planned();
  refused.name = "step/model:small/dtype:float32";
  refused.config = Json{{"pass", "step"}, {"dtype", "float32"}};
  refused.status = Status::kOutOfMemory;
  refused.memory.predicted_peak_bytes = 3000;
  Record fits = refused;
  fits.name = "inference/model:small/dtype:float32";
  fits.config = Json{{"pass", "inference"}, {"dtype", "float32"}};
  fits.status = Status::kOk;
  fits.memory.predicted_peak_bytes = 1000;
  const std::optional<Grid> grid = fitting_grid({{refused}, {fits}});
  ASSERT_TRUE(grid.has_value());
  ASSERT_EQ(grid->rows.size(), 2U);
  EXPECT_EQ(grid->columns[1].shown(grid->rows[0][1]), "2.930 KiB *");
  EXPECT_EQ(grid->columns[1].shown(grid->rows[1][1]), "1000 B");
}

}  // namespace
}  // namespace laptime
