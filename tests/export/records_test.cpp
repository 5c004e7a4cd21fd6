// Export formats without traces: samples, tables, and omitted values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/json.h"
#include "export/formats.h"
#include "record/sample_record.h"
#include "small_trace.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<TracedRecord> two_contexts_and_a_failure() {
  Record longer = sample_record("step/model:small/ctx:512/dtype:float32/mode:eager");
  longer.config.json()["context_length"] = 512;
  Record failed = sample_record("failed");
  failed.status = Status::kOutOfMemory;
  return {{sample_record(), {}}, {longer, {}}, {failed, {}}};
}

TEST(Records, GoogleBenchmarkHasARowForEachSample) {
  const Json json = Json::parse(google_benchmark(two_contexts_and_a_failure(), {}));
  EXPECT_EQ(json["context"]["json_schema_version"], 1);
  ASSERT_EQ(json["benchmarks"].size(), 24U);  // two records x two times x six samples
  const Json& row = json["benchmarks"][6];
  EXPECT_EQ(row["name"], "step/model:small/ctx:256/dtype:float32/mode:eager");
  EXPECT_EQ(row["real_time"], 500'000);
  EXPECT_EQ(row["cpu_time"], row["real_time"]);
  EXPECT_EQ(row["repetitions"], 6);
  EXPECT_EQ(json["benchmarks"][0]["name"], "step/model:small/ctx:256/dtype:float32/mode:eager/phase:forward");
}

TEST(Records, GoogleBenchmarkRejectsRecordsOfTwoMachines) {
  std::vector<TracedRecord> records = two_contexts_and_a_failure();
  records[1].record.fingerprint = "another";
  EXPECT_THAT(test::error_of([&] { google_benchmark(records, {}); }), HasSubstr("fingerprint = '0123456789abcdef'"));
}

// A prediction for another machine. Its `machine` and `fingerprint` describe the one that computed the prediction.
Record predicted_record() {
  Record record = sample_record();
  record.verdict.rating = kPredicted;
  record.config.json()["device"] = "roofline:h100";
  record.machine.json()["cpu_model"] = "Example CPU";
  record.machine.json()["cores_allowed"] = 2;
  return record;
}

TEST(Records, GoogleBenchmarkNamesTheMachineOfAPrediction) {
  const std::vector<TracedRecord> records{{predicted_record(), {}}};
  const Json context = Json::parse(google_benchmark(records, {}))["context"];
  EXPECT_EQ(context["laptime_predicted_for"], "h100");
  EXPECT_EQ(context["cpu_model"], "");
  EXPECT_EQ(context["num_cpus"], 0);
  EXPECT_FALSE(context.contains("laptime_fingerprint"));
  const std::vector<TracedRecord> measured{{sample_record(), {}}};
  EXPECT_FALSE(Json::parse(google_benchmark(measured, {}))["context"].contains("laptime_predicted_for"));
}

TEST(Records, GoogleBenchmarkRejectsPredictionsAmongMeasurements) {
  const std::vector<TracedRecord> records{{predicted_record(), {}}, {sample_record(), {}}};
  EXPECT_THAT(test::error_of([&] { google_benchmark(records, {}); }), HasSubstr("device = 'roofline:h100'"));
  const std::vector<TracedRecord> reversed{records[1], records[0]};
  EXPECT_THAT(test::error_of([&] { google_benchmark(reversed, {}); }), HasSubstr("predicted = false"));
}

TEST(Records, GoogleBenchmarkSuggestsAFilterThatAShellAccepts) {
  std::vector<TracedRecord> records{{predicted_record(), {}}, {sample_record(), {}}};
  records[0].record.config.json()["device"] = "roofline:it's.toml";
  EXPECT_THAT(test::error_of([&] { google_benchmark(records, {}); }),
              HasSubstr(R"(filter "device = \"roofline:it's.toml\"")"));
}

TEST(Records, PredictionsHaveOneTimeWithoutASpread) {
  const std::vector<TracedRecord> records{{predicted_record(), {}}};
  const Json rows = Json::parse(google_benchmark(records, {}))["benchmarks"];
  ASSERT_EQ(rows.size(), 2U);  // the step and its forward phase
  EXPECT_EQ(rows[1]["repetitions"], 1);
  const Json result = Json::parse(hyperfine(records, {}))["results"][0];
  EXPECT_EQ(result["times"].dump(), "[0.51]");
  EXPECT_EQ(result["exit_codes"].size(), 1U);
  EXPECT_TRUE(result["stddev"].is_null());
  EXPECT_THAT(llama_bench(records, {}), Not(HasSubstr("±")));
}

TEST(Records, HyperfineMarksPredictions) {
  const std::vector<TracedRecord> records{{predicted_record(), {}}, {sample_record(), {}}};
  const Json results = Json::parse(hyperfine(records, {}))["results"];
  EXPECT_EQ(results[0]["command"], sample_record().name + "/predicted:h100");
  EXPECT_EQ(results[1]["command"], sample_record().name);
}

TEST(Records, HyperfineNamesTheParameterThatVaries) {
  const Json json = Json::parse(hyperfine(two_contexts_and_a_failure(), {}));
  ASSERT_EQ(json["results"].size(), 2U);
  EXPECT_EQ(json["results"][1]["parameters"].dump(), R"({"context_length":"512"})");
  EXPECT_EQ(json["results"][0]["times"].size(), 6U);
  EXPECT_EQ(json["results"][0]["median"], 0.51);
}

TEST(Records, HyperfineStatesTheCpuTimePerStep) {
  std::vector<TracedRecord> records{{sample_record(), {}}};
  records[0].record.machine.json()["during"] = {{"user_seconds", 6.0}, {"system_seconds", 0.6}};
  records[0].record.stopping.steps_per_sample = 2;
  const Json result = Json::parse(hyperfine(records, {}))["results"][0];
  EXPECT_DOUBLE_EQ(result["user"].get<double>(), 0.5);  // six samples of two steps each
  EXPECT_DOUBLE_EQ(result["system"].get<double>(), 0.05);
  const std::vector<TracedRecord> unknown{{sample_record(), {}}};
  EXPECT_EQ(Json::parse(hyperfine(unknown, {}))["results"][0]["user"], 0);
  records[0].record.verdict.rating = kPredicted;
  const Json predicted = Json::parse(hyperfine(records, {}))["results"][0];
  EXPECT_EQ(predicted["user"], 0);
  EXPECT_EQ(predicted["system"], 0);
}

// Records with the same name but different labels, builds or numbers of threads. Exports must not merge them.
std::vector<TracedRecord> records_of_one_name() {
  std::vector<TracedRecord> records(4, {sample_record(), {}});
  for (TracedRecord& traced : records) traced.record.config.json()["threads"] = 1;
  records[1].record.label = "other";
  records[2].record.binary.id = "0123";
  records[3].record.config.json()["threads"] = 2;
  return records;
}

TEST(Records, GoogleBenchmarkSeparatesDifferentMeasurements) {
  std::set<std::string> names;
  const Json json = Json::parse(google_benchmark(records_of_one_name(), {}));
  for (const Json& row : json["benchmarks"]) {
    if (row["name"].get<std::string>().find("phase:") == std::string::npos) names.insert(row["name"].text());
    EXPECT_EQ(row["repetitions"], 6);
  }
  EXPECT_EQ(names.size(), 4U);
  EXPECT_TRUE(names.contains(sample_record().name + "/label:small_step/build:fedcba9876543210/threads:2"));
}

TEST(Records, GoogleBenchmarkMergesRunsOfOnePointIntoRepetitions) {
  std::vector<TracedRecord> records(2, {sample_record(), {}});
  records[0].record.config.json()["budget"] = 5;
  const Json json = Json::parse(google_benchmark(records, {}));
  EXPECT_EQ(json["benchmarks"][0]["repetitions"], 12);
}

TEST(Records, GoogleBenchmarkRowsHaveTheFiguresOfTheirOwnRecord) {
  std::vector<TracedRecord> records(2, {sample_record(), {}});
  for (const int64_t i : {0, 1}) {
    records[static_cast<size_t>(i)].record.memory.peak_bytes = 1000 + i;
    records[static_cast<size_t>(i)].record.flops.mfu_measured = 0.5 + 0.125 * static_cast<double>(i);
  }
  const Json rows = Json::parse(google_benchmark(records, {}))["benchmarks"];
  const Json& first = rows[12];  // after the phase's rows
  const Json& last = rows[23];
  EXPECT_EQ(first["peak_memory"], 1000);
  EXPECT_EQ(first["mfu_measured"], 0.5);
  EXPECT_EQ(last["peak_memory"], 1001);
  EXPECT_EQ(last["mfu_measured"], 0.625);
}

TEST(Records, HyperfineSeparatesDifferentMeasurements) {
  std::set<std::string> commands;
  const Json json = Json::parse(hyperfine(records_of_one_name(), {}));
  for (const Json& result : json["results"]) commands.insert(result["command"].text());
  EXPECT_EQ(commands.size(), 4U);
  EXPECT_EQ(json["results"][3]["parameters"]["threads"], "2");
  EXPECT_EQ(json["results"][2]["parameters"]["build"], "0123");
}

TEST(Records, LlamaBenchSeparatesDifferentMeasurements) {
  std::set<std::string> rows;
  std::istringstream lines(llama_bench(records_of_one_name(), {}));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("| step ") != std::string::npos || line.find(" step |") != std::string::npos) rows.insert(line);
  }
  EXPECT_EQ(rows.size(), 4U);
}

// The model's cell in each row of a step.
std::vector<std::string> models_of(const std::vector<TracedRecord>& records) {
  std::vector<std::string> models;
  std::istringstream lines(llama_bench(records, {}));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" step |") == std::string::npos) continue;
    const std::string cell = line.substr(2, line.find(" |", 2) - 2);
    models.push_back(cell.substr(0, cell.find_last_not_of(' ') + 1));
  }
  return models;
}

// The table does not contain the names of records, so the model's cell states the options that differ.
TEST(Records, LlamaBenchModelNameIncludesDifferingOptionsThatHaveNoColumn) {
  std::vector<TracedRecord> records(3, {sample_record(), {}});
  records[0].record.config.json()["recompute"] = "none";
  records[1].record.config.json()["recompute"] = "block";
  records[1].record.name += "/recompute:block";
  records[2].record.config.json()["context_length"] = 512;
  records[2].record.name = "step/model:small/ctx:512/dtype:float32/mode:eager";
  EXPECT_THAT(models_of(records),
              testing::ElementsAre("small 2025 recompute:none", "small 2025 recompute:block", "small 2025"));
}

TEST(Records, LlamaBenchMarksPredictions) {
  EXPECT_THAT(models_of({{predicted_record(), {}}, {sample_record(), {}}}),
              testing::ElementsAre("small 2025 predicted:h100", "small 2025"));
}

TEST(Records, LlamaBenchHasARowForEachPass) {
  const std::string text = llama_bench(two_contexts_and_a_failure(), {});
  EXPECT_THAT(text, HasSubstr("| small 2025                     |   128.63 M |    256 |    4 |  float32 |    eager |"));
  EXPECT_THAT(text, HasSubstr("|             fwd |"));
  EXPECT_THAT(text, HasSubstr("|  75.0 % |"));
  EXPECT_THAT(text, Not(HasSubstr("failed")));
  EXPECT_THAT(text, HasSubstr("build: 3c201d2 (0.1.0)"));
}

TEST(Records, LlamaBenchCountsTheParametersOfAllRanks) {
  std::vector<TracedRecord> records = two_contexts_and_a_failure();
  for (TracedRecord& traced : records) {
    traced.record.flops.parameters = 128'625'408;
    traced.record.memory.parts["parameter"] /= 2;  // the bytes of one of two ranks
  }
  EXPECT_THAT(llama_bench(records, {}), HasSubstr(" 128.63 M "));
}

TEST(Records, CsvIsFlatAndHasUnitsInColumnNames) {
  const std::string text = flat_csv(two_contexts_and_a_failure(), {});
  EXPECT_THAT(text, HasSubstr(",median_s,"));
  EXPECT_THAT(text, HasSubstr(",tokens_per_second,"));
  EXPECT_THAT(text, HasSubstr(",peak_memory_bytes,"));
  EXPECT_THAT(text, HasSubstr(",phase.forward_s,"));
  EXPECT_THAT(text, HasSubstr(",memory.parameter_bytes,"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

// The texts contain bytes that a terminal would interpret, and begin with a formula that a spreadsheet would evaluate.
TEST(Records, EveryTextFormatEscapesHostileText) {
  constexpr const char* kHostile = "=cmd|'/c calc'!A0\x1b[2J\nnext;\x9b\xff";
  TracedRecord traced = test::small_trace();
  for (std::string& text : traced.trace->texts) text.insert(0, kHostile);
  Record& record = traced.record;
  record.name = record.label = record.fingerprint = record.binary.commit = record.binary.version = kHostile;
  record.time[kHostile] = record.time.at("forward");
  record.phases.front().phase = kHostile;
  record.memory.parts[kHostile] = 1;
  for (auto& [key, value] : record.config.json().items()) value = kHostile;
  record.config.json()["pass"] = "step";
  record.config.json()[kHostile] = kHostile;
  const std::vector<TracedRecord> records{traced};
  for (const ExportFormat& format : export_formats()) {
    for (const NsysReport report : {NsysReport::kKernels, NsysReport::kRanges}) {
      const std::string text = format.write(records, {.steps = ExportedSteps::kAll, .report = report});
      if (format.is_text) {
        EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
          const auto byte = static_cast<unsigned char>(c);
          return byte == '\n' || byte == '\r' || (byte >= 0x20 && byte != 0x7F && byte != 0xFF && byte != 0x9B);
        })) << format.name;
      }
      EXPECT_EQ(text.find("\x1b["), std::string::npos) << format.name;
      const bool is_csv = format.name == "csv" || format.name == "nsys";
      if (is_csv) {
        EXPECT_EQ(text.find(",=cmd"), std::string::npos) << format.name;
        EXPECT_EQ(text.find("\n=cmd"), std::string::npos) << format.name;
        EXPECT_EQ(text.find("\"=cmd"), std::string::npos) << format.name;
      }
    }
  }
}

TEST(Records, PickleUsesOnlyOpcodesThatTheViewerReads) {
  const Json value{{"a", 1}, {"b", int64_t{0x7f} << 40U}, {"c", Json::array({"a", "a"})}, {"d", false}};
  using namespace std::string_literals;
  EXPECT_EQ(pickled(value),
            "\x80\x02}("
            "X\x01\0\0\0aq\0K\x01"
            "X\x01\0\0\0bq\x01\x8a\x08\0\0\0\0\0\x7f\0\0"
            "X\x01\0\0\0cq\x02](h\0h\0e"
            "X\x01\0\0\0dq\x03\x89"
            "u."s);
}

}  // namespace
}  // namespace laptime
