// Formats of records alone: samples, tables, and what is left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "export/pickle.h"
#include "export/writers.h"
#include "record/sample_record.h"

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
  ASSERT_EQ(json["benchmarks"].size(), 24U);  // two records of two times with six samples each
  const Json& row = json["benchmarks"][6];
  EXPECT_EQ(row["name"], "step/model:small/ctx:256/dtype:float32/mode:eager");
  EXPECT_EQ(row["real_time"], 500'000);
  EXPECT_EQ(row["cpu_time"], row["real_time"]);
  EXPECT_EQ(row["repetitions"], 6);
  EXPECT_EQ(json["benchmarks"][0]["name"], "step/model:small/ctx:256/dtype:float32/mode:eager/phase:forward");
}

TEST(Records, GoogleBenchmarkIsOfOneMachine) {
  std::vector<TracedRecord> records = two_contexts_and_a_failure();
  records[1].record.fingerprint = "another";
  try {
    google_benchmark(records, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("fingerprint = '0123456789abcdef'"));
  }
}

TEST(Records, HyperfineNamesTheParameterThatVaries) {
  const Json json = Json::parse(hyperfine(two_contexts_and_a_failure(), {}));
  ASSERT_EQ(json["results"].size(), 2U);
  EXPECT_EQ(json["results"][1]["parameters"].dump(), R"({"context_length":"512"})");
  EXPECT_EQ(json["results"][0]["times"].size(), 6U);
  EXPECT_EQ(json["results"][0]["median"], 0.51);
}

TEST(Records, LlamaBenchHasARowForEachPass) {
  const std::string text = llama_bench(two_contexts_and_a_failure(), {});
  EXPECT_THAT(text, HasSubstr("| small 2025                     |   128.63 M |    256 |    4 |  float32 |    eager |"));
  EXPECT_THAT(text, HasSubstr("|             fwd |"));
  EXPECT_THAT(text, HasSubstr("|  75.0 % |"));
  EXPECT_THAT(text, Not(HasSubstr("failed")));
  EXPECT_THAT(text, HasSubstr("build: 3c201d2 (0.1.0)"));
}

TEST(Records, CsvIsFlatAndHasUnitsInItsNames) {
  const std::string text = flat_csv(two_contexts_and_a_failure(), {});
  EXPECT_THAT(text, HasSubstr(",median_s,"));
  EXPECT_THAT(text, HasSubstr(",tokens_per_second,"));
  EXPECT_THAT(text, HasSubstr(",peak_memory_bytes,"));
  EXPECT_THAT(text, HasSubstr(",phase.forward_s,"));
  EXPECT_THAT(text, HasSubstr(",memory.parameter_bytes,"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST(Records, PickleHasTheOpcodesOfTheViewer) {
  Pickle pickle;
  pickle.dict([&] {
    pickle.item("a", 1);
    pickle.item("b", int64_t{0x7f} << 40U);
    pickle.item_of("c", [&] { pickle.list(2, [&](size_t) { pickle.text("a"); }); });
    pickle.item("d", false);
  });
  using namespace std::string_literals;
  EXPECT_EQ(pickle.finish(),
            "\x80\x02}("
            "X\x01\0\0\0aq\0K\x01"
            "X\x01\0\0\0bq\x01\x8a\x08\0\0\0\0\0\x7f\0\0"
            "X\x01\0\0\0cq\x02](h\0h\0e"
            "X\x01\0\0\0dq\x03\x89"
            "u."s);
}

}  // namespace
}  // namespace laptime
