// Comparisons of handmade rounds and records: their findings, and tables that add up.
#include "report/comparison.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "report/tables_of.h"

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

PointAnswer answer_of(const std::vector<ComparedRound>& rounds) {
  return comparison_answer({"mode eager", "mode compile", "step"}, rounds, 0.01);
}

void expect_sum(const Table& table, const std::string& key) {
  double sum = 0;
  const size_t whole = table.rows.size() - 1;
  for (size_t i = 0; i < whole; ++i) sum += cell(table, i, key).get<double>();
  EXPECT_NEAR(sum, cell(table, whole, key).get<double>(), 1e-12) << key;
}

TEST(Comparison, RatioIsInTheFirstLine) {
  EXPECT_EQ(text_of(answer_of(rounds_of(0.5, 10)), {.unicode = false, .width = 80}),
            R"(B is faster: 0.833 times the time of A (99 % interval 0.833 to 0.833, 10 rounds)
the op that differs most is matmul: -50.0 ms of -50.0 ms
the part that differs most is forward layers.*.ffn matmul: -50.0 ms of -50.0 ms
phase          A        B  B / A   from     to  B is
forward   100 ms  50.0 ms  0.500  0.500  0.500  faster
backward  200 ms   200 ms  1.000  1.000  1.000  same
step      300 ms   250 ms  0.833  0.833  0.833  faster
op in traced steps        A        B      B - A  of all
matmul              90.0 ms  40.0 ms   -50.0 ms   100 %
softmax              200 ms   200 ms       0 ms     0 %
everything else     11.0 ms  11.0 ms  -10.00 us  0.02 %
step                 301 ms   251 ms   -50.0 ms   100 %
B / A in 10 rounds: 0.833 to 0.833, median 0.833
A: mode eager; B: mode compile; step
)");
}

TEST(Comparison, PartsAddUpToTheDifference) {
  const Table parts = table_named(answer_of(rounds_of(0.7, 9)), "parts");
  for (const char* key : {"a_s", "b_s", "difference_s"}) expect_sum(parts, key);
  EXPECT_EQ(cell(parts, parts.rows.size() - 1, "part"), "step");
}

// In each of its three parts of the model, rms_norm slows down less than softmax does in its only part.
TEST(Comparison, AddsUpAnOpOverAllParts) {
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
  const PointAnswer answer = answer_of(rounds);
  const Finding& op = answer.findings.at(0);
  EXPECT_EQ(op.kind, "largest_op_difference");
  EXPECT_EQ(op.subject, "rms_norm");
  EXPECT_NEAR(op.number("difference_s"), 0.015, 1e-12);
  EXPECT_NEAR(op.number("step_difference_s"), 0.02, 1e-12);
  EXPECT_EQ(answer.findings.at(1).subject, "backward layers.*.attn softmax");
  const Table ops = table_named(answer, "ops");
  EXPECT_EQ(cell(ops, 0, "op"), "rms_norm");
  expect_sum(ops, "difference_s");
}

TEST(Comparison, PhasesTableEndsWithTheWholePass) {
  const Table phases = table_named(answer_of(rounds_of(1.1, 9)), "phases");
  ASSERT_EQ(phases.rows.size(), 3U);
  EXPECT_EQ(cell(phases, 0, "phase"), "forward");
  EXPECT_EQ(cell(phases, 0, "verdict"), "slower");
  EXPECT_EQ(cell(phases, 1, "verdict"), "same");
  EXPECT_EQ(cell(phases, 2, "phase"), "step");
}

TEST(Comparison, FewRoundsGiveARatioButNoVerdict) {
  const PointAnswer answer = answer_of(rounds_of(0.5, 3));
  const Table phases = table_named(answer, "phases");
  EXPECT_TRUE(cell(phases, 0, "ratio").is_number());
  EXPECT_TRUE(cell(phases, 0, "ratio_low").is_null());
  EXPECT_EQ(cell(phases, 0, "verdict"), "undecided");
  EXPECT_EQ(answer.parts.at(0).line,
            "undecided: 0.833 times the time of A (3 rounds are too few; an interval needs 8)");
}

// Shares of a difference that may be zero would only show noise.
TEST(Comparison, UndecidedOrEqualTimesReportNoCause) {
  EXPECT_TRUE(cell(table_named(answer_of(rounds_of(0.7, 9)), "ops"), 0, "of_difference").is_number());
  for (const PointAnswer& answer : {answer_of(rounds_of(0.7, 3)), answer_of(rounds_of(1, 9))}) {
    EXPECT_TRUE(answer.findings.empty());
    const Table ops = table_named(answer, "ops");
    for (size_t i = 0; i < ops.rows.size(); ++i) EXPECT_TRUE(cell(ops, i, "of_difference").is_null());
  }
}

TEST(Comparison, PartWithDifferentOpsIsOneRow) {
  std::vector<ComparedRound> rounds = rounds_of(1, 9);
  for (ComparedRound& round : rounds) {
    round.b.parts["backward layers.*.attn"] = {{"scaled_dot_product_attention", 0.05}};
    round.b.parts["optimizer norm"] = {{"adamw", 0.01}};
  }
  const Table parts = table_named(answer_of(rounds), "parts");
  EXPECT_EQ(cell(parts, 0, "part"), "backward layers.*.attn");
  EXPECT_DOUBLE_EQ(cell(parts, 0, "a_s").get<double>(), 0.2);
  EXPECT_DOUBLE_EQ(cell(parts, 0, "difference_s").get<double>(), 0.05 - 0.2);
  EXPECT_EQ(cell(parts, 1, "part"), "optimizer norm");
  EXPECT_DOUBLE_EQ(cell(parts, 1, "a_s").get<double>(), 0);
  EXPECT_EQ(cell(parts, 2, "part"), "forward layers.*.ffn matmul");
}

StoredPair stored_pair(const std::string& name, double ratio, Interval interval) {
  return {
      .name = name, .a = 2, .b = 2 * ratio, .a_processes = 6, .b_processes = 6, .ratio = ratio, .interval = interval};
}

TEST(StoredComparison, ShowsRatiosAndWhyAPairCannotBeJudged) {
  std::vector<StoredPair> pairs{stored_pair("step", 1.25, {1.125, 1.375}), stored_pair("forward", 1, {0.99, 1.01})};
  StoredPair failed = stored_pair("step 2", 1, {0.99, 1.01});
  failed.unjudged = "out_of_memory";
  failed.reason = "B: out_of_memory: killed";
  pairs.push_back(failed);
  pairs.push_back(
      {.name = "step 3", .a = 1, .a_processes = 1, .unjudged = std::string(kMissing), .reason = "B has no such point"});
  const PointAnswer answer = stored_comparison_answer("'a'", "'b'", pairs, 0.01, 0.99);
  EXPECT_EQ(answer.parts.at(0).line, "4 points: 1 slower, 1 same, 1 out_of_memory, 1 missing");
  const Json rows = json_of(table_named(answer, "records"));
  EXPECT_EQ(rows.at(0), (Json{{"point", "step"},
                              {"a_s", 2.0},
                              {"b_s", 2.5},
                              {"ratio", 1.25},
                              {"ratio_low", 1.125},
                              {"ratio_high", 1.375},
                              {"verdict", "slower"},
                              {"a_processes", 6},
                              {"b_processes", 6},
                              {"reason", nullptr}}));
  EXPECT_EQ(rows.at(2).at("ratio"), 1.0) << "the ratio of the processes that ran";
  EXPECT_EQ(rows.at(2).at("reason"), "B: out_of_memory: killed");
  EXPECT_EQ(rows.at(3).at("verdict"), "missing");
  EXPECT_TRUE(rows.at(3).at("b_s").is_null());
  EXPECT_EQ(rows.at(3).at("reason"), "B has no such point");
}

TEST(StoredComparison, ShowsBothNamesOfAPair) {
  StoredPair pair = stored_pair("step/model:small/ctx:16", 1, {0.99, 1.01});
  pair.b_name = "torch/step/model:small";
  const Table table = table_named(stored_comparison_answer("'a'", "'b'", {pair}, 0.01, 0.99), "records");
  EXPECT_EQ(table.rows.at(0).cells.at(0).text, "step small ctx 16 and torch step small");
  EXPECT_EQ(cell(table, 0, "point"), "step/model:small/ctx:16 and torch/step/model:small");
}

TEST(StoredComparison, FirstLineStatesTheRatioOfAPair) {
  const auto line = [](const StoredPair& pair) {
    return stored_comparison_answer("'a'", "'b'", {pair}, 0.01, 0.99).parts.at(0).line;
  };
  EXPECT_EQ(line(stored_pair("step", 1.25, {1.125, 1.375})),
            "B is slower: 1.250 times the time of A (99 % interval 1.125 to 1.375, 6 and 6 processes)");
  StoredPair doubtful = stored_pair("step", 1.25, {1.125, 1.375});
  doubtful.unjudged = "undecided";
  doubtful.reason =
      "B: according to their verdicts, 6 of 6 records did not reach a steady state; measure again on a quieter machine";
  EXPECT_TRUE(line(doubtful).starts_with("undecided: 1.250 times the time of A (99 % interval 1.125 to 1.375"));
}

}  // namespace
}  // namespace laptime
