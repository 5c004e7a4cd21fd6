// What the rows of a table say of first steps, and the columns that show what warm-up does.
#include "report/first_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/csv.h"
#include "report/markdown.h"
#include "report/stored_records.h"
#include "report/table.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;

Transient slow_start() {
  Transient transient;
  transient.steps = 1;
  transient.excess = 1;
  transient.page_faults = 0;
  return transient;
}

TEST(FirstSteps, NameThePhasesAndClassesThatWereLonger) {
  Record record;
  Transient& transient = record.transient;
  transient = slow_start();
  transient.parts = {{"forward", "matmul", 0.2, 0.2},
                     {"forward", "softmax", 0.01, 0.01},
                     {"backward", "matmul", 0.5, 0.5},
                     {"backward", "elementwise", 0.1, 0.1},
                     {"optimizer", "optimizer", -0.1, -0.1}};
  EXPECT_EQ(first_steps_text(record),
            "first step 1.000 s longer; where: backward 600.0 ms (matmul 500.0 ms, elementwise 100.0 ms), forward "
            "210.0 ms (matmul 200.0 ms), optimizer 100.0 ms shorter, elsewhere 290.0 ms; why: not known");
  transient.parts.front().seconds = 1;
  EXPECT_THAT(first_steps_text(record), HasSubstr(", elsewhere 510.0 ms shorter;"));
  transient.steps = 3;
  transient.page_faults = 0.25;
  transient.parts = {{"forward", "", 1, 1}};
  EXPECT_EQ(first_steps_text(record),
            "first 3 steps together 1.000 s longer; where: forward 1.000 s; why: page faults 250.0 ms, not known for "
            "750.0 ms");
  transient.page_faults = 0.99;
  EXPECT_THAT(first_steps_text(record), testing::EndsWith("; why: page faults 990.0 ms"));
  transient.parts.clear();
  transient.page_faults.reset();
  EXPECT_EQ(first_steps_text(record), "first 3 steps together 1.000 s longer");
  transient.excess = 0;
  EXPECT_EQ(first_steps_text(record), "first steps: none longer than later ones");
}

TEST(FirstSteps, AreNoiseWhereALaterStepTookAsLong) {
  Record record = stored_records().front();
  record.transient = slow_start();
  record.transient.warmup = {2};
  record.time["step"].samples = {1, 1, 1, 1.5};
  EXPECT_EQ(first_steps_text(record), "first step 1.000 s longer; why: not known");
  record.time["step"].samples.back() = 2;
  EXPECT_EQ(first_steps_text(record), "first step 1.000 s longer; a later step took as long, so this is noise");
}

std::vector<Record> rows_by_warmup() {
  std::vector<Record> records = stored_records();
  records.resize(2);
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].config = records[0].config;
    records[i].name = "step/model:small/ctx:256/dtype:float32/mode:eager/warmup:" + std::to_string(i);
    records[i].transient = slow_start();
    records[i].transient.excess = 0;
  }
  return records;
}

TEST(FirstSteps, EveryRowOfACommandThatVariesTheWarmupSpeaksOfThem) {
  std::vector<Record> records = rows_by_warmup();
  const std::string note = "  first steps: none longer";
  for (const char* const columns : {"default", "mean_std", "avg_std", "min_max", "first_steps"}) {
    const std::string text = table(records, {}, columns);
    EXPECT_THAT(text.substr(text.find(note) + note.size()), HasSubstr(note)) << columns;
  }
  EXPECT_THAT(table(records, {}, "name,median"), Not(HasSubstr(note)));
  for (Record& record : records) record.name = stored_records().front().name;
  EXPECT_THAT(table(records, {}, "mean_std"), Not(HasSubstr(note)));
}

// 10 samples each with a standard deviation of 2 ms after 5 steps: 1.96 x 2 ms x sqrt(2 / 10) is 1.8 % of 100 ms.
TEST(FirstSteps, ATableSaysWhetherWarmupMovesTheMean) {
  std::vector<Record> records = rows_by_warmup();
  for (Record& record : records) {
    record.time["step"].count = 10;
    record.time["step"].mean = 0.1;
    record.time["step"].std = 0.002;
  }
  records[0].stopping.warmup = 0;
  records[1].stopping.warmup = 5;
  const auto line = [&](double mean, double std) {
    records[0].time["step"].mean = mean;
    records[0].time["step"].std = std;
    const std::string text = table(records, {}, "first_steps");
    const size_t begin = text.find("after 0 steps");
    return begin == std::string::npos ? text : text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(line(0.105, 0.1),
            "after 0 steps of warm-up the mean is 5.0 % above that after 5: outside the noise of the samples, +-1.8 % "
            "(95 %, from the standard deviation after 5)");
  EXPECT_THAT(line(0.101, 0.002), HasSubstr("is 1.0 % above that after 5: within the noise"));
  EXPECT_THAT(line(0.09, 0.002), HasSubstr("is 10 % below that after 5: outside the noise"));
  records[1].time["step"].std.reset();
  EXPECT_EQ(line(0.105, 0.1), "after 0 steps of warm-up the mean is 5.0 % above that after 5");
  records[1].stopping.warmup = 0;
  EXPECT_THAT(line(0.105, 0.1), Not(HasSubstr("of warm-up the mean")));
}

TEST(FirstSteps, ATableOfMediansNamesTheColumnsThatShowThem) {
  std::vector<Record> records = rows_by_warmup();
  EXPECT_THAT(table(records, {}), HasSubstr(": laptime show --last --columns first_steps\n"));
  EXPECT_THAT(table(records, {.store = "my store"}), HasSubstr("first_steps --store 'my store'\n"));
  EXPECT_THAT(table(records, {.store = "none"}), HasSubstr("--columns first_steps has mean"));
  EXPECT_THAT(table(records, {.store = "none"}), Not(HasSubstr("laptime show")));
  EXPECT_THAT(table(records, {}, "first_steps"), Not(HasSubstr("--columns first_steps")));
}

TEST(FirstSteps, TheirColumnsHaveTheFirstSamplesSideBySide) {
  std::vector<Record> records = rows_by_warmup();
  records[0].stopping.warmup = 0;
  records[0].time["step"].samples = {2, 1.5, 1, 1};
  records[0].time["step"].count = 4;
  const std::string text = table(std::span(records).first(1), {}, "first_steps");
  for (const char* const title : {"warmup", "mean", "sample 1", "sample 2", "sample 3", "median", "verdict"})
    EXPECT_THAT(text, HasSubstr(title));
  EXPECT_THAT(text, testing::ContainsRegex("2.000 s +1.500 s +1.000 s"));
  EXPECT_THAT(text, HasSubstr("standard deviation of the sample (divided by n - 1)"));
}

TEST(StandardDeviation, EveryTableSaysWhichOneItHas) {
  std::vector<Record> records = stored_records();
  records.resize(1);
  for (const char* const columns : {"avg_std", "min_max", "all_times", "name,std_population"}) {
    EXPECT_THAT(table(records, {}, columns), HasSubstr("deviation of the population (divided by n)")) << columns;
    EXPECT_THAT(markdown(records, columns), HasSubstr("of the population (divided by n)")) << columns;
  }
  for (const char* const columns : {"all", "mean_std", "forward_backward", "name,mean", "name,std"})
    EXPECT_THAT(table(records, {}, columns), HasSubstr("deviation of the sample (divided by n - 1)")) << columns;
  EXPECT_THAT(table(records, {}), Not(HasSubstr("standard deviation")));
}

}  // namespace
}  // namespace laptime
