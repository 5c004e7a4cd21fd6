// No table, file or sentence contains nan, infinity or an impossible size because a value is unknown.
#include "report/unknown_values.h"

#include <gtest/gtest.h>

#include "analysis/made_trace.h"
#include "record/metrics.h"
#include "report/columns.h"
#include "report/history.h"
#include "report/memory_answer.h"
#include "report/plan_answer.h"
#include "report/point_text.h"
#include "report/profile_answer.h"
#include "report/record_files.h"
#include "report/record_table.h"
#include "report/records.h"
#include "report/words.h"

namespace laptime {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::string> texts_of(const PointAnswer& answer) {
  return {text_of(answer, {}), markdown_of(answer), json_of(answer).dump(), csv_of({answer})};
}

TEST(UnknownValues, TablesContainNoImpossibleNumber) {
  for (const Json& number : unknown_numbers()) {
    const std::vector<Record> records = records_with(number);
    for (const ColumnSet& set : column_sets()) {
      const std::string columns(set.name);
      EXPECT_EQ(impossible_word(table(records, {.verbose = true}, columns)), "") << columns << number.dump();
      EXPECT_EQ(impossible_word(markdown(records, columns)), "") << columns << number.dump();
      EXPECT_EQ(impossible_word(csv(records, columns)), "") << columns << number.dump();
    }
    EXPECT_EQ(impossible_word(csv(records, "all")), "") << number.dump();
    EXPECT_EQ(impossible_word(json(records)), "") << number.dump();
    for (const Record& record : records) {
      EXPECT_EQ(impossible_word(table({&record, 1}, {.verbose = true})), "") << record.name << number.dump();
      JsonLines lines("default", RecordList(records));
      EXPECT_EQ(impossible_word(lines.line(record)), "") << record.name << number.dump();
    }
  }
}

TEST(UnknownValues, SentencesContainNoImpossibleNumber) {
  for (const Json& number : unknown_numbers()) {
    for (Record record : records_with(number)) {
      EXPECT_EQ(impossible_word(prediction_words(record)), "") << record.name << number.dump();
      EXPECT_EQ(impossible_word(disturbed_prediction_line(record.prediction)), "") << record.name << number.dump();
      record.transient.excess = number.is_null() ? kNaN : number.get<double>();
      record.prediction.time = {{"step", *record.transient.excess}};
      record.prediction.low = record.prediction.high = record.prediction.measured_share = record.transient.excess;
      record.prediction.disturbed_share = record.prediction.measured_share;
      record.prediction.from = record.prediction.newest = "measured launches";
      EXPECT_EQ(impossible_word(first_steps_text(record)), "") << record.name << number.dump();
      EXPECT_EQ(impossible_word(disturbed_prediction_line(record.prediction)), "") << record.name << number.dump();
      EXPECT_EQ(impossible_word(prediction_words(record)), "") << record.name << number.dump();
      for (const Status status : {Status::kOk, Status::kOutOfMemory}) {
        record.status = status;
        record.bytes_requested = record.bytes_available = number.is_null() ? 0 : number.get<int64_t>();
        EXPECT_EQ(impossible_word(explain_shortage(record)), "") << record.name << number.dump();
        const PlannedPoint point{.record = record};
        for (const PointAnswer& answer :
             {plan_answer(point, std::nullopt, {.verbose = true}), plan_answer(std::vector{point, point}, {})}) {
          for (const std::string& text : texts_of(answer))
            EXPECT_EQ(impossible_word(text), "") << record.name << number.dump();
        }
      }
    }
  }
}

TEST(UnknownValues, HistoryContainsNoImpossibleNumber) {
  for (const Json& number : unknown_numbers()) {
    std::vector<Record> records;
    for (int i = 0; i < 12; ++i) {
      records.push_back(i < 6 ? stored_records().front() : records_with(number).front());
      records.back().binary.commit = "commit" + std::to_string(i);
    }
    for (const char* const metric : {"median", "tokens_per_second", "mfu_measured"}) {
      for (const PointAnswer& answer : history_answers(RecordList(records), {.metric = find_metric(metric)})) {
        for (const std::string& text : texts_of(answer))
          EXPECT_EQ(impossible_word(text), "") << metric << number.dump();
      }
    }
  }
}

class UnknownValuesOfTraces : public TraceTest {};

TEST_F(UnknownValuesOfTraces, ViewsContainNoImpossibleNumber) {
  for (const double number : {0.0, kNaN, kInfinity}) {
    const StepTrace trace = trace_with(trace_, number);
    for (const Choice<ProfileView>& view : choices_of(ProfileView{})) {
      for (const std::string& text : texts_of(profile_answer(record_, trace, {.view = view.value, .verbose = true})))
        EXPECT_EQ(impossible_word(text), "") << view.name << number;
    }
    for (const std::string& text : texts_of(plan_answer({.record = record_}, trace, {.view = PlanView::kAll})))
      EXPECT_EQ(impossible_word(text), "") << number;
  }
}

// The keys of the values in findings, and the kinds of findings.
constexpr std::string_view kKeys =
    "total_s,residue_s,share,of_bound,class_share,peak_flops_per_second,floor_s,ratio,"
    "bandwidth_bytes_per_second,arithmetic_s,memory_s,ratio_low,ratio_high,traced_s,untraced_s,"
    "launches_s,mark_s,graph_s,time_ratio,flops_ratio,softmax_s,products_s,products_share,cast_share,"
    "speedup,speedup_low,speedup_high,time_s,low_s,high_s,low,high,median,tokens,launch_s,change,"
    "difference,budget_s,difference_s,step_difference_s";
constexpr std::string_view kKinds =
    "pass_time,class_share,phase_time,rates,pass_bound,tracing,launch_sum,marks,launch_starts,"
    "data_sheet_floor,device_idle,softmax_against_products,top_kernel,cast_cost,predicted_time,"
    "published_runs,training_time,launch_bound,compile_mode,level_changes,detectable_difference,"
    "largest_op_difference,largest_part_difference";

TEST(UnknownValues, FindingsContainNoImpossibleNumber) {
  for (const double number : {0.0, kNaN, kInfinity, -kInfinity}) {
    JsonObject values;
    for (const std::string_view key : fields_of(kKeys, ',')) values.json()[key] = number;
    values.json()["changes"] = 1;
    for (const std::string_view kind : fields_of(kKinds, ','))
      EXPECT_EQ(impossible_word(words({.kind = std::string(kind), .subject = "step", .values = values})), "") << kind;
  }
}

}  // namespace
}  // namespace laptime
