// The filter grammar and the sort order of records.
#include "report/filter.h"
#include "report/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "record/sample_record.h"
#include "report/stored_records.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The number of stored records that match, out of ten.
size_t matching(const std::string& text) { return records_matching(Filter(text), stored_records()).size(); }

std::string error_of(const std::string& text) {
  return test::error_of([&] { records_matching(Filter(text), stored_records()); });
}

TEST(Filter, MatchesRecords) {
  const std::pair<const char*, size_t> cases[] = {
      {"", 10},
      {"  \n ", 10},
      {"status = ok", 5},
      {"status == ok", 5},
      {"status != ok", 5},
      {"config.model = small", 5},
      {"model = small", 5},
      {"model=small", 5},
      {"model = 'small'", 5},
      {"model = \"small\"", 5},
      {"model = 2.7B", 2},
      {"model = Small", 5},
      {"ctx = 512", 1},
      {"context >= 512", 2},
      {"ctx < 256", 1},
      {"d_model = 768", 5},
      {"config.d_model > 1023", 5},
      {"edition >= 2025", 10},
      {"edition > 2025", 0},
      {"clip_norm = null", 10},
      {"status != null", 10},
      {"median = null", 5},
      {"median != null", 5},
      {"median > 0", 5},
      {"median < 1", 3},
      {"median < 1000ms", 3},
      {"median < 750ms and median > 0.7s", 1},
      {"time.step.median < 1", 1},
      {"time.step.samples.0 > 1", 1},
      {"memory.peak_bytes > 3.5GiB", 2},
      {"peak_memory < 4000MiB", 2},
      {"mfu_measured > 50%", 1},
      {"mfu_measured <= 0.5", 1},
      {"loss > 9", 2},
      {"loss.values < 9", 1},
      {"kernels.0.op = matmul", 1},
      {"machine.cores_allowed = 2", 10},
      {"machine.libraries = 'fmt 9.1.0'", 10},
      {"weight_tie = false", 10},
      {"weight_tie = true", 0},
      {"threads = null", 1},
      {"name ~ medium", 2},
      {"name ~ '/ctx:512/'", 1},
      {"reason ~ \"<script>\"", 1},
      {"device ~ roofline", 1},
      {"verdict = noisy", 2},
      {"status = ok and model = small", 3},
      {"status = failed or status = timeout", 2},
      {"model = small and status = failed or status = timeout", 2},
      {"status = timeout or model = small and status = failed", 2},
      {"(status = timeout or model = small) and ctx = 256", 5},
      {"((((status = ok))))", 5},
      {"status = ok AND model = small OR status = timeout", 4},
      {"label ~ 'SUM(1+1)'", 1},
      {"model in (small, 2.7B)", 7},
      {"model in ('small')", 5},
      {"model NOT IN (small,2.7B)", 3},
      {"ctx in (256, 512) and not status = ok", 3},
      {"not (model = small or model = 2.7B)", 3},
      {"not not model = small", 5},
      {"model in(small)", 5},
  };
  for (const auto& [text, count] : cases) {
    EXPECT_EQ(matching(text), count) << text;
  }
}

TEST(Filter, RulesOutRecordsByListedColumnsAlone) {
  const Record record = sample_record("a");
  for (const auto& [text, may_match] : std::vector<std::pair<const char*, bool>>{{"seed = 7", true},
                                                                                 {"not seed = 0", true},
                                                                                 {"seed = 7 and name = a", true},
                                                                                 {"seed = 7 and name = b", false},
                                                                                 {"name = b and seed = 7", false},
                                                                                 {"name = b or seed = 7", true},
                                                                                 {"seed = 7 or name = a", true},
                                                                                 {"not (seed = 7 or name = a)", false},
                                                                                 {"not (name = a or seed = 7)", false},
                                                                                 {"not (seed = 7 and name = a)", true},
                                                                                 {"name = b and name = a", false}}) {
    EXPECT_EQ(Filter(text).matches(record, 0, Extent::kListed), may_match) << text;
  }
}

TEST(Filter, RequireAddsACondition) {
  for (const auto& [text, count] : {std::pair{"", 5}, std::pair{"status = ok or status = timeout", 3}}) {
    Filter filter(text);
    filter.require("model", "~", "smal");
    EXPECT_EQ(records_matching(filter, stored_records()).size(), static_cast<size_t>(count)) << text;
  }
}

TEST(Filter, ErrorsShowTheirPosition) {
  const std::pair<const char*, const char*> cases[] = {
      {"model", "position 6, after 'model': expected an operator after column 'model': =, !=, <, <=, >, >=, ~ or in"},
      {"model =", "position 8, after 'model =': expected a value"},
      {"= small", "position 1: expected a column"},
      {"model = small and", "position 18, after 'model = small and': expected a column"},
      {"model = small dtype = float32",
       "position 15, after 'model = small ': expected 'and', 'or' or the end of the filter"},
      {"(model = small", "position 1: '(' without ')'"},
      {"model = small)", "position 14, after 'model = small': ')' without '('"},
      {"model = 'small", "position 9, after 'model = ': unterminated quote"},
      {"model = = small", "position 9, after 'model = ': expected a value; put it in quotes"},
      {"model => small", "position 8, after 'model =': expected a value; put it in quotes"},
      {"model ! small", "position 7, after 'model ': expected an operator after column 'model'"},
      {"model in small", "position 10, after 'model in ': expected '(' after 'in'"},
      {"model in (small", "position 10, after 'model in ': '(' without ')'"},
      {"model in ()", "expected a value"},
      {"model not small", "expected 'in' after 'not'"},
      {"not", "expected a column"},
      {"()", "position 2, after '(': expected a column"},
      {"model = \x1b[31m and", "\\x1b[31m and"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(error_of(text), HasSubstr(message)) << text;
}

TEST(Filter, UnknownColumnsSuggestTheNearest) {
  EXPECT_THAT(error_of("dtpye = small"), HasSubstr("unknown column 'dtpye'; did you mean 'dtype'?"));
  EXPECT_THAT(error_of("config.d_modle = 1"), HasSubstr("did you mean 'config.d_model'?"));
  EXPECT_THAT(error_of("memory.peak_byte = 1"), HasSubstr("did you mean 'memory.peak_bytes'?"));
  EXPECT_THAT(error_of("time.step.medain = 1"), HasSubstr("did you mean 'time.step.median'?"));
  EXPECT_THAT(error_of("x.y.z = 1"), HasSubstr("unknown column 'x.y.z'"));
  EXPECT_THAT(error_of("memory = 1"), HasSubstr("'memory' is a group of columns"));
  EXPECT_THAT(error_of("time.step = 1"), HasSubstr("'time.step' is a group of columns"));
}

TEST(Filter, OrderComparisonOfANumericColumnNeedsANumber) {
  EXPECT_THAT(error_of("ctx < many"), HasSubstr("column 'ctx' contains numbers, but 'many' is not a number"));
}

TEST(Filter, ChecksColumnsEvenWithoutRecords) {
  EXPECT_TRUE(records_matching(Filter("d_model = 768 and config.x = 1 and time.step.mean > 1"), {}).empty());
  EXPECT_THROW(records_matching(Filter("memory.peak_byte = 1"), {}), Error);
}

TEST(Filter, RejectsLongOrDeeplyNestedText) {
  EXPECT_THAT(error_of(std::string(5000, ' ')), HasSubstr("exceed the limit of 4096"));
  EXPECT_THAT(error_of(std::string(100, '(') + "model = small" + std::string(100, ')')),
              HasSubstr("more than 64 nested"));
  EXPECT_EQ(matching(std::string(64, '(') + "model = small" + std::string(64, ')')), 5U);
  std::string many = "ctx=1";
  for (int i = 0; i < 300; ++i) many += " or ctx=1";
  EXPECT_THAT(error_of(many), HasSubstr("more than 256 comparisons"));
}

std::vector<std::string> sorted_by(const std::string& order, const std::string& column) {
  std::vector<std::string> values;
  for (const Record& record : sort_records(records_matching(Filter("status = ok"), stored_records()), order)) {
    values.push_back(record.config.text(column));
  }
  return values;
}

std::string sort_error_of(const std::string& order) {
  return test::error_of([&] { sort_records(stored_records(), order); });
}

TEST(Sort, SortsByColumnsAndDirections) {
  EXPECT_THAT(sorted_by("", "pass"), ElementsAre("step", "step", "forward_backward", "forward", "inference"));
  EXPECT_THAT(sorted_by("median", "pass"), ElementsAre("inference", "step", "forward", "step", "forward_backward"));
  EXPECT_THAT(sorted_by("median:desc", "pass"),
              ElementsAre("forward_backward", "step", "forward", "step", "inference"));
  EXPECT_THAT(sorted_by("config.model:asc", "model"), ElementsAre("2.7B", "medium", "small", "small", "small"));
  EXPECT_THAT(sorted_by("model:desc,median", "dtype"),
              ElementsAre("bfloat16", "float32", "float32", "float32", "bfloat16"));
}

TEST(Sort, PutsRecordsWithoutAValueLast) {
  for (const char* order : {"median", "median:desc"}) {
    const std::vector<Record> records = sort_records(stored_records(), order);
    EXPECT_EQ(records[4].status, Status::kOk) << order;
    EXPECT_EQ(records[5].status, Status::kOutOfMemory) << order;
    EXPECT_EQ(records[9].status, Status::kInterrupted) << order;
  }
}

TEST(Sort, ErrorNamesBadKey) {
  EXPECT_THAT(sort_error_of("medain"), HasSubstr("sort: unknown column 'medain'; did you mean 'median'?"));
  EXPECT_THAT(sort_error_of("median:down"), HasSubstr("unknown direction 'down'"));
  EXPECT_THAT(sort_error_of(":desc"), HasSubstr("expected a column"));
  EXPECT_THAT(sort_error_of("median,,model"), HasSubstr("expected a column"));
}

TEST(Filter, ModelNameMatchesCustomModelsDerivedFromIt) {
  std::vector<Record> records = stored_records();
  records.resize(2);
  records[0].name = "step/model:small/ctx:256/dtype:float32/mode:eager/layers:2/d_model:512";
  records[0].config.json()["model"] = "custom";
  const auto found = [&](const char* text) { return records_matching(Filter(text), records).size(); };
  EXPECT_EQ(value_of(records[0], "model"), "small, 2 layers, d_model 512");
  EXPECT_EQ(value_of(records[1], "model"), "small");
  EXPECT_EQ(found("model = small"), 2U);
  EXPECT_EQ(found("model = S"), 2U);
  EXPECT_EQ(found("model = custom"), 1U);
  EXPECT_EQ(found("model = 'small, 2 layers, d_model 512'"), 1U);
  EXPECT_EQ(found("model != small"), 0U);
  EXPECT_EQ(found("model in (small) and not model ~ layers"), 1U);
  EXPECT_EQ(found("config.model = small"), 1U);  // config.model is "custom" in the first record
  records[0].name = "step/model:custom/ctx:256";
  EXPECT_EQ(value_of(records[0], "model"), "custom");
  records[0].name = "by hand";
  EXPECT_EQ(found("model = small"), 1U);
}

TEST(Filter, SuggestsColumnForAPrefix) { EXPECT_THAT(error_of("speed > 1"), HasSubstr("did you mean 'speedup'?")); }

}  // namespace
}  // namespace laptime
