// Comparisons from made rounds: what the sentences and tables say, and that they add up.
#include "report/comparison.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace laptime {
namespace {

RoundFigures figures(double forward, double backward, double matmul) {
  RoundFigures made;
  made.pass = "step";
  made.time = {{"forward", forward}, {"backward", backward}, {"step", forward + backward}};
  made.phases = {"forward", "backward"};
  made.parts = {{"forward layers.*.ffn", {{"matmul", matmul}}}, {"backward layers.*.attn", {{"softmax", backward}}}};
  made.traced = forward + backward + 0.001;
  return made;
}

std::vector<ComparedRound> rounds_of(double faster, int count) {
  std::vector<ComparedRound> rounds;
  for (int i = 0; i < count; ++i) {
    const double noise = 1 + 0.001 * (i % 3);
    rounds.push_back({figures(0.1 * noise, 0.2, 0.09), figures(0.1 * faster * noise, 0.2, 0.09 - 0.1 * (1 - faster))});
  }
  return rounds;
}

Grid grid_named(const PointReport& report, const std::string& name) {
  for (const Grid& grid : report.grids) {
    if (grid.name == name) return grid;
  }
  ADD_FAILURE() << name;
  return report.grids.front();
}

TEST(Comparison, NamesTheVerdictAndTheCause) {
  const PointReport report = comparison_report({"mode eager", "mode compile", "step"}, rounds_of(0.5, 10), 0.01);
  EXPECT_TRUE(report.lines.at(0).starts_with("B is faster: it takes 0.83")) << report.lines.at(0);
  EXPECT_NE(report.lines.at(0).find("10 rounds), which is 1.20x as fast"), std::string::npos) << report.lines.at(0);
  EXPECT_EQ(report.lines.at(1),
            "the op that differs most is matmul: -50.00 ms of -50.01 ms; the part of the model that differs most is "
            "forward layers.*.ffn matmul: -50.00 ms");
  EXPECT_EQ(report.name, "A: mode eager; B: mode compile; step");
}

TEST(Comparison, PartsAddUpToTheDifference) {
  const Grid grid = grid_named(comparison_report({"a", "b", ""}, rounds_of(0.7, 9), 0.01), "parts");
  for (const size_t column : {1U, 2U, 3U}) {
    double sum = 0;
    for (size_t i = 0; i + 1 < grid.rows.size(); ++i) sum += grid.rows[i][column].get<double>();
    EXPECT_NEAR(sum, grid.rows.back()[column].get<double>(), 1e-12) << column;
  }
  EXPECT_EQ(grid.rows.back()[0], "step");
}

// An op in several parts of the model, each of which differs less than noise makes another part differ.
TEST(Comparison, AnOpIsNamedForAllPartsTogether) {
  std::vector<ComparedRound> rounds;
  for (int i = 0; i < 9; ++i) {
    ComparedRound round{figures(0.1, 0.2, 0.05), figures(0.1, 0.206, 0.05)};
    round.b.time["step"] = 0.32;
    round.b.traced = round.a.traced + 0.02;
    for (const char* part : {"forward layers.*.ln1", "forward layers.*.ln2", "forward ln_final"}) {
      round.a.parts[part] = {{"rms_norm", 0.010}};
      round.b.parts[part] = {{"rms_norm", 0.015}};
    }
    rounds.push_back(round);
  }
  const PointReport report = comparison_report({"a", "b", ""}, rounds, 0.01);
  EXPECT_EQ(report.lines.at(1),
            "the op that differs most is rms_norm: +15.00 ms of +20.00 ms; the part of the model that differs most is "
            "backward layers.*.attn softmax: +6.000 ms");
  const Grid ops = grid_named(report, "ops");
  EXPECT_EQ(ops.rows.front()[0], "rms_norm");
  double sum = 0;
  for (size_t i = 0; i + 1 < ops.rows.size(); ++i) sum += ops.rows[i][3].get<double>();
  EXPECT_NEAR(sum, ops.rows.back()[3].get<double>(), 1e-12);
}

TEST(Comparison, ThePassIsTheLastPhase) {
  const Grid grid = grid_named(comparison_report({"a", "b", ""}, rounds_of(1.1, 9), 0.01), "phases");
  ASSERT_EQ(grid.rows.size(), 3U);
  EXPECT_EQ(grid.rows[0][0], "forward");
  EXPECT_EQ(grid.rows[0][6], "slower");
  EXPECT_EQ(grid.rows[1][6], "same");
  EXPECT_EQ(grid.rows[2][0], "step");
}

TEST(Comparison, FewRoundsDecideNothing) {
  const PointReport report = comparison_report({"a", "b", ""}, rounds_of(0.5, 3), 0.01);
  EXPECT_EQ(report.lines, (std::vector<std::string>{"undecided: 3 rounds are too few for an interval, which takes 8"}));
  EXPECT_TRUE(grid_named(report, "phases").rows[0][4].is_null());
}

// Shares of a difference that there is not would be those of noise.
TEST(Comparison, WhatIsUndecidedHasNoCauses) {
  const PointReport decided = comparison_report({"a", "b", ""}, rounds_of(0.7, 9), 0.01);
  EXPECT_TRUE(grid_named(decided, "ops").title.starts_with("where the difference comes from, by op"));
  EXPECT_TRUE(grid_named(decided, "ops").rows[0][4].is_number());
  for (const PointReport& report : {comparison_report({"a", "b", ""}, rounds_of(0.7, 3), 0.01),
                                    comparison_report({"a", "b", ""}, rounds_of(1, 9), 0.01)}) {
    const Grid ops = grid_named(report, "ops");
    EXPECT_TRUE(ops.title.starts_with("times by op, whose differences are not decided either")) << ops.title;
    for (const std::vector<Json>& row : ops.rows) EXPECT_TRUE(row[4].is_null());
  }
}

TEST(Comparison, APartWithOtherOpsIsOneRow) {
  std::vector<ComparedRound> rounds = rounds_of(1, 9);
  for (ComparedRound& round : rounds) {
    round.b.parts["backward layers.*.attn"] = {{"scaled_dot_product_attention", 0.05}};
    round.b.parts["optimizer norm"] = {{"adamw", 0.01}};
  }
  const Grid grid = grid_named(comparison_report({"a", "b", ""}, rounds, 0.01), "parts");
  EXPECT_EQ(grid.rows[0][0], "backward layers.*.attn");
  EXPECT_DOUBLE_EQ(grid.rows[0][1].get<double>(), 0.2);
  EXPECT_DOUBLE_EQ(grid.rows[0][3].get<double>(), 0.05 - 0.2);
  EXPECT_EQ(grid.rows[1][0], "optimizer norm");
  EXPECT_DOUBLE_EQ(grid.rows[1][1].get<double>(), 0);
  EXPECT_EQ(grid.rows[2][0], "forward layers.*.ffn matmul");
}

StoredPair stored_pair(const std::string& name, double ratio, Interval interval) {
  return {
      .name = name, .a = 2, .b = 2 * ratio, .a_processes = 6, .b_processes = 6, .ratio = ratio, .interval = interval};
}

TEST(StoredComparison, ShowsTheRatiosAndWhyAPairCannotBeJudged) {
  std::vector<StoredPair> pairs{stored_pair("step", 1.25, {1.125, 1.375}), stored_pair("forward", 1, {0.99, 1.01})};
  StoredPair failed = stored_pair("step 2", 1, {0.99, 1.01});
  failed.unjudged = "out_of_memory";
  failed.reason = "B: out_of_memory: killed";
  pairs.push_back(failed);
  pairs.push_back(
      {.name = "step 3", .a = 1, .a_processes = 1, .unjudged = std::string(kMissing), .reason = "B lacks it"});
  const PointReport report = stored_comparison_report("'a'", "'b'", pairs, 0.01, 0.99);
  EXPECT_EQ(report.lines, (std::vector<std::string>{"4 points: 1 slower, 1 same, 1 out_of_memory, 1 missing"}));
  const Grid& grid = report.grids.at(0);
  EXPECT_EQ(Json(grid.rows.at(0)), (Json{"step", 2.0, 2.5, 1.25, 1.125, 1.375, "slower", 6, 6, nullptr}));
  EXPECT_EQ(Json(grid.rows.at(2)).at(3), 1.0);  // the ratio of what there is
  EXPECT_EQ(Json(grid.rows.at(2)).at(9), "B: out_of_memory: killed");
  EXPECT_EQ(Json(grid.rows.at(3)),
            (Json{"step 3", 1.0, nullptr, nullptr, nullptr, nullptr, "missing", 1, 0, "B lacks it"}));
}

TEST(StoredComparison, SaysTheRatioOfAPairInItsFirstLine) {
  const auto line = [](const StoredPair& pair) {
    return stored_comparison_report("'a'", "'b'", {pair}, 0.01, 0.99).lines.at(0);
  };
  EXPECT_EQ(line(stored_pair("step", 1.25, {1.125, 1.375})),
            "B is slower: it takes 1.250 times the time of A (99 % interval 1.125 to 1.375, 6 and 6 processes)");
  StoredPair doubtful = stored_pair("step", 1.25, {1.125, 1.375});
  doubtful.unjudged = "undecided";
  doubtful.reason = "B: 6 of 6 records found no steady state, by their own verdict";
  EXPECT_TRUE(line(doubtful).starts_with("undecided: B takes 1.250 times the time of A (99 % interval 1.125 to 1.375"));
}

}  // namespace
}  // namespace laptime
