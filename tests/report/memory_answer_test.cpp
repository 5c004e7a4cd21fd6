// Memory answers for a handmade trace with known sums.
#include "report/memory_answer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <sstream>

#include "analysis/made_trace.h"
#include "base/error.h"
#include "base/json.h"
#include "report/tables_of.h"
#include "table/text.h"

namespace laptime {
namespace {

using testing::HasSubstr;

TEST(MemoryAnswer, SummaryStartsWithThePeak) {
  const PointAnswer answer = memory_answer(held_record(), two_layers(), {});
  EXPECT_EQ(text_of(answer, {.unicode = false, .width = 60}), R"(4.27 KiB at the peak, in backward, by matmul at lm_head
  optimizer state 1.95 KiB 46 %   parameters 1000 B 23 %
  saved activations 650 B 15 %   gradients 500 B 11 %
  all else 222 B 5 %
  tensors alone: forward 3.96 KiB, backward 4.06 KiB,
  optimizer 3.43 KiB; forward saves 658 B, 300 B per layer
4.06 KiB |             ####################################
2.94 KiB |#################################################
         |.................................................
         |.................................................
         |.................................................
         |.................................................
         |- forward --------------|- backward ------|------
)");
}

TEST(MemoryAnswer, StatesHowManyLayersSaveTheSameTensors) {
  MadeTrace made;
  made.trace = two_layers();
  made.launch("forward", "layers.2.ffn", "gelu", 2, "ffn");
  EXPECT_THAT(text_of(memory_answer(held_record(), made.trace, {}), {.unicode = false}),
              HasSubstr("300 B per layer in 2 of 3 layers"));
}

TEST(MemoryAnswer, TablesAddUpToThePeak) {
  const PointAnswer answer = memory_answer(held_record(), two_layers(), {.view = MemoryView::kAll});
  int64_t sum = 0;
  const Table categories = table_named(answer, "categories");
  for (size_t i = 0; i + 1 < categories.rows.size(); ++i) sum += categories.rows[i].cells[1].value.get<int64_t>();
  EXPECT_EQ(sum, 4372);
  EXPECT_EQ(categories.rows.back().cells[1].value, 4372);
  EXPECT_EQ(table_named(answer, "saved_blocks").rows.back().cells[3].value, 658);
  int64_t by_op = 0;
  for (const TableRow& row : table_named(answer, "saved_by_op").rows) by_op += row.cells[3].value.get<int64_t>();
  EXPECT_EQ(by_op, 658);
  EXPECT_EQ(table_named(answer, "timeline").rows.size(), 8U);
  EXPECT_EQ(table_named(answer, "timeline").rows[4].cells[4].value, 4158);
  const Table accounts = table_named(answer, "accounts");
  ASSERT_EQ(accounts.rows.size(), 4U);
  EXPECT_EQ(accounts.rows[0].cells[1].value, 4158);
  EXPECT_EQ(accounts.rows[2].cells[1].value, 4372);
  EXPECT_EQ(accounts.rows[3].cells[1].value, 9000);
}

TEST(MemoryAnswer, AccountsOfAPlanOmitHeldBytes) {
  Record planned;
  planned.name = "made";
  EXPECT_EQ(table_named(memory_answer(planned, two_layers(), {.view = MemoryView::kAccounts}), "accounts").rows.size(),
            2U);
}

TEST(MemoryAnswer, PointThatDoesNotFitStatesTheShortage) {
  Record record;
  record.name = "made";
  record.status = Status::kOutOfMemory;
  record.bytes_available = 3348;
  record.config = Json{{"memory_limit", "3348B"}};
  const std::string text = text_of(memory_answer(record, two_layers(), {}), {});
  EXPECT_THAT(text,
              HasSubstr("\n! does not fit: 1.00 KiB more than the 3.27 KiB (--memory-limit) available to the step\n"));
}

TEST(MemoryAnswer, SmallSavedTensorsShareTheLastRow) {
  MadeTrace made;
  made.launch("forward", "layers.0.ffn", "mul", 0, "ffn");
  for (const int64_t bytes : {300, 300, 200, 200, 200, 200, 200, 10})
    made.buffer(bytes, 0, 0, true, "activation", "", fmt::format("[{}]", bytes));
  const Table table =
      table_named(memory_answer(held_record(), made.trace, {.view = MemoryView::kSaved}), "saved_contributors");
  ASSERT_EQ(table.rows.size(), 6U);
  EXPECT_EQ(table.rows[5].cells[4].value, 3);
  EXPECT_EQ(table.rows[5].cells[5].value, 410);
}

TEST(MemoryTimeline, FitsTheTerminal) {
  const StepTrace trace = two_layers();
  for (const size_t width : {60U, 80U, 200U}) {
    for (const bool unicode : {false, true}) {
      std::istringstream text(timeline_text(MemoryLedger({}, trace), 6, TextStyle{.unicode = unicode, .width = width}));
      size_t lines = 0;
      for (std::string line; std::getline(text, line); ++lines) EXPECT_LE(display_width(line), width) << line;
      EXPECT_EQ(lines, 7U);
    }
  }
}

Record named(const std::string& pass, const std::string& context, const std::string& dtype) {
  Record record = held_record();
  record.name = pass + "/model:made/ctx:" + context + "/dtype:" + dtype;
  record.config = Json{{"pass", pass}, {"dtype", dtype}};
  return record;
}

TEST(MemoryPeaks, HasARowPerPointAndAGridByPass) {
  MemoryPeaks peaks("");
  peaks.add(named("step", "128", "float32"), two_layers());
  peaks.add(named("step", "256", "float32"), two_layers());
  peaks.add(named("inference", "128", "float32"), two_layers());
  Record refused = held_record();
  refused.status = Status::kUnsupported;
  peaks.add(refused, std::nullopt);
  const PointAnswer answer = peaks.answer();
  const Table table = table_named(answer, "peaks");
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[0].cells[1].value, "measured");
  EXPECT_EQ(table.rows[3].cells[1].value, "unsupported");
  EXPECT_TRUE(table.rows[3].cells[2].value.is_null());
  int64_t parts = 0;
  for (size_t column = 4; column < table.columns.size(); ++column)
    parts += table.rows[0].cells[column].value.get<int64_t>();
  EXPECT_EQ(parts, 4372);
  const Table by_pass = table_named(answer, "peaks_by_pass");
  ASSERT_EQ(by_pass.columns.size(), 3U);
  EXPECT_EQ(by_pass.columns[1].key, "step_float32_bytes");
  ASSERT_EQ(by_pass.rows.size(), 2U);
  EXPECT_EQ(by_pass.rows[0].cells[0].value, "ctx:128");
  EXPECT_EQ(by_pass.rows[0].cells[2].value, 4372);
  EXPECT_TRUE(by_pass.rows[1].cells[2].value.is_null());
}

TEST(MemoryPeaks, AllTablesShowThePredictedPeak) {
  MemoryPeaks peaks("");
  for (const char* const pass : {"step", "inference"}) {
    Record record = named(pass, "128", "float32");
    record.memory.predicted_peak_bytes = 8192;  // 4372 bytes in whole pages
    peaks.add(record, two_layers());
  }
  const PointAnswer answer = peaks.answer();
  const Table table = table_named(answer, "peaks");
  EXPECT_EQ(table.rows[0].cells[2].value, 8192);
  int64_t parts = 0;
  for (size_t column = 4; column < table.columns.size(); ++column)
    parts += table.rows[0].cells[column].value.get<int64_t>();
  EXPECT_EQ(parts, 8192);
  for (const TableCell& cell : std::span(table_named(answer, "peaks_by_pass").rows[0].cells).subspan(1))
    EXPECT_EQ(cell.value, 8192);
}

TEST(MemoryPeaks, MarksPeaksThatDoNotFit) {
  Record refused = named("step", "128", "float32");
  refused.status = Status::kOutOfMemory;
  refused.memory.predicted_peak_bytes = 4372;
  Record fits = named("inference", "128", "float32");
  fits.memory.predicted_peak_bytes = 1000;
  const std::optional<Table> marked = peaks_by_pass({&refused, &fits});
  ASSERT_TRUE(marked.has_value());
  EXPECT_EQ(marked->rows[0].cells[1].text, "4.27 KiB *");
  EXPECT_EQ(marked->rows[1].cells[1].text, "");
  fits.memory.predicted_peak_bytes = 5000;  // fits on another device, whose memory is larger
  EXPECT_EQ(peaks_by_pass({&refused, &fits})->rows[0].cells[1].text, "4.27 KiB *");
  EXPECT_FALSE(peaks_by_pass({&refused}).has_value());
}

TEST(MemoryPeaks, FollowsTheRequestedOrder) {
  MemoryPeaks peaks("point:desc");
  peaks.add(named("step", "128", "float32"), two_layers());
  peaks.add(named("step", "256", "float32"), two_layers());
  EXPECT_EQ(table_named(peaks.answer(), "peaks").rows[0].cells[0].value, "step/model:made/ctx:256/dtype:float32");
  EXPECT_THROW(MemoryPeaks("pint"), Error);
  EXPECT_THROW(MemoryPeaks("point:down"), Error);
}

}  // namespace
}  // namespace laptime
