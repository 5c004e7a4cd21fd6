// Records as tables and sentences for users, including records of another program's steps.
#include "report/record_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "report/columns.h"
#include "report/record_files.h"
#include "report/stored_records.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::StartsWith;

std::vector<size_t> widths(const std::string& text) {
  std::vector<size_t> widths;
  for (const std::string& line : lines_in(text)) widths.push_back(display_width(line));
  return widths;
}

// One float32 and one bfloat16 step, both in eager mode.
std::vector<Record> two_dtypes() {
  std::vector<Record> records = stored_records();
  records.resize(2);
  return records;
}

TEST(RecordTable, NamesOptionsOfRowsThatShareALabel) {
  std::vector<Record> records = two_dtypes();
  for (Record& record : records) record.label = "after";
  EXPECT_THAT(table(records, {}), AllOf(HasSubstr("after: float32"), HasSubstr("after: bfloat16")));
  records[1].name = records[0].name;  // the same point again
  EXPECT_THAT(table(records, {}), Not(HasSubstr("after:")));
}

TEST(RecordTable, ShowsTheRequestedKindOfMfu) {
  std::vector<Record> records = two_dtypes();
  for (Record& record : records) {
    record.flops.forward = 100;
    record.flops.attention = 40;
    record.flops.mfu_measured = 0.5;
  }
  EXPECT_THAT(table(records, {}), AllOf(HasSubstr("of peak "), HasSubstr("50 %")));
  const TableStyle causal{.mfu = "mfu_causal"};
  EXPECT_THAT(table(records, causal), AllOf(HasSubstr("of peak (causal)"), HasSubstr("40 %"), Not(HasSubstr("50 %"))));
  JsonLines lines("default", RecordList(records), "mfu_causal");
  const Json row = Json::parse(lines.line(records[0]));
  EXPECT_NEAR(row["mfu_causal"].get<double>(), 0.4, 1e-12);
  EXPECT_FALSE(row.contains("mfu"));
  const auto csv_of = [&](std::string_view columns) {
    return text_from([&](const TextSink& sink) { csv(RecordList(records), columns, sink, "mfu_causal"); });
  };
  EXPECT_THAT(csv_of("default"), HasSubstr(",mfu_causal,"));
  EXPECT_THAT(csv_of("name,mfu"), StartsWith("name,mfu_causal"));
  records.resize(1);
  EXPECT_THAT(table(records, causal), HasSubstr("40 % of peak (causal)"));
  EXPECT_THAT(table(records, {.mfu = "mfu_6n"}), Not(HasSubstr("of peak")));  // the number of parameters is unknown
}

TEST(RecordTable, NoFormatEmitsControlCharacters) {
  const std::vector<Record> records = stored_records();
  for (const std::string& text :
       {table(records, {}), markdown(records), csv(records), csv(records, "all"), json(records)}) {
    for (const char c : text) EXPECT_TRUE(c == '\n' || c == '\r' || static_cast<unsigned char>(c) >= 0x20);
    EXPECT_THAT(text, Not(HasSubstr("\u202e")));
    EXPECT_THAT(text, Not(HasSubstr("\u009b")));
  }
}

TEST(RecordTable, AsciiTablesAreAscii) {
  for (const char c : table(stored_records(), {.unicode = false})) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F));
}

TEST(RecordTable, LinesFitTheTerminal) {
  for (const char* const columns : {"default", "all", "mean_std", "first_steps", "avg_std", "min_max",
                                    "forward_backward", "attention_memory", "default,speedup,mean"}) {
    for (const size_t width : {60U, 80U, 120U}) {
      EXPECT_THAT(widths(table(stored_records(), {.width = width}, columns)), Each(Le(width))) << columns << width;
      EXPECT_THAT(widths(streamed(two_dtypes(), {.width = width}, columns)), Each(Le(width))) << columns << width;
    }
  }
}

TEST(RecordTable, EmptyListPrintsNothing) { EXPECT_EQ(table({}, {}), ""); }

TEST(RecordTable, ShowsSpeedupIfRowsCanBeCompared) {
  for (const std::string& text : {table(two_dtypes(), {}), streamed(two_dtypes(), {})}) {
    EXPECT_THAT(text, HasSubstr("vs float32"));
    EXPECT_THAT(text, ContainsRegex("1\\.8[0-9]*x \\("));
    EXPECT_THAT(text, HasSubstr("fastest"));
  }
  std::vector<Record> swapped = two_dtypes();
  std::swap(swapped[0], swapped[1]);
  EXPECT_THAT(streamed(swapped, {}), AllOf(ContainsRegex("1\\.8[0-9]*x \\("), HasSubstr("fastest: bfloat16")));
  std::vector<Record> contexts = two_dtypes();
  contexts[1].config = contexts[0].config;
  contexts[1].config.json()["context_length"] = 512;
  EXPECT_THAT(table(contexts, {}), Not(HasSubstr("vs ")));
}

TEST(RecordTable, ComparesStoredRecordsWithRecordsOfTheRun) {
  std::vector<Record> records = two_dtypes();
  records[0].run = "an earlier run";
  for (const std::string& text : {streamed(records, {}), text_from([&](const TextSink& sink) {
                                    table(RecordList(records, /*are_of_one_command=*/true), {}, "default", sink);
                                  })}) {
    EXPECT_THAT(text, ContainsRegex("1\\.8[0-9]*x \\("));
    EXPECT_THAT(text, HasSubstr("fastest"));
  }
  EXPECT_THAT(table(records, {}), Not(HasSubstr("fastest")));
}

TEST(RecordTable, NamesNoFastestRowIfARowHasNoRatio) {
  std::vector<Record> records = two_dtypes();
  records.push_back(records[1]);
  records.back().fingerprint = "another machine";
  EXPECT_THAT(table(records, {}), Not(HasSubstr("fastest")));
}

TEST(RecordTable, RequestedRatioIsNeverDropped) {
  EXPECT_THAT(table(two_dtypes(), {.width = 60}, "default,speedup"), ContainsRegex("1\\.8[0-9]*x \\("));
}

TEST(RecordTable, SinglePointPrintsItsTimeFirstInAFewLines) {
  std::vector<Record> records = two_dtypes();
  records.resize(1);
  const std::vector<std::string> lines = lines_in(streamed(records, {.width = 80}));
  EXPECT_LE(lines.size(), 6U);
  EXPECT_THAT(lines[0], StartsWith("1.33 s per step ("));
  EXPECT_THAT(lines[1], StartsWith("  forward 402 ms ("));
  EXPECT_THAT(streamed(records, {}), HasSubstr("small, ctx 256, float32, eager · Example, 2 threads"));
}

TEST(RecordTable, FailedPointStatesTheReason) {
  Record record = stored_records().front();
  record.status = Status::kOutOfMemory;
  record.reason = "needs 3 GiB";
  record.time.clear();
  EXPECT_THAT(table({&record, 1}, {}), StartsWith("out of memory: needs 3 GiB"));
  std::vector<Record> records = two_dtypes();
  records[1] = record;
  EXPECT_THAT(table(records, {}), HasSubstr("out_of_memory: needs 3 GiB"));
  EXPECT_THAT(table(records, {}, "dtype,median"), HasSubstr("out_of_memory: needs 3 GiB"));
}

TEST(RecordTable, InterruptedPointShowsTheTimesOfItsSamples) {
  std::vector<Record> records = two_dtypes();
  records[1].status = Status::kInterrupted;
  records[1].reason = "stopped by a signal";
  const std::string text = table(records, {}, "dtype,median,forward");
  EXPECT_THAT(text, ContainsRegex("201 ms +interrupted: stopped by a signal"));
}

TEST(RecordTable, OneLineWarnsAboutUnreliableTimes) {
  std::vector<Record> records = two_dtypes();
  for (Record& record : records) {
    record.verdict = {"stable", {}};
    record.time["step"] = make_time_stats(std::vector<double>(20, 1.5));
  }
  const auto warnings = [](const std::string& text) {
    std::vector<std::string> found;
    for (const std::string& line : lines_in(text)) {
      if (line.starts_with("!")) found.push_back(line);
    }
    return found;
  };
  EXPECT_EQ(warnings(table(records, {})).size(), 0U);
  records[0].verdict.lost = 0.702;
  ASSERT_EQ(warnings(table(records, {.width = 80})).size(), 1U);
  EXPECT_THAT(warnings(table(records, {}))[0], HasSubstr("70 %"));
  EXPECT_EQ(warnings(table(std::span(records).first(1), {})).size(), 1U);
  records[0].verdict.lost = 0;
  records[0].time["step"] = make_time_stats(std::vector<double>{1.5, 1.6, 1.4, 1.5});
  ASSERT_EQ(warnings(table(records, {})).size(), 1U);
  EXPECT_THAT(warnings(table(records, {}))[0], HasSubstr("4 samples"));
  EXPECT_EQ(warnings(table(records, {.quiet = true})).size(), 0U);
}

TEST(RecordTable, QuietPrintsRowsOnly) {
  EXPECT_EQ(lines_in(table(two_dtypes(), {.quiet = true})).size(), 2U);
  EXPECT_EQ(lines_in(table(two_dtypes(), {.quiet = true}, "name,median")).size(), 2U);
}

TEST(RecordTable, VerboseExplainsTheTimes) {
  Record record = stored_records().front();
  record.verdict = {"untested", {"4 steps are too few"}};
  const auto text = [&](bool verbose) { return table({&record, 1}, {.verbose = verbose}); };
  EXPECT_THAT(text(true), HasSubstr("set-up 2.229 s (plan 12.10 ms"));
  EXPECT_THAT(text(true), HasSubstr("first step 769.9 ms longer"));
  EXPECT_THAT(text(true), HasSubstr("untested: 4 steps are too few"));
  EXPECT_THAT(text(true), HasSubstr("2025-11-21 10:15 UTC"));
  EXPECT_THAT(text(false), Not(AnyOf(HasSubstr("set-up"), HasSubstr("first step"), HasSubstr("too few"))));
}

TEST(RecordTable, MarksPredictions) {
  std::vector<Record> records = stored_records();
  records.resize(5);
  records.erase(records.begin() + 1, records.begin() + 4);
  ASSERT_TRUE(is_predicted(records[1]));
  for (const char* const columns : {"default", "all", "mean_std", "forward_backward", "name,peak", "dtype,median"}) {
    EXPECT_THAT(table(records, {}, columns), ContainsRegex("roofline:H200.*predicted\n")) << columns;
    EXPECT_THAT(markdown(records, columns), ContainsRegex("roofline:H200.*\\| predicted \\|\n")) << columns;
  }
  const std::string alone = table(std::span(records).last(1), {});
  EXPECT_THAT(alone, HasSubstr("predicted for roofline:H200"));
  EXPECT_THAT(alone, Not(HasSubstr("±")));
  for (const char* const column : {"std", "mad", "ci_low", "ci_high", "noise", "p90", "count", "n"}) {
    EXPECT_TRUE(value_of(records[1], column).is_null()) << column;
    EXPECT_FALSE(value_of(records[0], column).is_null()) << column;
  }
}

TEST(RecordTable, AddsNamesToRowsWithEqualSettings) {
  std::vector<Record> records = two_dtypes();
  records[1].config = records[0].config;
  EXPECT_THAT(table(records, {}, "model,median"), HasSubstr("bfloat16 "));
  records.resize(1);
  EXPECT_THAT(table(records, {}, "model,median"), Not(HasSubstr("float32 ")));
}

TEST(RecordTable, ManyRowsKeepTheirPhases) {
  std::vector<Record> records;
  for (size_t i = 0; i <= kFewRecords; ++i) {
    records.push_back(stored_records().front());
    records.back().name += "/seed:" + std::to_string(i);
  }
  EXPECT_THAT(table(records, {}, "mean_std"), HasSubstr("backward"));
}

TEST(Markdown, NamesTheFastestRow) { EXPECT_THAT(markdown(two_dtypes()), HasSubstr("fastest: bfloat16, ")); }

TEST(Markdown, MarksRowsFromTheStore) {
  std::vector<Record> records = two_dtypes();
  records[1].run = "earlier";
  const std::set<std::string> stored{"earlier"};
  const std::string text = text_from(
      [&](const TextSink& sink) { markdown(RecordList(records), {.stored_runs = &stored}, "default", sink); });
  EXPECT_THAT(text, ContainsRegex("bfloat16.*\\| from the store \\|\n"));
  EXPECT_THAT(text, Not(ContainsRegex("float32 [^\n]*from the store")));
}

std::vector<Record> attention_records() {
  std::vector<Record> records;
  for (const int context : {64, 128}) {
    for (const char* const mode : {"eager", "compile"}) {
      Record record = stored_records().front();
      record.name = std::string("forward_backward/model:attention/ctx:") + std::to_string(context) + "/mode:" + mode;
      Json& config = record.config.json();
      config["model"] = "attention";
      config["mode"] = mode;
      config["context_length"] = context;
      config["pass"] = "forward_backward";
      const double factor = std::string(mode) == "eager" ? 2.5 : 1;
      record.time.clear();
      for (const char* const phase : {"forward", "backward", "forward_backward"})
        record.time[phase] = make_time_stats(std::vector<double>(10, factor * context * 1e-6));
      records.push_back(std::move(record));
    }
  }
  return records;
}

TEST(AttentionTable, ShowsModesSideBySideForEachSize) {
  for (const std::string& text : {table(attention_records(), {.width = 100}, "attention"),
                                  streamed(attention_records(), {.width = 100}, "attention")}) {
    const std::vector<std::string> lines = lines_in(text);
    EXPECT_THAT(text, ContainsRegex("64 +160 us +160 us +64.0 us +64.0 us +2\\.5"));
    EXPECT_THAT(text, ContainsRegex("128 +320 us +320 us +128 us +128 us +2\\.5"));
    EXPECT_LE(lines.size(), 6U);
  }
  EXPECT_THAT(widths(table(attention_records(), {.width = 80}, "attention")), Each(Le(80U)));
}

TEST(AttentionTable, ShowsSizesThatDoNotFit) {
  std::vector<Record> records = attention_records();
  records[2].status = Status::kOutOfMemory;
  records[2].time.clear();
  EXPECT_THAT(table(records, {}, "attention"), ContainsRegex("128 +does not fit"));
}

TEST(AttentionTable, ShowsTheTimeOfInference) {
  std::vector<Record> records = attention_records();
  for (Record& record : records) {
    record.config.json()["pass"] = "inference";
    record.time = {{"inference", record.time["forward"]}};
  }
  const std::string text = table(records, {.width = 100}, "attention");
  EXPECT_THAT(text, ContainsRegex("64 +160 us +64.0 us +2\\.5"));
  EXPECT_THAT(text, Not(HasSubstr("eager forward")));
}

TEST(AttentionTable, PrintsEachReasonOnce) {
  std::vector<Record> records = attention_records();
  for (const size_t i : {0U, 2U}) {
    records[i].status = Status::kUnsupported;
    records[i].reason = "needs another mode";
    records[i].time.clear();
  }
  const std::vector<std::string> lines = lines_in(table(records, {.width = 100}, "attention"));
  EXPECT_EQ(std::ranges::count(lines, "unsupported: needs another mode"), 1);
}

TEST(AttentionTable, CompileModeThatLowersAttentionIsLabelledLowered) {
  std::vector<Record> records = attention_records();
  for (const size_t i : {1U, 3U}) records[i].config.json()["keep"] = "rms_norm";
  EXPECT_THAT(table(records, {.width = 100}, "attention"), HasSubstr("lowered"));
  for (const size_t i : {1U, 3U}) records[i].config.json()["keep"] = "scaled_dot_product_attention";
  EXPECT_THAT(table(records, {.width = 100}, "attention"), Not(HasSubstr("lowered")));
  for (Record& record : records) record.config.json()["keep"] = nullptr;
  EXPECT_THAT(table(records, {.width = 100}, "attention"), Not(HasSubstr("lowered")));
}

TEST(AttentionTable, ShowsMemoryBeforeBackwardOnlyForASingleMode) {
  std::vector<Record> records = attention_records();
  for (Record& record : records) record.memory.after_forward_bytes = int64_t{3} << 20U;
  EXPECT_THAT(table(records, {}, "attention"), Not(HasSubstr("3.00 MiB")));
  const std::vector<Record> eager{records[0], records[2]};
  const std::string text = table(eager, {.width = 80}, "attention");
  EXPECT_THAT(text, ContainsRegex("64 +160 us +160 us +3.00 MiB"));
  EXPECT_THAT(widths(text), Each(Le(80U)));
}

TEST(AttentionTable, ShowsTheGainOfCompileModeInAnyOrder) {
  std::vector<Record> records = attention_records();
  std::swap(records[0], records[1]);
  EXPECT_THAT(table(records, {.width = 100}, "attention"), ContainsRegex("160 us +2\\.50"));
}

TEST(AttentionTable, DoesNotCompareDevices) {
  std::vector<Record> records = attention_records();
  records[0].config.json()["device"] = "roofline:a100";
  EXPECT_THAT(table(records, {}, "attention"), Not(HasSubstr("gain")));
}

TEST(AttentionTable, PointsThatDifferInMoreThanSizeHaveSeparateRows) {
  std::vector<Record> records = attention_records();
  records[1] = records[0];
  records[1].name += "/warmup:3";
  EXPECT_THAT(table(records, {}, "attention"), HasSubstr("context"));
}

// A record of this program, and a record of the same steps run by another program.
std::vector<Record> two_records() {
  std::vector<Record> records = stored_records();
  records.resize(1);
  Record other = records.front();
  other.name += "/system:jax";
  other.config.json()["system"] = "jax";
  other.binary = {"jax 0.10.2", "", "", ""};
  other.math_mode = "";
  other.kernels.clear();
  records.push_back(other);
  return records;
}

TEST(OtherSystem, IsNamedInEveryTable) {
  const std::vector<Record> records = two_records();
  for (const char* const columns : {"default", "all", "attention", "2024", "mean_std", "2025c", "forward_backward",
                                    "attention_memory", "tokens/s,mfu", "name,median", "status", "system"}) {
    EXPECT_THAT(table(records, {}, columns), HasSubstr("jax")) << columns;
    EXPECT_THAT(markdown(records, columns), HasSubstr("jax")) << columns;
    EXPECT_THAT(table(std::span(records).first(1), {}, columns), Not(HasSubstr("jax"))) << columns;
  }
  EXPECT_THAT(table(records, {}, "dtype,median"), HasSubstr("system jax"));  // the rows differ only in their system
  EXPECT_THAT(table(std::span(records).last(1), {.verbose = true}), HasSubstr("jax 0.10.2"));
}

TEST(OtherSystem, IsNamedInJsonlAndCsv) {
  const std::vector<Record> records = two_records();
  JsonLines lines("default", RecordList(records));
  EXPECT_EQ(Json::parse(lines.line(records[0]))["system"], "laptime");
  EXPECT_EQ(Json::parse(lines.line(records[1]))["system"], "jax");
  EXPECT_THAT(csv(records, "system,median"), HasSubstr("jax,"));
  EXPECT_EQ(records_matching(Filter("system = jax"), records).size(), 1U);
  EXPECT_EQ(records_matching(Filter("system = laptime"), records).size(), 1U);
}

}  // namespace
}  // namespace laptime
