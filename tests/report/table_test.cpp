// What every table does, whatever records it shows.
#include "report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "record/metrics.h"
#include "report/columns.h"
#include "report/csv.h"
#include "report/filter.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/narrow.h"
#include "report/stored_records.h"
#include "table/text.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string column_error(const std::string& columns) {
  try {
    table(stored_records(), {}, columns);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Table, NoReportHasAControlByte) {
  const std::vector<Record> records = stored_records();
  for (const std::string& text :
       {table(records, {}), markdown(records), csv(records), csv(records, "all"), json(records)}) {
    for (const char c : text) EXPECT_TRUE(c == '\n' || c == '\r' || static_cast<unsigned char>(c) >= 0x20);
    EXPECT_THAT(text, Not(HasSubstr("\u202e")));
    EXPECT_THAT(text, Not(HasSubstr("\u009b")));
  }
}

TEST(Table, AnInterruptedPointShowsTheTimesOfItsSamples) {
  Record record = stored_records().front();
  ASSERT_EQ(record.status, Status::kOk);
  const std::string whole = table(std::vector<Record>{record}, {}, "median,forward");
  const std::string times = lines_in(whole).back();
  EXPECT_THAT(times, HasSubstr(" s"));
  record.status = Status::kInterrupted;
  record.reason = "stopped by a signal";
  EXPECT_THAT(table(std::vector<Record>{record}, {}, "median,forward"),
              testing::EndsWith(times + "\n  interrupted: stopped by a signal\n"));
}

TEST(Table, AsciiIsAscii) {
  for (const char c : table(stored_records(), {.unicode = false})) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F));
}

TEST(Table, FiguresStandUnderTheirTitles) {
  const std::vector<std::string> lines = lines_in(table(stored_records(), {.details = false}));
  const std::string header =
      *std::find_if(lines.begin(), lines.end(), [](const auto& l) { return l.starts_with("name"); });
  const size_t end = display_width(header.substr(0, header.find("median"))) + 6;
  size_t checked = 0;
  for (const std::string& line : lines) {
    const size_t at = line.find("1.334 s");
    if (at == std::string::npos) continue;
    EXPECT_EQ(display_width(line.substr(0, at)) + 7, end);
    ++checked;
  }
  EXPECT_EQ(checked, 1U);
}

TEST(Table, NarrowTerminalsHideColumnsAndSayWhich) {
  for (const size_t width : {60U, 80U, 100U, 120U, 150U, 200U}) {
    const std::string text = table(stored_records(), {.width = width, .details = false});
    for (const std::string& line : lines_in(text)) EXPECT_LE(display_width(line), width) << line;
    EXPECT_THAT(text, HasSubstr("median (95 % interval)"));
    const bool all = width >= 150;
    EXPECT_EQ(text.find("hidden for want of width: ") == std::string::npos, all) << width;
  }
  const std::string at_80 = table(stored_records(), {.width = 80, .details = false});
  EXPECT_THAT(at_80, HasSubstr("hidden for want of width: loss, arithmetic (laptime show --last --columns all)\n"));
}

TEST(Table, ColumnsThatWereAskedForAreNeverHidden) {
  const char* const asked = "default,speedup,mean,min,max,time.step.p90,machine.cpu_model,config.optimizer,peak_rss";
  const std::string text = table(stored_records(), {.width = 80, .details = false}, asked);
  for (const std::string& line : lines_in(text)) EXPECT_LE(display_width(line), 80U) << line;
  for (const char* const title : {"speedup vs float32", "mean", "min", "max", "time.step.p90", "machine.cpu_model",
                                  "config.optimizer", "peak_rss"}) {
    EXPECT_THAT(text, HasSubstr(title));
  }
  EXPECT_THAT(text, HasSubstr("1.364 s ± 66.31 ms"));
  EXPECT_THAT(text, HasSubstr("Example CPU @ 2.0 GHz"));
  const std::string plain = table(stored_records(), {.width = 80, .details = false}, "avg_std");
  EXPECT_THAT(plain, HasSubstr("forward_only"));
  EXPECT_THAT(plain, HasSubstr("benchmark_steps"));
}

// Where a row would go on over many lines, each column of a record has a line of its own, and none is hidden.
TEST(Table, ManyColumnsAreALineEach) {
  const std::vector<Record> records = stored_records();
  const Baselines baselines;
  const std::vector<Column> columns = columns_of("all", baselines, RecordList(records));
  const std::string text = table(records, {.width = 80}, "all");
  for (const std::string& line : lines_in(text)) EXPECT_LE(display_width(line), 80U) << line;
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(text, Not(HasSubstr("\n\n\n")));
  const std::vector<std::string> lines = lines_in(text);
  const auto value_of = [&](const std::string& title) {
    const std::string begin = "  " + title + "  ";
    const auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& one) { return one.starts_with(begin); });
    if (line == lines.end()) return std::string("no such line");
    return line->substr(std::min(line->find_first_not_of(' ', begin.size()), line->size()));
  };
  for (const Column& column : columns) {
    if (column.title == "name") continue;
    EXPECT_EQ(value_of(column.header()), column.cell(Row(records[0]), "")) << column.title;
  }
  EXPECT_THAT(text, HasSubstr("\n  forward\n    median (95 % interval)  402.1 ms (401.9 .. 403.2)\n"));
  EXPECT_THAT(text, HasSubstr("  out_of_memory: "));
  EXPECT_THAT(text, HasSubstr("\n  noisy: "));

  TableStream stream({.width = 80}, "all", records);
  std::string streamed;
  for (const Record& record : records) streamed += stream.add(record);
  EXPECT_EQ(streamed + stream.end(), text);

  const std::vector<std::string> wide = lines_in(table(records, {.width = 200}, "all"));
  const auto has_titles = [](const std::string& line) {
    return line.find("median") != std::string::npos && line.find("mean") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(wide.begin(), wide.end(), has_titles)) << "a wide terminal has room for a table";
}

TEST(Table, WhatAllRowsShareStandsAboveThem) {
  const std::vector<Record> records = stored_records();
  const std::string two = table(std::span(records).first(2), {.details = false});
  EXPECT_THAT(two, StartsWith("Example CPU @ 2.0 GHz"));
  EXPECT_THAT(two, HasSubstr("2025-11-21 10:15 UTC"));
  EXPECT_THAT(two, HasSubstr("every row: step, small, ctx:256, eager\n"));
  EXPECT_THAT(two, HasSubstr("\nfloat32 "));
  EXPECT_THAT(two, HasSubstr("\nbfloat16 "));
  EXPECT_THAT(two, Not(HasSubstr("dtype:")));
  const std::string one = table(std::span(records).first(1), {});
  EXPECT_THAT(one, HasSubstr("point: small, ctx:256, float32, eager\n"));
  EXPECT_THAT(one, HasSubstr("\nstep "));
  EXPECT_THAT(one, HasSubstr("\n  forward "));
}

TEST(Table, ALongNameLeavesFiguresWhereTheyAre) {
  std::vector<Record> records = stored_records();
  records.resize(2);
  records[0].label = std::string(200, 'x');
  const std::string text = table(records, {.width = 120, .details = false});
  EXPECT_THAT(text, HasSubstr(records[0].label + "\n"));
  for (const std::string& line : lines_in(text)) {
    if (line[0] == 'x') continue;
    EXPECT_LE(display_width(line), 120U) << line;
  }
}

TEST(Table, NotesStandWhereTheyMatter) {
  Record record = stored_records().front();
  const auto text = [&](bool verbose) { return table({&record, 1}, {.verbose = verbose}); };
  EXPECT_THAT(text(false), HasSubstr("first step 769.9 ms longer; why: page faults 691.2 ms, not known for 78.70 ms"));
  EXPECT_THAT(text(false), Not(HasSubstr("set-up")));
  EXPECT_THAT(text(true), HasSubstr("set-up 2.229 s (plan 12.10 ms"));
  record.transient.excess = 0;
  record.transient.page_faults = 0;
  record.transient.rest = 0;
  EXPECT_THAT(text(false), Not(HasSubstr("first steps")));
  EXPECT_THAT(text(true), HasSubstr("first steps: none longer than later ones\n"));
  record.setup.total = 300;
  EXPECT_THAT(text(false), HasSubstr("set-up 300.0 s"));
}

TEST(Table, AReasonOfSeveralRowsStandsOnceAndIsCounted) {
  std::vector<Record> records(4, stored_records().front());
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].name += "/seed:" + std::to_string(i);
    records[i].verdict = {"untested", {"4 steps are too few"}};
  }
  records[1].verdict.reasons.emplace_back("two modes");
  const auto count = [](const std::string& text, std::string_view part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  const std::string text = table(records, {});
  EXPECT_EQ(count(text, "  untested: 4 steps are too few"), 1U) << text;
  EXPECT_THAT(text, HasSubstr("\n4 rows: 4 steps are too few\n"));
  EXPECT_THAT(text, HasSubstr("  untested: two modes; more below the table\n"));
  EXPECT_THAT(text, Not(HasSubstr("rows: two modes")));
  EXPECT_EQ(count(table(records, {.verbose = true}), "untested: 4 steps are too few"), 4U);
  EXPECT_THAT(table(records, {.verbose = true}), Not(HasSubstr("4 rows:")));
}

TEST(Table, AVerdictHasItsReasonsInEverySetThatShowsIt) {
  Record record = stored_records().front();
  record.verdict = {"untested", {"4 steps are too few to test for a steady state (it takes 10)"}};
  for (const char* const columns : {"default", "all", "attention", "prediction"}) {
    for (const size_t width : {0U, 80U}) {
      EXPECT_THAT(table(std::span(&record, 1), {.width = width}, columns), HasSubstr("untested: 4 steps are too few"))
          << columns << " " << width;
    }
  }
  EXPECT_THAT(table(std::span(&record, 1), {}, "name,verdict"), Not(HasSubstr("4 steps are")));
}

TEST(Table, APredictionIsMarkedInEveryTable) {
  std::vector<Record> records = stored_records();
  records.resize(5);
  records.erase(records.begin() + 1, records.begin() + 4);
  ASSERT_TRUE(is_predicted(records[1]));
  const auto row_of = [&](const std::string& text) {
    for (const std::string& line : lines_in(text)) {
      if (line.find("(predicted)") != std::string::npos) return line;
    }
    return std::string();
  };
  for (const char* const columns : {"default", "all", "attention", "2024", "mean_std", "avg_std", "2025c",
                                    "forward_backward", "tokens/s,mfu", "name,median", "name,peak", "status"}) {
    for (const std::string& text : {table(records, {}, columns), markdown(records, columns)}) {
      const std::string row = row_of(text);
      EXPECT_NE(row, "") << columns << "\n" << text;
      EXPECT_THAT(row, Not(HasSubstr("±")));
      EXPECT_THAT(row, Not(HasSubstr("stable")));
    }
  }
  EXPECT_THAT(table(records, {}), HasSubstr("roofline:H200\n"));  // the other row is of another device
  EXPECT_THAT(table(std::span(records).last(1), {}), StartsWith("predicted for roofline:H200, not measured, laptime "));
  EXPECT_THAT(table(records, {}, "dtype,median"), HasSubstr("roofline:H200 (predicted)"));
  EXPECT_THAT(table(std::span(records).last(1), {}), Not(HasSubstr("verdict")));
  EXPECT_THAT(table(std::span(records).last(1), {}), Not(HasSubstr("interval")));
  for (const char* const column : {"std", "mad", "ci_low", "ci_high", "noise", "p90", "count", "n"}) {
    EXPECT_TRUE(Row(records[1]).value(column).is_null()) << column;
    EXPECT_FALSE(Row(records[0]).value(column).is_null()) << column;
  }
}

TEST(Markdown, HasOneUnitInEachColumn) {
  const std::string text = markdown(stored_records(), "name,median,peak,setup_time");
  EXPECT_THAT(text, HasSubstr("| name | median (95 % interval), ms | peak, GiB | setup_time, s |"));
  EXPECT_THAT(text, HasSubstr("| 1334 (1334 .. 1339) | 3.737 | 2.229 |"));
  EXPECT_THAT(text, HasSubstr("| 14.30 (predicted) | 13.22 |"));
}

// Every header that a table prints can be typed as a column, a sort key and a column of a filter.
TEST(Columns, HeadersAreNames) {
  const std::vector<Record> records = stored_records();
  const RecordList list(records);
  Baselines baselines;
  for (const ColumnSet& set : column_sets()) {
    std::vector<Column> columns = columns_of(set.name, baselines, list);
    columns.push_back(columns_of("speedup", baselines, list)[0]);
    plan_baselines(columns, list, baselines);
    for (const Column& column : columns) {
      for (const std::string& header : {column.title, column.header()}) {
        if (header.find(',') != std::string::npos) continue;
        EXPECT_EQ(columns_of(header, baselines, list).size(), 1U) << header;
        EXPECT_NO_THROW(sort_records(records, header + ":desc")) << header;
        EXPECT_NO_THROW(Filter(fmt::format("'{}' != null", header)).apply(records)) << header;
      }
    }
  }
  for (const NarrowColumn& narrow : narrow_columns()) {
    EXPECT_NO_THROW(columns_of(narrow.header, baselines, list)) << narrow.header;
    EXPECT_NO_THROW(sort_records(records, narrow.header)) << narrow.header;
    EXPECT_EQ(Row(records[0]).value(narrow.header), Row(records[0]).value(narrow.column)) << narrow.header;
  }
}

TEST(Columns, OneThatIsNamedTwiceIsShownOnce) {
  const std::vector<Record> records = stored_records();
  const RecordList list(records);
  const Baselines baselines(records);
  const auto titles = [&](const char* columns) {
    std::vector<std::string> all;
    for (const Column& column : columns_of(columns, baselines, list)) all.push_back(column.title);
    return all;
  };
  EXPECT_EQ(titles("mean_std,min,max"), titles("mean_std"));
  EXPECT_EQ(titles("speedup,median,speedup"), (std::vector<std::string>{"speedup", "median"}));
  EXPECT_EQ(titles("std,std_population").size(), 2U);  // divided by another number
  for (const ColumnSet& set : column_sets()) {
    const std::string list_of_set(set.name);
    EXPECT_EQ(titles(list_of_set.c_str()).size(), set.columns().size()) << set.name;
  }
}

TEST(Columns, UsersWordsAreUnderstood) {
  const std::vector<Record> records = stored_records();
  const Row row(records[0]);
  for (const char* const word : {"ctx", "context", "context-length", "context_length", "seq-len", "seq_len", "n_ctx"}) {
    EXPECT_EQ(row.value(word), 256) << word;
  }
  EXPECT_EQ(row.value("heads"), row.value("num_heads"));
  EXPECT_EQ(row.value("batch-size"), row.value("config.batch_size"));
  EXPECT_EQ(Filter("dtype = bf16").apply(records).size(), Filter("dtype = bfloat16").apply(records).size());
  EXPECT_EQ(Filter("dtype = bf16").apply(records).size(), 2U);
  EXPECT_EQ(Filter("dtype != fp32 and seq_len = 256").apply(records).size(), 2U);
  EXPECT_EQ(Filter("tokens/s > 1000 and peak > 1GiB").apply(records).size(), 2U);
  EXPECT_EQ(Filter("predicted = true").apply(records).size(), 1U);
  EXPECT_EQ(Filter("speedup > 1.5").apply(records).size(), 1U);
  EXPECT_EQ(sort_records(records, "speedup:desc")[0].config.text("dtype"), "bfloat16");
}

TEST(Table, StreamAndTableSayTheSame) {
  const std::vector<Record> records = stored_records();
  TableStream stream({}, "default", records);
  std::string streamed;
  for (const Record& record : records) streamed += stream.add(record);
  streamed += stream.end();
  const auto words = [](const std::string& text) {
    std::istringstream in(text);
    std::string joined;
    for (std::string word; in >> word;) joined += word.find("─") == std::string::npos ? word + " " : "";
    return joined;
  };
  EXPECT_EQ(words(streamed), words(table(records, {})));
}

TEST(Table, NothingIsNoTable) { EXPECT_EQ(table({}, {}), ""); }

TEST(Columns, AnyColumnCanBeAsked) {
  const std::string text = table(stored_records(), {}, "model,time.step.median,memory.peak_bytes,noise,flops.forward");
  EXPECT_THAT(text, HasSubstr("1.334 s"));
  EXPECT_THAT(text, HasSubstr("3.737 GiB"));
  EXPECT_THAT(text, HasSubstr("257.3 GFLOP"));
}

TEST(Columns, UnitsAreThoseThatTheRecordStates) {
  const std::pair<const char*, Unit> units[] = {{"median", Unit::kSeconds},
                                                {"time.step.p90", Unit::kSeconds},
                                                {"time.step.samples.1", Unit::kSeconds},
                                                {"time.step.modes.0.min", Unit::kSeconds},
                                                {"time.step.modes.0.count", Unit::kNone},
                                                {"time.step.outliers.0", Unit::kNone},
                                                {"transient.steps", Unit::kNone},
                                                {"phases.0.share", Unit::kFraction},
                                                {"peak_bytes", Unit::kBytes},
                                                {"memory.parts.activation", Unit::kBytes},
                                                {"flops.peak_measured", Unit::kFlopsPerSecond},
                                                {"machine.l2_bytes", Unit::kBytes},
                                                {"machine.during.stolen_seconds", Unit::kSeconds},
                                                {"config.spare_bytes", Unit::kNone}};
  for (const auto& [column, unit] : units) EXPECT_EQ(unit_of(column), unit) << column;
}

TEST(Columns, UnknownOnesNameTheNearest) {
  EXPECT_THAT(column_error("defualt"), HasSubstr("did you mean 'default'?"));
  EXPECT_THAT(column_error("2025x"), HasSubstr("did you mean '2025a'?"));
  EXPECT_THAT(column_error("mean-std"), HasSubstr("did you mean 'mean_std'?"));
  EXPECT_THAT(column_error("model,medain"), HasSubstr("did you mean 'median'?"));
  EXPECT_THAT(column_error(""), HasSubstr("unknown column ''"));
  EXPECT_THROW(TableStream({}, "nothing", stored_records()), Error);
}

TEST(Columns, StandardDeviationIsThatOfTheDocument) {
  const Record record = stored_records().front();
  const TimeStats& step = record.time.at("step");
  const RecordList records(std::span(&record, 1));
  const Baselines baselines;
  const auto value = [&](const char* preset, const char* title) {
    for (const Column& column : columns_of(preset, baselines, records)) {
      if (column.title == title) return column.read(Row(record), "");
    }
    return Json("no such column");
  };
  EXPECT_EQ(value("2024", "std_dev"), *step.std_population);
  EXPECT_EQ(value("2025a", "std"), *step.std_population);
  EXPECT_EQ(value("2025b", "std"), *step.std_population);
  EXPECT_EQ(value("2025c", "Std (s)"), *step.std_population);
  EXPECT_EQ(value("2025d", "fwd std (sec)"), *record.time.at("forward").std);
}

TEST(Columns, DocumentsHaveTheirNamesInTheirOrder) {
  const std::pair<const char*, const char*> cases[] = {
      {"2024", "name,computation,times,mean_time,median_time,std_dev,min_time,max_time,total_time,profile_steps"},
      {"2025a", "model,forward_only,warmup_steps,benchmark_steps,avg,std"},
      {"2025b", "model,forward_only,warmup_steps,benchmark_steps,avg,std"},
      {"2025c", "Model,Pass,Warmup,Min (s),Max (s),Avg (s),Std (s)"},
      {"2025d",
       "model,context_length,fwd avg (sec),fwd std (sec),back avg (sec),back std (sec),fws & back avg (sec),fws & back "
       "std "
       "(sec),status,dtype,device,batch_size,compile,profile_memory"},
      {"2025d_attention",
       "context_length,d_model,fwd avg (sec),fwd std (sec),back avg (sec),back std (sec),fws & back avg (sec),fws & "
       "back std (sec),model mem,model+fwd mem,model+fwd+back mem,fwd mem,back mem,status,dtype,device,batch_size,"
       "compile"}};
  for (const auto& [preset, header] : cases)
    EXPECT_EQ(lines_in(csv({}, preset))[0], std::string(header) + "\r") << preset;
}

TEST(Columns, DocumentsThatStateNoUnitHaveItInTheirCells) {
  Record record = stored_records().front();
  record.memory.resident_bytes = int64_t{3} << 30;
  const auto text = [&](const char* columns) { return table(std::span(&record, 1), {}, columns); };
  EXPECT_THAT(text("avg_std"), testing::ContainsRegex("1\\.364 s +59\\.31 ms"));
  EXPECT_THAT(text("all_times"), HasSubstr("1.334, 1.331, 1.339, 1.334, 1.483 s"));
  EXPECT_THAT(text("all_times"), HasSubstr("6.821 s"));
  EXPECT_THAT(text("attention_memory"), HasSubstr("3.000 GiB"));
}

TEST(Columns, MeanAndDeviationComeWithPhasesAndVerdicts) {
  std::vector<Record> records = stored_records();
  records.resize(1);
  const TimeStats& step = records[0].time.at("step");
  const std::string text = table(records, {}, "mean_std");
  for (const char* const header : {"warmup", " n ", "mean", "std", "min", "max", "verdict"})
    EXPECT_THAT(text, HasSubstr(header));
  EXPECT_THAT(text, testing::ContainsRegex("\n  forward +[0-9]+ +[0-9.]+ ms +[0-9.]+ [mu]s"));
  EXPECT_THAT(text, HasSubstr(records[0].verdict.rating));
  EXPECT_THAT(text,
              testing::ContainsRegex(
                  "1\\.364 s +66\\.31 ms"));  // the standard deviation is divided by n - 1 and has a column of its own
  EXPECT_THAT(text, HasSubstr("standard deviation of the sample (divided by n - 1)"));
  EXPECT_THAT(table(records, {.width = 80}, "mean_std"), HasSubstr(records[0].verdict.rating));
  EXPECT_EQ(lines_in(csv(records, "mean_std"))[0], "name,warmup,n,mean,std,min,max,verdict\r");
  EXPECT_THAT(csv(records, "mean_std"), HasSubstr(fmt::format("{},{},", step.mean, *step.std)));
}

TEST(Columns, TablesOfDocumentsSayWhereVerdictsAre) {
  std::vector<Record> records = stored_records();
  records.resize(1);
  for (const char* const columns : {"avg_std", "min_max", "all_times", "forward_backward"}) {
    EXPECT_THAT(table(records, {}, columns), HasSubstr(": laptime show --last --columns mean_std\n")) << columns;
    EXPECT_THAT(table(records, {.store = "none"}, columns), Not(HasSubstr("laptime show"))) << columns;
    EXPECT_THAT(table(records, {}, std::string(columns) + ",verdict"), Not(HasSubstr("--columns mean_std"))) << columns;
  }
  EXPECT_THAT(table(records, {}, "mean_std"), Not(HasSubstr("--columns mean_std")));
}

TEST(Table, SaysWhichArithmeticRan) {
  const auto cell = [](const char* math_mode) {
    Record record = stored_records().front();
    record.math_mode = math_mode;
    const std::vector<std::string> lines = lines_in(markdown({&record, 1}));
    const std::string row = *std::find_if_not(lines.rbegin(), lines.rend(), [](const auto& l) {
      return l.find("emsp") != std::string::npos || !l.starts_with('|');
    });
    const size_t end = row.rfind(" |");
    return row.substr(row.rfind("| ", end - 1) + 2, end - row.rfind("| ", end - 1) - 2);
  };
  EXPECT_EQ(cell("float32"), "float32");
  EXPECT_EQ(cell("float32, predicted"), "float32");
  EXPECT_EQ(cell("bfloat16 autocast, float32 accumulation"), "bfloat16 autocast");
  EXPECT_EQ(cell("float32, products of three bfloat16 terms, denormals in products are zero"), "float32 split");
  EXPECT_EQ(cell("float32, some products of three bfloat16 terms"), "float32 partly split");
  EXPECT_EQ(cell("bfloat16 autocast, float32 accumulation, float32 products of three bfloat16 terms"),
            "bfloat16 autocast, float32 split");
}

}  // namespace
}  // namespace laptime
