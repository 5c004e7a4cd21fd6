// Records to JSON and back, rejected JSON, the documented schema, and metrics.
#include "record/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "base/json.h"
#include "config/fields_json.h"
#include "data/json_documents.h"
#include "record/metrics.h"
#include "record/sample_record.h"
#include "support/error_of.h"
#include "support/json_pointer.h"

namespace laptime {
namespace {

using testing::HasSubstr;

std::string error_of(const Json& json) {
  return test::error_of([&] { record_from_json(json); });
}

std::string parse_error_of(const std::string& text) {
  return test::error_of([&] { parse_record(text); });
}

// Adds the paths of all keys in a written record, with "*" for names that are not fixed. Keys within config and machine
// are left out.
void add_paths(const Json& json, const std::string& path, std::set<std::string>& paths) {
  if (!path.empty() && !path.ends_with("[]")) paths.insert(path);
  if (path == "config" || path == "machine") return;
  const bool free_names = path == "time" || path == "prediction.time" || path == "memory.parts";
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      add_paths(value, (path.empty() ? "" : path + ".") + (free_names ? "*" : key), paths);
    }
  } else if (json.is_array()) {
    for (const Json& element : json) {
      if (element.is_object()) add_paths(element, path + "[]", paths);
    }
  }
}

TEST(Record, RoundTrips) {
  const Record record = sample_record();
  EXPECT_EQ(parse_record(to_text(record)), record);
}

TEST(Record, EmptyRecordRoundTrips) {
  Record record;
  record.name = "x";
  EXPECT_EQ(parse_record(to_text(record)), record);
}

TEST(Record, EveryStatusRoundTrips) {
  for (const Status status : {Status::kOk, Status::kOutOfMemory, Status::kUnsupported, Status::kTimeout,
                              Status::kFailed, Status::kInterrupted}) {
    Record record = sample_record();
    record.status = status;
    EXPECT_EQ(parse_record(to_text(record)).status, status);
  }
}

TEST(Record, UnknownFieldsAreNull) {
  Record record;
  record.name = "x";
  const Json json = to_json(record);
  for (const char* key : {"label", "reason", "bytes_requested", "op", "scope", "tokens_per_second", "created"}) {
    ASSERT_TRUE(json.contains(key)) << key;
    EXPECT_TRUE(json[key].is_null()) << key;
  }
  EXPECT_TRUE(json["memory"]["peak_bytes"].is_null());
  EXPECT_TRUE(json["flops"]["mfu_measured"].is_null());
  EXPECT_EQ(json.items().front().key, "schema_version");
}

TEST(Record, StdOfOneSampleIsNull) {
  Record record = sample_record();
  record.time["step"] = make_time_stats(std::vector{0.5});
  const Json json = to_json(record);
  EXPECT_TRUE(json["time"]["step"]["std"].is_null());
  EXPECT_EQ(json["time"]["step"]["std_population"], 0.0);
  EXPECT_EQ(json["time"]["step"]["unit"], "s");
}

TEST(Record, NonFiniteLossIsNull) {
  Record record = sample_record();
  record.loss.values = {9.2, std::numeric_limits<double>::infinity(), 9.0};
  const Record back = parse_record(to_text(record));
  ASSERT_EQ(back.loss.values.size(), 3U);
  EXPECT_TRUE(std::isnan(back.loss.values[1]));
  EXPECT_EQ(back.loss.values[2], 9.0);
}

TEST(Record, NumbersRoundTripExactly) {
  Record record = sample_record();
  record.tokens_per_second = 0.1 + 0.2;
  record.bytes_requested = std::numeric_limits<int64_t>::max();
  const Record back = parse_record(to_text(record));
  EXPECT_EQ(back.tokens_per_second, 0.1 + 0.2);
  EXPECT_EQ(back.bytes_requested, std::numeric_limits<int64_t>::max());
}

TEST(Record, TextIsOneLineOfPlainAscii) {
  Record record = sample_record();
  record.reason = "a\nb\x1b[31m \u009b é \u202e bad \xff byte \x7f";
  const std::string text = to_text(record);
  for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << static_cast<int>(c);
  EXPECT_THAT(parse_record(text).reason, HasSubstr("a\nb\x1b[31m \u009b é"));
}

TEST(Record, UnknownKeysAreIgnored) {
  Json json = to_json(sample_record());
  json["later"] = {{"a", 1}};
  json["memory"]["later_bytes"] = 5;
  EXPECT_EQ(record_from_json(json), sample_record());
}

TEST(Record, MissingKeysKeepTheirDefault) {
  const Record record = record_from_json({{"schema_version", 1}, {"name", "x"}, {"status", "ok"}});
  EXPECT_EQ(record.name, "x");
  EXPECT_TRUE(record.time.empty());
  EXPECT_FALSE(record.memory.peak_bytes.has_value());
}

TEST(Record, ErrorNamesWrongType) {
  struct Case {
    const char* pointer;
    Json value;
    const char* message;
  };
  const Case cases[] = {
      {"/name", 3, "'name' must be text, found 3"},
      {"/name", nullptr, "'name' is missing or empty"},
      {"/status", "fine", "'status' must be one of ok, out_of_memory"},
      {"/time", Json::array(), "'time' must be an object, found array"},
      {"/time/step/mean", "0.5", "'time.step.mean' must be a number, found \"0.5\""},
      {"/time/step/samples/1", "x", "'time.step.samples[1]' must be a number"},
      {"/time/step/count", 4, "'time.step.count' is 4, but there are 6 samples"},
      {"/time/step/count", 5.0, "'time.step.count' must be an integer"},
      {"/verdict/lost", 1e308, "'verdict.lost' is 1e+308, but"},
      {"/time/step/unit", "ms", "'time.step.unit' must be \"s\""},
      {"/memory/peak_bytes", true, "'memory.peak_bytes' must be an integer"},
      {"/memory/peak_bytes", uint64_t{1} << 63U, "'memory.peak_bytes' must be an integer of at most 63 bits"},
      {"/memory/parts/parameter", "big", "'memory.parts.parameter' must be an integer"},
      {"/kernels", "onednn", "'kernels' must be a list"},
      {"/kernels/0/op", 1, "'kernels[0].op' must be text"},
      {"/config", "small", "'config' must be an object"},
      {"/schema_version", 2, "schema version 2, but this laptime reads 1 to 1; use a newer laptime"},
      {"/schema_version", 0, "schema version 0"},
      {"/schema_version", "1", "not a laptime record"},
  };
  for (const Case& c : cases) {
    Json json = to_json(sample_record());
    at_pointer(json, c.pointer) = c.value;
    EXPECT_THAT(error_of(json), HasSubstr(c.message)) << c.pointer;
  }
}

TEST(Record, ErrorNamesMissingFigure) {
  Json json = to_json(sample_record());
  json["time"]["step"].erase("mean");
  EXPECT_THAT(error_of(json), HasSubstr("'time.step.mean' is missing"));
}

TEST(Record, SlowRejectsHostileText) {
  EXPECT_THAT(parse_error_of(""), HasSubstr("record: not valid JSON at byte 1"));
  EXPECT_THAT(parse_error_of("{\"name\":"), HasSubstr("record: not valid JSON at byte 9"));
  EXPECT_THAT(parse_error_of("[]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(parse_error_of("\x01\xff"), HasSubstr("record: not valid JSON at byte 1"));
  EXPECT_THAT(parse_error_of(std::string(1'000'000, '[')), HasSubstr("nested deeper than the limit of 32"));
  std::string keys = "{";
  for (int i = 0; i < 30'000; ++i) keys += fmt::format("\"k{}\":0,", i);
  EXPECT_THAT(parse_error_of(keys + "\"z\":0}"), HasSubstr("more keys than the limit of 20000"));
  EXPECT_THAT(parse_error_of(std::string(kMaxDocumentBytes + 1, ' ')), HasSubstr("exceed the limit of"));
}

TEST(Record, MainTimeIsTheTimeOfThePass) {
  Record record = sample_record();
  ASSERT_NE(record.main_time(), nullptr);
  EXPECT_EQ(record.main_time()->max, 0.90);
  record.config.json()["pass"] = "inference";
  EXPECT_EQ(record.main_time(), nullptr);
  record.time.erase("forward");
  EXPECT_EQ(record.main_time(), &record.time["step"]);
}

TEST(Record, DatesAreIso8601) {
  EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_utc(1'709'251'199), "2024-02-29T23:59:59Z");
}

TEST(Record, HashOfAConfigurationIsStable) {
  EXPECT_EQ(config_hash(""), "cbf29ce484222325");
  EXPECT_EQ(config_hash("a"), "af63dc4c8601ec8c");  // a published test vector of FNV-1a
}

TEST(Schema, StatesEveryKeyOfAWrittenRecord) {
  std::set<std::string> stated;
  for (const SchemaKey& key : schema_keys()) stated.insert(key.path);
  std::set<std::string> written;
  add_paths(to_json(sample_record()), "", written);
  for (const std::string& path : written) {
    EXPECT_TRUE(stated.contains(path)) << path;
  }
}

// Expects a row "| `key` | type | unit | meaning |" without empty cells for the exact path.
TEST(Schema, DocumentsEveryKeyWithItsTypeAndUnit) {
  std::ifstream file(LAPTIME_SOURCE_DIR "/docs/record_schema.md");
  struct Row {
    std::string type;
    std::string unit;
  };
  std::map<std::string, Row> rows;
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '|');) {
      cell.erase(0, cell.find_first_not_of(' '));
      cell.erase(cell.find_last_not_of(' ') + 1);
      cells.push_back(cell);
    }
    if (cells.size() == 5 && cells[1].starts_with('`') && !cells[3].empty() && !cells[4].empty()) {
      rows[cells[1].substr(1, cells[1].size() - 2)] = {cells[2], cells[3]};
    }
  }
  for (const SchemaKey& key : schema_keys()) {
    EXPECT_EQ(rows[key.path].type, key.type) << key.path;
    EXPECT_EQ(rows[key.path].unit, key.unit == Unit::kNone ? "-" : name_of(key.unit)) << key.path;
  }
}

TEST(Schema, DocumentedExampleIsARecord) {
  std::ifstream file(LAPTIME_SOURCE_DIR "/docs/record_schema.md");
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  const size_t begin = text.find("```json\n");
  ASSERT_NE(begin, std::string::npos);
  const size_t end = text.find("```", begin + 8);
  const Record record = parse_record(text.substr(begin + 8, end - begin - 8));
  EXPECT_EQ(record.status, Status::kOk);
  std::set<std::string> documented;
  add_paths(to_json(record), "", documented);
  std::set<std::string> written;
  add_paths(Json::parse(text.substr(begin + 8, end - begin - 8)), "", written);
  for (const std::string& path : written) EXPECT_TRUE(documented.contains(path)) << "not a key: " << path;
}

TEST(Metrics, AreReadFromTheRecord) {
  Record record = sample_record();
  record.loss_scaling = {
      .first = 65536, .last = 16384, .growths = 0, .backoffs = 2, .skipped_steps = 2, .skipped = {1, 2}};
  std::set<std::string_view> tags;
  for (const Metric& metric : metrics()) {
    EXPECT_TRUE(tags.insert(metric.tag).second) << metric.tag;
    EXPECT_FALSE(metric.description.empty()) << metric.tag;
    EXPECT_FALSE(metric.formula.empty()) << metric.tag;
    if (metric.tag == "backward_time" || metric.tag == "optimizer_time") continue;  // this record has no such phases
    EXPECT_TRUE(metric.read(record).has_value()) << metric.tag;
  }
  EXPECT_EQ(find_metric("median")->read(record), 0.51);
  EXPECT_EQ(find_metric("loss_scale_last")->read(record), 16384);
  EXPECT_EQ(find_metric("skipped_steps")->read(record), 2);
  EXPECT_EQ(find_metric("forward_time")->read(record), 0.15);
  EXPECT_EQ(find_metric("loss_last")->read(record), 9.15);
  EXPECT_EQ(find_metric("count")->read(record), 6);
  EXPECT_EQ(find_metric("nothing"), nullptr);
}

TEST(Metrics, AreEmptyForUnknownFields) {
  Record record;
  record.name = "x";
  for (const Metric& metric : metrics()) EXPECT_FALSE(metric.read(record).has_value()) << metric.tag;
}

}  // namespace
}  // namespace laptime
