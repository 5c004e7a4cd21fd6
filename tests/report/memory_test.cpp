// Memory reports on a trace made by hand, whose sums are known.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "analysis/made_trace.h"
#include "analysis/memory_ledger.h"
#include "analysis/memory_tensors.h"
#include "base/error.h"
#include "record/record.h"
#include "record/scope_path.h"
#include "report/memory/memory_report.h"
#include "report/memory/peaks.h"
#include "report/memory/timeline_text.h"
#include "table/text.h"

namespace laptime {
namespace {

// Two equal layers, a head, and their backward and optimizer. The peak is 1000 + 2000 + 8 of the run, and at launch 3
// 2 x 300 saved by the layers + 50 saved by the head + 400 workspace.
StepTrace two_layers() {
  MadeTrace made;
  made.launch("forward", "layers.0.attn.scores", "matmul", 0, "attn");   // 0
  made.launch("forward", "layers.0.ffn", "gelu", 0, "ffn");              // 1
  made.launch("forward", "layers.1.attn.scores", "matmul", 1, "attn");   // 2
  made.launch("forward", "lm_head", "matmul", -1, "lm_head");            // 3
  made.launch("backward", "lm_head", "matmul", -1, "lm_head");           // 4
  made.launch("backward", "layers.1.attn.scores", "matmul", 1, "attn");  // 5
  made.launch("backward", "layers.0.attn.scores", "matmul", 0, "attn");  // 6
  made.launch("optimizer", "lm_head", "adamw", -1, "lm_head");           // 7
  made.buffer(300, 0, 6, true, "activation", "layers.0.attn.scores");
  made.buffer(20, 1, 2, false);
  made.buffer(300, 2, 5, true, "activation", "layers.1.attn.scores");
  made.buffer(50, 3, 4, true);
  made.buffer(400, 3, 3, false, "workspace");
  made.buffer(500, 4, 7, false, "gradient", "lm_head.weight");
  made.resident(1000, "parameter", "lm_head.weight");
  made.resident(2000, "optimizer_state", "m/lm_head.weight");
  made.resident(8, "input", "tokens", true);
  made.trace.resident_bytes = 3072;
  made.trace.arena_bytes = 1300;
  made.trace.live_peak_bytes = 1150;
  made.trace.peak_launch = 4;
  return made.trace;
}

Record held_record() {
  Record record;
  record.name = "step/model:made/dtype:float32";
  record.memory.peak_rss_bytes = 9000;
  record.memory.base_rss_bytes = 4000;
  record.memory.peak_bytes = 4372;
  return record;
}

const Grid& grid_named(const PointReport& report, const std::string& name) {
  for (const Grid& grid : report.grids) {
    if (grid.name == name) return grid;
  }
  throw Error::format("no grid {}", name);
}

TEST(SavedBytes, AutocastCopiesAreNamed) {
  MadeTrace made;
  made.trace = two_layers();
  EXPECT_EQ(saved_bytes_of(made.trace).copies, 0);
  made.buffer(70, 0, 6, true, "autocast_copy", "layers.0.attn.weight");
  made.buffer(70, 2, 5, true, "autocast_copy", "layers.1.attn.weight");
  made.buffer(30, 3, 4, true, "autocast_copy", "lm_head.weight");
  const SavedBytes saved = saved_bytes_of(made.trace);
  EXPECT_EQ(saved.total, 658 + 170);
  EXPECT_EQ(saved.copies, 170);
  EXPECT_EQ(saved.blocks.at(0).bytes, 370);
  EXPECT_EQ(saved.blocks.at(0).copies, 70);
  EXPECT_EQ(saved.rest.copies, 30);
  const PointReport report = memory_report(held_record(), made.trace, {.view = MemoryView::kSaved});
  EXPECT_EQ(report.lines.at(1), "Forward saves 828 B for backward, of which each of layers 0-1 370 B.");
  EXPECT_EQ(
      report.lines.at(2),
      "Autocast's copies of parameters are among it: 170 B, of which each of layers 0-1 70 B. Without them forward "
      "saves 658 B, each of layers 0-1 300 B.");
  const Grid& blocks = grid_named(report, "saved_blocks");
  EXPECT_EQ(blocks.columns.back().key, "copies_bytes");
  EXPECT_EQ(blocks.rows.front().back(), 140);
  EXPECT_EQ(blocks.rows.back().back(), 170);
  const PointReport without = memory_report(held_record(), two_layers(), {.view = MemoryView::kSaved});
  EXPECT_EQ(grid_named(without, "saved_blocks").columns.back().key, "share");
  for (const std::string& line : without.lines) EXPECT_EQ(line.find("Autocast"), line.npos) << line;
}

TEST(SavedBytes, EveryTensorIsARowAndTiesAreSaid) {
  MadeTrace made;
  made.launch("forward", "layers.0.ffn", "mul", 0, "ffn");
  for (const int64_t bytes : {300, 300, 200, 200, 200, 200, 200, 10})
    made.buffer(bytes, 0, 0, true, "activation", "", fmt::format("[{}]", bytes));
  const PointReport report = memory_report(held_record(), made.trace, {.view = MemoryView::kSaved});
  const Grid& grid = grid_named(report, "saved_contributors");
  ASSERT_EQ(grid.rows.size(), 6U);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(grid.rows[i][4], 1);
    EXPECT_EQ(grid.rows[i][5], i < 2 ? 300 : 200);
  }
  EXPECT_EQ(grid.rows[5][4], 3);
  EXPECT_EQ(grid.rows[5][5], 410);
  EXPECT_EQ(grid.notes.at(0), "2 of the others are as large as the last one named: 200 B.");
}

TEST(MemoryReport, TablesAddUpToThePeak) {
  const PointReport report = memory_report(held_record(), two_layers(), {});
  int64_t sum = 0;
  const Grid& categories = grid_named(report, "categories");
  for (size_t i = 0; i + 1 < categories.rows.size(); ++i) sum += categories.rows[i][1].get<int64_t>();
  EXPECT_EQ(sum, 4372);
  EXPECT_EQ(categories.rows.back()[1], 4372);
  EXPECT_EQ(grid_named(report, "saved_blocks").rows.back()[3], 658);
  const Grid& parts = grid_named(report, "saved_by_op");
  EXPECT_EQ(parts.title, "All that forward saves, by module and op");
  EXPECT_EQ(std::accumulate(parts.rows.begin(), parts.rows.end(), int64_t{0},
                            [](int64_t bytes, const auto& row) { return bytes + row[3].template get<int64_t>(); }),
            658);
  EXPECT_EQ(grid_named(report, "timeline").rows.size(), 8U);
  EXPECT_EQ(grid_named(report, "timeline").rows[4][4], 4158);
  const Grid& accounts = grid_named(report, "accounts");
  EXPECT_EQ(accounts.rows[0][1], 4158);
  EXPECT_EQ(accounts.rows[1][1], 4372);
  EXPECT_EQ(accounts.rows[2][1], 4372);
  EXPECT_EQ(accounts.rows[3][1], 9000);
}

TEST(MemoryReport, SaysWhatPeaksAndWhere) {
  const PointReport report = memory_report(held_record(), two_layers(), {.view = MemoryView::kSummary});
  EXPECT_TRUE(report.grids.empty());
  EXPECT_EQ(report.lines.at(0),
            "Peak 4.270 KiB, reached in backward by matmul in lm_head: optimizer state 46 %, parameters 23 %, saved "
            "activations 15 %, the rest 16 %.");
  EXPECT_EQ(report.lines.at(1), "Forward saves 658 B for backward, of which each of layers 0-1 300 B.");
  EXPECT_EQ(report.lines.at(2),
            "The optimizer adds 1.953 KiB of state and no temporaries. Here the state is there before the first step, "
            "so that every step peaks at 3.963 KiB in forward, 4.061 KiB in backward and 3.426 KiB in optimizer. "
            "PyTorch allocates it when the optimizer first runs: its first step peaks at 2.010 KiB in forward, 2.107 "
            "KiB in backward and 3.426 KiB in optimizer, later ones as here (derived).");
}

TEST(MemoryReport, SaysWhatTheOptimizerHoldsWhileItRuns) {
  MadeTrace made;
  made.launch("forward", "lm_head", "matmul");
  made.launch("backward", "lm_head", "matmul");
  made.launch("optimizer", "lm_head", "adamw");
  made.buffer(600, 2, 2, false);
  made.buffer(100, 2, 2, false, "workspace");
  made.resident(2048, "optimizer_state", "m/lm_head.weight");
  made.trace.resident_bytes = 2048;
  made.trace.arena_bytes = 700;
  const auto line = [](const StepTrace& trace) {
    return memory_report(held_record(), trace, {.view = MemoryView::kSummary}).lines.at(1);
  };
  EXPECT_THAT(line(made.trace), testing::StartsWith("The optimizer adds 2.000 KiB of state and 700 B of temporaries "
                                                    "while it runs. Here the state"));
  EXPECT_THAT(line(made.trace), testing::HasSubstr("its first step peaks at 0 B in forward, 0 B in backward and 2.684 "
                                                   "KiB in optimizer"));
  made.launch("backward", "embedding", "matmul");
  EXPECT_EQ(line(made.trace),
            "The optimizer adds 2.000 KiB of state. Here the state is there before the first step, so that first and "
            "later steps peak equally.");
}

TEST(MemoryReport, WhatDidNotRunIsMarkedPredicted) {
  Record record;
  record.name = "made";
  record.status = Status::kOutOfMemory;
  record.reason = "predicted: too much";
  const PointReport report = memory_report(record, two_layers(), {});
  EXPECT_TRUE(report.lines.at(0).starts_with("Predicted peak 4.270 KiB")) << report.lines.at(0);
  EXPECT_EQ(report.lines.at(1), "Does not fit here: predicted: too much");
  EXPECT_NE(grid_named(report, "categories").title.find("predicted"), std::string::npos);
  EXPECT_TRUE(grid_named(report, "accounts").rows[2][1].is_null());
}

TEST(MemoryTimeline, FitsTheTerminal) {
  const StepTrace trace = two_layers();
  for (const size_t width : {60U, 80U, 200U}) {
    for (const bool unicode : {false, true}) {
      std::istringstream text(timeline_text(trace, MemoryLedger(trace), {.unicode = unicode, .width = width}));
      size_t widest = 0;
      for (std::string line; std::getline(text, line);) {
        widest = std::max(widest, display_width(line));
        EXPECT_LE(display_width(line), width) << line;
        EXPECT_EQ(printable(line, !unicode), line);
      }
      EXPECT_GE(widest, width - 2);
    }
  }
}

TEST(MemoryTimeline, IsAPictureOfTheStep) {
  const StepTrace trace = two_layers();
  const std::string text = timeline_text(trace, MemoryLedger(trace), {.unicode = false, .width = 40});
  EXPECT_EQ(text, R"(4.061 KiB |           ##########
          |       #####################
          |############################
2.938 KiB |............................
          |............................
          |............................
          |............................
          |............................
          |............................
          |............................
          |............................
          |............................
          |- forward ----|---------|---
                         ^
           peak: matmul in lm_head
. whole run  # this step  (8 launches from left to right)
)");
}

Record named(const std::string& pass, const std::string& context, const std::string& dtype) {
  Record record = held_record();
  record.name = pass + "/model:made/ctx:" + context + "/dtype:" + dtype;
  record.config = Json{{"pass", pass}, {"dtype", dtype}};
  return record;
}

TEST(PeakTable, HasARowForEachPointAndAColumnForEachPass) {
  PeakTable table("");
  table.add(named("step", "128", "float32"), two_layers());
  table.add(named("step", "256", "float32"), two_layers());
  table.add(named("inference", "128", "float32"), two_layers());
  Record refused = held_record();
  refused.status = Status::kUnsupported;
  table.add(refused, std::nullopt);
  const PointReport report = table.report();
  const Grid& peaks = grid_named(report, "peaks");
  ASSERT_EQ(peaks.rows.size(), 4U);
  EXPECT_EQ(peaks.rows[0][1], "measured");
  EXPECT_EQ(peaks.rows[3][1], "unsupported");
  EXPECT_TRUE(peaks.rows[3][2].is_null());
  int64_t parts = 0;
  for (size_t column = 4; column < peaks.columns.size(); ++column) parts += peaks.rows[0][column].get<int64_t>();
  EXPECT_EQ(parts, peaks.rows[0][2].get<int64_t>());
  const Grid& by_pass = grid_named(report, "peaks_by_pass");
  ASSERT_EQ(by_pass.columns.size(), 3U);
  EXPECT_EQ(by_pass.columns[1].key, "step_float32_bytes");
  ASSERT_EQ(by_pass.rows.size(), 2U);
  EXPECT_EQ(by_pass.title, "Peaks by pass and number type: model:made");
  EXPECT_EQ(by_pass.rows[0][0], "ctx:128");
  EXPECT_EQ(by_pass.rows[0][1], 4372);
  EXPECT_EQ(by_pass.rows[0][2], 4372);
  EXPECT_TRUE(by_pass.rows[1][2].is_null());
}

TEST(PeakTable, MarksWhatDoesNotFit) {
  PeakTable table("");
  table.add(named("inference", "128", "float32"), two_layers());
  EXPECT_TRUE(grid_named(table.report(), "peaks").rows[0][1] == "measured");
  Record refused = named("step", "128", "float32");
  refused.status = Status::kOutOfMemory;
  refused.memory = {};
  table.add(refused, two_layers());
  const PointReport report = table.report();
  EXPECT_EQ(grid_named(report, "peaks").rows[1][1], "predicted, does not fit");
  // The same bytes fit elsewhere, so no limit separates the cells, and none is marked.
  EXPECT_EQ(grid_named(report, "peaks_by_pass").columns[1].shown, nullptr);

  PeakTable too_large("");
  too_large.add(refused, two_layers());
  refused.config = Json{{"pass", "step"}, {"dtype", "bfloat16"}};
  too_large.add(refused, two_layers());
  const PointReport all_refused = too_large.report();
  const Grid& marked = grid_named(all_refused, "peaks_by_pass");
  EXPECT_EQ(marked.columns[1].shown(marked.rows[0][1]), "4.270 KiB *");
  EXPECT_THAT(marked.notes, testing::Contains("* does not fit into the memory of the device."));
}

TEST(PeakTable, HasTheLongerListInItsRows) {
  PeakTable table("");
  for (const char* pass : {"inference", "forward", "step"}) {
    for (const char* context : {"128", "256"}) table.add(named(pass, context, "float32"), two_layers());
  }
  const PointReport report = table.report();
  const Grid& by_pass = grid_named(report, "peaks_by_pass");
  ASSERT_EQ(by_pass.rows.size(), 3U);
  EXPECT_EQ(by_pass.rows[2][0], "step float32");
  ASSERT_EQ(by_pass.columns.size(), 3U);
  EXPECT_EQ(by_pass.columns[1].key, "ctx:128_bytes");
}

TEST(PeakTable, IsOrderedByAColumn) {
  PeakTable table("point:desc");
  table.add(named("step", "128", "float32"), two_layers());
  table.add(named("step", "256", "float32"), two_layers());
  EXPECT_EQ(grid_named(table.report(), "peaks").rows[0][0], "step/model:made/ctx:256/dtype:float32");
  EXPECT_THROW(PeakTable("pint"), Error);
  EXPECT_THROW(PeakTable("point:down"), Error);
}

TEST(PeakTable, KeepsWhatIsSavedOnANarrowTerminal) {
  PeakTable table("");
  table.add(named("step", "128", "float32"), two_layers());
  table.add(named("step", "256", "float32"), two_layers());
  const PointReport report = table.report();
  const Grid& peaks = grid_named(report, "peaks");
  EXPECT_EQ(peaks.rows[0][0], "step/model:made/ctx:128/dtype:float32");
  const std::string text = grid_text(peaks, {.width = 80});
  EXPECT_EQ(text.substr(0, text.find('\n')), "Peaks: step/model:made/dtype:float32");
  EXPECT_NE(text.find("\nctx:128 "), std::string::npos) << text;
  for (const char* title : {"Parameters", "Gradients", "Optimizer", "Saved"})
    EXPECT_NE(text.find(title), std::string::npos) << text;
}

TEST(Grid, LeavesOutTheHighestFirst) {
  const Grid grid{.name = "made",
                  .title = "a line that is longer than the terminal",
                  .columns = {{"a", "a", Unit::kNone, true},
                              {"b", "b", Unit::kNone, false, 1},
                              {"c", "c", Unit::kNone, false, 2},
                              {"d", "d", Unit::kNone, false, 1}},
                  .rows = {{"a", 11, 22, 33}},
                  .notes = {"another line that is longer"}};
  std::vector<std::string> left_out;
  EXPECT_EQ(grid_text(grid, {.width = 12}, &left_out),
            "a line that\nis longer\nthan the\nterminal\na   b   d\na  11  33\nanother line\nthat is\nlonger\n");
  EXPECT_EQ(left_out, std::vector<std::string>{"c"});
}

TEST(Grid, LeavesOutOptionalColumnsWhereTheTerminalIsNarrow) {
  const Grid grid{.name = "made",
                  .title = {},
                  .columns = {{"a", "a", Unit::kNone, true}, {"b", "b"}, {"c", "c", Unit::kNone, false, true}},
                  .rows = {{"twelve chars", 123456, 123456}},
                  .notes = {}};
  EXPECT_NE(grid_text(grid, {.width = 40}).find("c\n"), std::string::npos);
  std::vector<std::string> left_out;
  EXPECT_EQ(grid_text(grid, {.width = 22}, &left_out), "a                  b\ntwelve chars  123456\n");
  EXPECT_EQ(left_out, std::vector<std::string>{"c"});
  EXPECT_NE(grid_markdown(grid).find(" c "), std::string::npos);
}

}  // namespace
}  // namespace laptime
