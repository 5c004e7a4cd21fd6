// Properties of tables and files that hold for any records.
#include "report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "report/columns.h"
#include "report/csv.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/stored_records.h"
#include "report/text.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  for (const std::string& text : {table(records, {}), markdown(records), csv(records), json(records)}) {
    for (const char c : text) EXPECT_TRUE(c == '\n' || c == '\r' || static_cast<unsigned char>(c) >= 0x20);
    EXPECT_THAT(text, Not(HasSubstr("\u202e")));
    EXPECT_THAT(text, Not(HasSubstr("\u009b")));
  }
}

TEST(Table, AsciiIsAscii) {
  for (const char c : table(stored_records(), {.unicode = false})) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F));
}

TEST(Table, FiguresStandUnderTheirTitles) {
  const std::vector<std::string> lines = lines_in(table(stored_records(), {.details = false}));
  const size_t end = display_width(lines[0].substr(0, lines[0].find("median"))) + 6;
  size_t checked = 0;
  for (const std::string& line : lines) {
    const size_t at = line.find("1.334 s");
    if (at == std::string::npos) continue;
    EXPECT_EQ(display_width(line.substr(0, at)) + 7, end);
    ++checked;
  }
  EXPECT_EQ(checked, 1U);
}

TEST(Table, NarrowTerminalsLeaveOutColumns) {
  for (const size_t width : {90U, 100U, 120U, 150U, 200U}) {
    const TableStyle style{.width = width, .details = false};
    const std::vector<std::string> lines = lines_in(table(stored_records(), style));
    EXPECT_LE(display_width(lines[1]), width);
    EXPECT_THAT(lines[0], HasSubstr("median"));
  }
}

TEST(Table, StreamAndTableSayTheSame) {
  const std::vector<Record> records = stored_records();
  TableStream stream({}, "default", records);
  std::string streamed;
  for (const Record& record : records) streamed += stream.add(record);
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

double value_of(const std::optional<TimeRatio>& ratio) { return ratio ? ratio->value : -1; }

TEST(Speedup, ComparesWithFloat32EagerOfTheSamePoint) {
  std::vector<Record> records = stored_records();
  const Baselines baselines(records);
  EXPECT_NEAR(value_of(baselines.speedup(records[1], "")), 1.3343 / 0.7330, 1e-12);
  EXPECT_NEAR(value_of(baselines.speedup(records[1], "forward")), 0.4021 / 0.2011, 1e-12);
  EXPECT_EQ(value_of(baselines.speedup(records[0], "")), 1.0);
  EXPECT_FALSE(baselines.speedup(records[0], "")->interval);  // compared with itself
  EXPECT_FALSE(baselines.speedup(records[4], ""));            // no float32 eager point of this model
  EXPECT_FALSE(baselines.speedup(records[5], ""));            // not ok

  records[1].fingerprint = "another machine";
  EXPECT_FALSE(baselines.speedup(records[1], ""));
}

TEST(Speedup, HasNoBaselineOfAnotherRun) {
  std::vector<Record> records = stored_records();
  Record other = records[0];
  other.run = "another run";
  other.time["step"].median = 7.33;
  Baselines baselines(records);
  baselines.add(other);
  EXPECT_NEAR(value_of(baselines.speedup(records[1], "")), 1.3343 / 0.7330, 1e-12);
  records[1].run = other.run;
  EXPECT_NEAR(value_of(baselines.speedup(records[1], "")), 10.0, 1e-12);
  records[1].run = "a third run";
  EXPECT_FALSE(baselines.speedup(records[1], ""));
  EXPECT_EQ(columns_of("speedup", baselines, RecordList({}))[0].cell(Row(records[1]), ""), "-");
}

TEST(Speedup, ComparesWithTheNearestBaseline) {
  const std::vector<Record> stored = stored_records();
  const auto with_recompute = [&](size_t index, const char* recompute, double median) {
    Record record = stored[index];
    record.config.json()["recompute"] = recompute;
    record.time["step"].median = median;
    return record;
  };
  Baselines baselines;
  baselines.add(with_recompute(0, "none", 3));
  baselines.add(with_recompute(0, "block", 4));
  EXPECT_EQ(value_of(baselines.speedup(with_recompute(1, "none", 1), "")), 3);
  EXPECT_EQ(value_of(baselines.speedup(with_recompute(1, "block", 1), "")), 4);
}

TEST(Speedup, HasAnIntervalWhereSamplesAreEnough) {
  std::vector<Record> records = stored_records();
  records[0].time["step"] = make_time_stats(std::vector<double>{2.0, 2.1, 1.9, 2.0, 2.05, 1.95, 2.0});
  records[1].time["step"] = make_time_stats(std::vector<double>{1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 1.0});
  const Baselines baselines(records);
  const std::optional<TimeRatio> ratio = baselines.speedup(records[1], "");
  ASSERT_TRUE(ratio && ratio->interval);
  EXPECT_LT(ratio->interval->low, 2);
  EXPECT_GT(ratio->interval->high, 2);
  const std::vector<Column> columns = columns_of("speedup,speedup_low,speedup_high", baselines, RecordList({}));
  const Row row(records[1]);
  EXPECT_EQ(columns[0].cell(row, ""),
            fmt::format("2.00x ({:.2f} .. {:.2f})", ratio->interval->low, ratio->interval->high));
  EXPECT_EQ(columns[0].read(row, ""), Json(ratio->value));
  EXPECT_EQ(columns[1].read(row, ""), Json(ratio->interval->low));
  EXPECT_EQ(columns[2].read(row, ""), Json(ratio->interval->high));

  records[1].time["step"] = make_time_stats(std::vector<double>{1, 1, 1, 1, 1});
  EXPECT_EQ(columns[0].cell(Row(records[1]), ""), "2.00x");  // five samples have no interval
  EXPECT_TRUE(columns[1].read(Row(records[1]), "").is_null());
}

// Reads CSV as RFC 4180 says.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string& cell = rows.back().back();
    if (quoted) {
      if (text[i] != '"') {
        cell += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[++i];
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == ',') {
      rows.back().emplace_back();
    } else if (text.compare(i, 2, "\r\n") == 0) {
      rows.emplace_back(1);
      ++i;
    } else {
      cell += text[i];
    }
  }
  rows.pop_back();
  return rows;
}

TEST(Csv, HasOneCellPerColumnAndNoFormula) {
  const auto rows = read_csv(csv(stored_records()));
  ASSERT_EQ(rows.size(), 11U);
  for (const auto& row : rows) {
    EXPECT_EQ(row.size(), rows[0].size());
    for (const std::string& cell : row) {
      const bool formula = !cell.empty() && std::string("=+@|%").find(cell[0]) != std::string::npos;
      EXPECT_FALSE(formula) << cell;
    }
  }
}

TEST(Csv, NegativeNumbersStayNumbers) {
  Record record = stored_records().front();
  record.loss.values = {-1.5};
  record.machine = Json{{"offset", -2.5}, {"word", "-2.5"}};
  const auto rows = read_csv(csv(std::span(&record, 1)));
  const auto cell = [&](const std::string& name) {
    const auto found = std::find(rows[0].begin(), rows[0].end(), name);
    return found == rows[0].end() ? "no such column" : rows[1][static_cast<size_t>(found - rows[0].begin())];
  };
  EXPECT_EQ(cell("machine.offset"), "-2.5");
  EXPECT_EQ(cell("machine.word"), "'-2.5");
  EXPECT_EQ(cell("loss.values"), "[-1.5]");
  EXPECT_EQ(cell("kernels"), "no such column");
}

TEST(Table, SaysWhichArithmeticRan) {
  const auto cell = [](const char* math_mode) {
    Record record = stored_records().front();
    record.math_mode = math_mode;
    const std::string text = markdown({&record, 1});
    const std::string row = lines_in(text).at(2);
    const size_t end = row.rfind(" |");
    return row.substr(row.rfind("| ", end - 1) + 2, end - row.rfind("| ", end - 1) - 2);
  };
  EXPECT_EQ(cell("float32"), "float32");
  EXPECT_EQ(cell("float32, predicted"), "float32, predicted");
  EXPECT_EQ(cell("bfloat16 autocast, float32 accumulation"), "bfloat16 autocast");
  EXPECT_EQ(cell("float32, products of three bfloat16 terms, denormals in products are zero"), "float32 split");
  EXPECT_EQ(cell("float32, some products of three bfloat16 terms"), "float32 partly split");
  EXPECT_EQ(cell("bfloat16 autocast, float32 accumulation, float32 products of three bfloat16 terms"),
            "bfloat16 autocast, float32 split");
}

TEST(Json, IsReadBackAsItWas) {
  const std::vector<Record> records = stored_records();
  const Json array = Json::parse(json(records));
  ASSERT_EQ(array.size(), records.size());
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(record_from_json(array[i]), records[i]);
  for (const Record& record : records) {
    const std::string line = jsonl(record);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_EQ(parse_record(line), record);
  }
  EXPECT_EQ(Json::parse(json({})), Json::array());
}

}  // namespace
}  // namespace laptime
