// Column sets, columns by name, their list, and the order of rows.
#include "report/columns.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "config/option_table.h"
#include "config/run_config.h"
#include "report/filter.h"
#include "report/record_files.h"
#include "report/record_table.h"
#include "report/stored_records.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::HasSubstr;

std::string column_error(const std::string& columns) {
  return test::error_of([&] { table(stored_records(), {}, columns); });
}

// Every table header can be used as a column, as a sort key and in a filter.
TEST(Columns, AcceptEveryHeaderAsAName) {
  const std::vector<Record> records = stored_records();
  const RecordList list(records);
  for (const ColumnSet& set : column_sets()) {
    std::vector<Column> columns = columns_of(set.name, list);
    columns.push_back(columns_of("speedup", list)[0]);
    for (const Column& column : columns) {
      const std::string& header = column.title;
      if (header.find(',') != std::string::npos) continue;
      EXPECT_EQ(columns_of(header, list).size(), 1U) << header;
      EXPECT_NO_THROW(sort_records(records, header + ":desc")) << header;
      EXPECT_NO_THROW(records_matching(Filter(fmt::format("'{}' != null", header)), records)) << header;
    }
  }
  for (const Column& column : data_columns("default", list)) {
    EXPECT_NO_THROW(columns_of(column.title, list)) << column.title;
    EXPECT_NO_THROW(sort_records(records, column.title)) << column.title;
    EXPECT_EQ(value_of(records[0], column.title), column.read(records[0], "")) << column.title;
  }
}

TEST(Columns, RepeatedColumnsAppearOnce) {
  const std::vector<Record> records = stored_records();
  const RecordList list(records);
  const auto titles = [&](const char* columns) {
    std::vector<std::string> all;
    for (const Column& column : columns_of(columns, list)) all.push_back(column.title);
    return all;
  };
  EXPECT_EQ(titles("mean_std,min,max"), titles("mean_std"));
  EXPECT_EQ(titles("speedup,median,speedup"), (std::vector<std::string>{"speedup", "median"}));
  EXPECT_EQ(titles("std,std_population").size(), 2U);  // the divisor differs
  for (const ColumnSet& set : column_sets()) {
    const std::string list_of_set(set.name);
    EXPECT_EQ(titles(list_of_set.c_str()).size(), set.columns().size()) << set.name;
  }
}

TEST(Columns, AcceptSynonyms) {
  const std::vector<Record> records = stored_records();
  const Record& record = records[0];
  for (const char* const word : {"ctx", "context", "context-length", "context_length", "seq-len", "seq_len", "n_ctx"}) {
    EXPECT_EQ(value_of(record, word), 256) << word;
  }
  EXPECT_EQ(value_of(record, "heads"), value_of(record, "num_heads"));
  EXPECT_EQ(value_of(record, "batch-size"), value_of(record, "config.batch_size"));
  EXPECT_EQ(records_matching(Filter("dtype = bf16"), records).size(),
            records_matching(Filter("dtype = bfloat16"), records).size());
  EXPECT_EQ(records_matching(Filter("dtype = bf16"), records).size(), 2U);
  EXPECT_EQ(records_matching(Filter("dtype != fp32 and seq_len = 256"), records).size(), 2U);
  EXPECT_EQ(records_matching(Filter("tokens/s > 1000 and peak > 1GiB"), records).size(), 2U);
  EXPECT_EQ(records_matching(Filter("predicted = true"), records).size(), 1U);
  EXPECT_EQ(records_matching(Filter("speedup > 1.5"), records).size(), 1U);
  EXPECT_EQ(sort_records(records, "speedup:desc")[0].config.text("dtype"), "bfloat16");
}

TEST(Columns, ReadAnyPathOfARecord) {
  const std::string text = table(stored_records(), {}, "model,time.step.median,memory.peak_bytes,noise,flops.forward");
  EXPECT_THAT(text, HasSubstr("1.33 s"));
  EXPECT_THAT(text, HasSubstr("3.74 GiB"));
  EXPECT_THAT(text, HasSubstr("257 GFLOP"));
}

TEST(Columns, HaveTheUnitsOfTheSchema) {
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

TEST(Columns, ErrorNamesTheNearestColumn) {
  EXPECT_THAT(column_error("defualt"), HasSubstr("did you mean 'default'?"));
  EXPECT_THAT(column_error("2025x"), HasSubstr("did you mean '2025a'?"));
  EXPECT_THAT(column_error("mean-std"), HasSubstr("did you mean 'mean_std'?"));
  EXPECT_THAT(column_error("model,medain"), HasSubstr("did you mean 'median'?"));
  EXPECT_THAT(column_error(""), HasSubstr("unknown column ''"));
  EXPECT_THROW(TableStream({}, "nothing", RecordList(stored_records())), Error);
}

TEST(Columns, UseTheStandardDeviationOfTheSourceDocument) {
  const Record record = stored_records().front();
  const TimeStats& step = record.time.at("step");
  const RecordList records(std::span(&record, 1));
  const auto value = [&](const char* preset, const char* title) {
    for (const Column& column : columns_of(preset, records)) {
      if (column.title == title) return column.read(record, "");
    }
    return Json("no such column");
  };
  EXPECT_EQ(value("2024", "std_dev"), *step.std_population);
  EXPECT_EQ(value("2025a", "std"), *step.std_population);
  EXPECT_EQ(value("2025b", "std"), *step.std_population);
  EXPECT_EQ(value("2025c", "Std (s)"), *step.std_population);
  EXPECT_EQ(value("2025d", "fwd std (sec)"), *record.time.at("forward").std);
}

// The golden files contain the tables of the other documents.
TEST(Columns, KeepTheOrderOfTheSourceDocument) {
  const std::pair<const char*, const char*> cases[] = {
      {"2025b", "model,forward_only,warmup_steps,benchmark_steps,avg,std"},
      {"2025d_attention",
       "context_length,d_model,fwd avg (sec),fwd std (sec),back avg (sec),back std (sec),fws & back avg (sec),fws & "
       "back std (sec),model mem,model+fwd mem,model+fwd+back mem,fwd mem,back mem,status,dtype,device,batch_size,"
       "compile"}};
  for (const auto& [preset, header] : cases)
    EXPECT_EQ(lines_in(csv({}, preset))[0], std::string(header) + "\r") << preset;
}

TEST(Columns, MeanStdDividesBySamplesMinusOne) {
  std::vector<Record> records = stored_records();
  records.resize(1);
  const TimeStats& step = records[0].time.at("step");
  EXPECT_EQ(lines_in(csv(records, "mean_std"))[0], "name,warmup,n,mean,std,min,max,verdict\r");
  EXPECT_THAT(csv(records, "mean_std"), HasSubstr(fmt::format("{},{},", step.mean, *step.std)));
}

TEST(Columns, ModeNamesTheChosenComposites) {
  const auto mode_with = [](const char* key, const Json& value) {
    Record record = stored_records().front();
    record.config.json()["mode"] = "compile";
    record.config.json()[key] = value;
    return find_column_set("attention")->columns()[3].read(record, "");
  };
  EXPECT_EQ(mode_with("lower", nullptr), "compile");
  EXPECT_EQ(mode_with("lower", "rms_norm"), "compile -rms_norm");
  EXPECT_EQ(mode_with("keep", "rms_norm"), "compile keep rms_norm");
}

TEST(Columns, AbbreviateTheArithmetic) {
  const auto cell = [](const char* math_mode) {
    Record record = stored_records().front();
    record.math_mode = math_mode;
    return columns_of("arithmetic", RecordList({}))[0].read(record, "");
  };
  EXPECT_EQ(cell("float32"), "float32");
  EXPECT_EQ(cell("float32, predicted"), "float32");
  EXPECT_EQ(cell("bfloat16 autocast, float32 accumulation"), "bfloat16 autocast");
  EXPECT_EQ(cell("float32, products of three bfloat16 terms, denormals in products are zero"), "float32 split");
  EXPECT_EQ(cell("float32, some products of three bfloat16 terms"), "float32 partly split");
  EXPECT_EQ(cell("bfloat16 autocast, float32 accumulation, float32 products of three bfloat16 terms"),
            "bfloat16 autocast, float32 split");
}

Table made() {
  Table table{.name = "made", .columns = {text_of_rows("name", "Name"), {.key = "total_s", .title = "Time"}}};
  table.add({"b", 2});
  table.add({"a", nullptr});
  table.add({"c", 1});
  return table;
}

TEST(RowOrder, AcceptsKeysAndTitlesInAnyCase) {
  for (const char* column : {"total_s", "time", "Time:asc"})
    EXPECT_EQ(row_order(made(), column, false), (std::vector<size_t>{2, 0, 1})) << column;
  EXPECT_EQ(row_order(made(), "name:desc", false), (std::vector<size_t>{2, 0, 1}));
}

TEST(RowOrder, PutsRowsWithoutAValueLast) {
  EXPECT_EQ(row_order(made(), "time", true), (std::vector<size_t>{0, 2, 1}));
}

TEST(RowOrder, RejectsUnknownColumnAndDirection) {
  EXPECT_THROW(row_order(made(), "tmie", false), Error);
  EXPECT_THROW(row_order(made(), "time:up", false), Error);
}

TEST(ColumnWords, ListTheHeadersOfEverySet) {
  std::set<std::string> listed;
  for (const OptionRow& row : option_rows<RunConfig>())
    listed.emplace(row.option.flag);  // the names of options are columns, too
  for (const ColumnWord& word : column_words()) {
    listed.insert(word.name);
    EXPECT_FALSE(word.help.empty()) << word.name;
  }
  for (const ColumnSet& set : column_sets()) {
    for (const Column& column : set.columns())
      EXPECT_TRUE(listed.contains(column.title)) << column.title << " of " << set.name;
  }
  EXPECT_TRUE(listed.contains("peak"));
  EXPECT_TRUE(listed.contains("speedup"));
}

}  // namespace
}  // namespace laptime
