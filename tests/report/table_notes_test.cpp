// What stands below a table, and names of rows that could not be told apart.
#include "report/table_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "distribution/verdict.h"
#include "report/markdown.h"
#include "report/stored_records.h"
#include "report/table.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Record> two_records() {
  std::vector<Record> records = stored_records();
  records.resize(2);
  for (Record& record : records) {
    record.flops.model_flops_per_second = 50e9;
    record.flops.mfu_measured = 0.5;
  }
  return records;
}

TEST(TableNotes, SayWhichPeakAnMfuIsOf) {
  std::vector<Record> records = two_records();
  records[1].flops.mfu_measured = 0.25;
  EXPECT_THAT(table(records, {}),
              HasSubstr("\nmfu is of a measured peak: 200.0 GFLOP/s (bfloat16), 100.0 GFLOP/s (float32)\n"));
  records[0].flops.peak_measured_at = "2025-11-20T23:00:00Z";
  EXPECT_THAT(table(records, {}), HasSubstr("100.0 GFLOP/s (float32, measured 2025-11-20)\n"));
  EXPECT_THAT(markdown(records), HasSubstr("\n- mfu is of a measured peak: "));
  records[1].math_mode = records[0].math_mode;
  records[1].flops.peak_measured_at = "2025-11-22T23:00:00Z";
  EXPECT_THAT(table(records, {}),
              HasSubstr("100.0 GFLOP/s to 200.0 GFLOP/s (float32, measured 2025-11-20 to 2025-11-22)\n"));
  EXPECT_THAT(table(records, {}, "name,median"), Not(HasSubstr("peak")));
  records[0].flops.mfu_measured.reset();
  records[1].flops.mfu_measured.reset();
  EXPECT_THAT(table(records, {}), Not(HasSubstr("measured peak")));
}

TEST(TableNotes, ExplainTheVerdictsOfTheRows) {
  std::vector<Record> records = two_records();
  records[0].verdict.rating = "stable";
  records[1].verdict.rating = "stable";
  EXPECT_THAT(table(records, {}), Not(HasSubstr("verdicts")));
  for (const StabilityWord& word : stability_words()) {
    if (word.stability == Stability::kStable) continue;
    records[1].verdict.rating = word.name;
    const std::string note = fmt::format("verdicts (laptime list verdicts): {}: {}\n", word.name, word.meaning);
    EXPECT_THAT(table(records, {.details = false}), HasSubstr("\n" + note));
    EXPECT_THAT(markdown(records), HasSubstr(std::string(word.meaning)));
    EXPECT_THAT(table(records, {}, "name,median"), Not(HasSubstr("verdicts")));
  }
}

// The command is that of the two rows, and typed as it stands.
TEST(TableNotes, SayHowToCompareRowsWithoutASpeedup) {
  std::vector<Record> records = two_records();
  for (Record& record : records) record.verdict.rating = "stable";
  EXPECT_THAT(table(records, {}, "name,speedup"), Not(HasSubstr("laptime compare")));
  const std::string command =
      "\n  laptime compare --model small --context 256 --dtype float32,bfloat16 --mode eager --pass step --device "
      "cpu\n";
  for (const size_t row : {0U, 1U}) {
    std::vector<Record> doubtful = records;
    doubtful[row].verdict.rating = "unstable";
    const std::string text = table(doubtful, {}, "name,speedup");
    EXPECT_THAT(text, HasSubstr(command)) << row;
    EXPECT_THAT(text, HasSubstr("unstable: ")) << row;
  }
  records[1].verdict.rating = "no_steady_state";
  records[1].name = "a name of another program";
  EXPECT_THAT(table(records, {}, "name,speedup"), HasSubstr("\n  laptime compare --help\n"));
}

// Every row whose speed-up is refused has its command, with the store that the rows are in.
TEST(TableNotes, HaveACommandForEachRefusedSpeedup) {
  std::vector<Record> records = two_records();
  records.push_back(records[1]);
  records[2].name = "step/model:small/ctx:256/dtype:float16/mode:eager/warmup:2";
  records[2].config.json()["dtype"] = "float16";
  for (Record& record : records) {
    record.verdict.rating = "no_steady_state";
    record.stopping.rule = "interval";
  }
  const std::string text = table(records, {.store = "here.sqlite"}, "name,speedup");
  EXPECT_THAT(text, HasSubstr("--dtype float32,bfloat16 --mode eager --pass step --device cpu --store here.sqlite\n"));
  EXPECT_THAT(text, HasSubstr("--dtype float32,float16 --mode eager --pass step --device cpu --store here.sqlite\n"));
  EXPECT_THAT(text, Not(HasSubstr("--warmup")));
  for (Record& record : records) record.stopping.rule = "fixed";
  EXPECT_THAT(table(records, {}, "name,speedup"), HasSubstr("\nleave out --warmup and --steps"));
  EXPECT_THAT(markdown(records, "name,speedup"), HasSubstr("float32,float16"));
}

TEST(TableNotes, SayWhichSamplesSkippedUpdates) {
  std::vector<Record> records = two_records();
  records[1].stopping.warmup = 2;
  records[1].loss_scaling.skipped = {1, 2};
  EXPECT_THAT(table(records, {}), Not(HasSubstr("no update")));
  records[1].loss_scaling.skipped = {1, 2, 3};
  const std::string note =
      "bfloat16: 1 of 5 measured steps made no update, because a gradient of the scaled loss overflowed";
  for (const char* const columns : {"default", "name,median", "mean_std"}) {
    EXPECT_THAT(table(records, {}, columns), HasSubstr(note)) << columns;
    EXPECT_THAT(markdown(records, columns), HasSubstr("- " + note)) << columns;
  }
  records.assign(5, records[1]);
  EXPECT_THAT(table(records, {}, "name,median"),
              HasSubstr("\n2 more rows have such steps: --columns name,skipped_steps\n"));
}

TEST(TableRows, HaveNamesWhereTheyCouldNotBeToldApart) {
  std::vector<Record> records = two_records();
  EXPECT_THAT(table(records, {}, "dtype,median"), Not(HasSubstr("name")));
  EXPECT_THAT(table(records, {}, "median,peak"), HasSubstr("\nname "));
  EXPECT_THAT(table(records, {}, "avg_std"), HasSubstr("\nbfloat16 "));
  EXPECT_THAT(markdown(records, "avg_std"), HasSubstr("| name | model |"));
  EXPECT_THAT(table(std::span(records).first(1), {}, "median"), Not(HasSubstr("name")));
  records[1] = records[0];  // the same point twice has no other name
  EXPECT_THAT(table(records, {}, "median"), Not(HasSubstr("name")));
}

TEST(TableRows, ShareTheirArithmeticAboveTheTable) {
  std::vector<Record> records = two_records();
  EXPECT_THAT(table(records, {}), HasSubstr("arithmetic\n"));
  records[0].math_mode = records[1].math_mode;
  EXPECT_THAT(table(records, {}), HasSubstr("every row: step, small, ctx:256, eager, arithmetic bfloat16\n"));
  EXPECT_THAT(table(records, {}), Not(HasSubstr("arithmetic\n")));
  EXPECT_THAT(markdown(records), HasSubstr(", arithmetic bfloat16\n\n| name |"));
  EXPECT_THAT(table(records, {}, "name,arithmetic"), HasSubstr("arithmetic\n"));  // asked for
}

TEST(TableRows, GiveNamesTheRoomThatIsLeft) {
  std::vector<Record> records = two_records();
  records[0].label = std::string(50, 'x');
  const std::string text = table(records, {.width = 80}, "name,peak");
  EXPECT_THAT(text, HasSubstr("\n" + records[0].label + "  3.737 GiB\n"));
  EXPECT_THAT(table(records, {.width = 60}, "name,peak"), HasSubstr("\n" + records[0].label + "\n"));
}

}  // namespace
}  // namespace laptime
