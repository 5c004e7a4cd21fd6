// The page: one record per point, ratios, traces scaled to the time of their point, and texts that cannot become
// markup.
#include "page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/made_trace.h"
#include "page/points.h"
#include "report/stored_records.h"
#include "report/unknown_values.h"

namespace laptime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A record of a step whose phases have the median times `seconds`.
Record made_record(const std::string& context, const std::string& dtype, const std::string& mode,
                   const std::map<std::string, double>& seconds) {
  Record record = stored_records().front();
  record.name = "step/model:small/ctx:" + context + "/dtype:" + dtype + "/mode:" + mode;
  record.config.json()["pass"] = "step";
  record.config.json()["context_length"] = std::stoi(context);
  record.config.json()["dtype"] = dtype;
  record.config.json()["mode"] = mode;
  record.verdict = {"stable", {}};
  record.phases.clear();
  record.classes.clear();
  record.time.clear();
  double whole = 0;
  const auto times = [](double median) {
    return make_time_stats(
        std::vector{0.99 * median, median, 1.01 * median, median, 0.98 * median, 1.02 * median, median});
  };
  for (const auto& [phase, median] : seconds) {
    record.time[phase] = times(median);
    whole += median;
  }
  record.time["step"] = times(whole);
  return record;
}

// Two dtypes in two modes at context 128, and float32 eager at context 256.
PageInput five_points() {
  const auto point = [](const char* context, const char* dtype, const char* mode, double forward, double optimizer) {
    return made_record(context, dtype, mode,
                       {{"forward", forward}, {"backward", 2 * forward}, {"optimizer", optimizer}});
  };
  PageInput input;
  input.records = {point("128", "float32", "eager", 0.2, 0.4), point("128", "float32", "compile", 0.2, 0.1),
                   point("128", "bfloat16", "eager", 0.1, 0.4), point("128", "bfloat16", "compile", 0.1, 0.1),
                   point("256", "float32", "eager", 0.1, 0.1)};
  input.traces.resize(input.records.size());
  return input;
}

// A trace with steps of 10.1 ms, two launches in forward and one in backward, and the limits of a machine.
StepTrace timed_trace() {
  MadeTrace made;
  made.launch("forward", "layers.0.attn", "matmul", 0, "attn");
  made.launch("forward", "layers.0.ffn", "add", 0, "ffn");
  made.launch("backward", "layers.0.ffn", "matmul", 0, "ffn");
  made.buffer(1 << 20, 0, 2, true);
  made.buffer(1 << 19, 1, 2, false);
  made.resident(1 << 21, "parameter", "weight");
  StepTrace trace = made.trace;
  trace.resident_bytes = 1 << 21;
  trace.arena_bytes = (1 << 20) + (1 << 19);
  trace.launches.flops = {2e9, 1e6, 4e9};
  trace.launches.bytes = {1 << 20, 1 << 20, 1 << 21};
  for (int i = 0; i < 6; ++i) trace.steps.push_back({0, 0.0101, {3'000'000, 1'000'000, 6'000'000}});
  trace.untraced = {0.01, 0.01, 0.01, 0.01, 0.01, 0.01};
  trace.peak_flops = 1e12;
  trace.bandwidth = 1e10;
  return trace;
}

nlohmann::ordered_json data_of(const PageInput& input) {
  return nlohmann::ordered_json::parse(page_data(input).dump());
}

std::string answer_of(const PageInput& input, const std::string& question) {
  const nlohmann::ordered_json page = data_of(input);
  for (const nlohmann::ordered_json& one : page["answers"]) {
    if (one["question"].get<std::string>().starts_with(question)) return one["answer"];
  }
  return "";
}

TEST(Page, EscapesTextsOfRecords) {
  PageInput input = five_points();
  const std::string hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{page.css}}";
  input.records.front().label = hostile;
  input.records.front().machine.json()["cpu_model"] = hostile;
  const std::string page_and_library = page_html(input);
  const std::string html = page_and_library.substr(0, page_and_library.find("<script>"));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(data_of(input)["points"][0]["name"], hostile);
}

TEST(Page, LoadsNoFilesAndAllowsOnlyEmbeddedScripts) {
  const std::string html = page_html(five_points());
  EXPECT_THAT(html, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(html, Not(HasSubstr("unsafe-")));
  const size_t library = html.find("<script>");  // excludes the chart library, which contains these strings
  for (const char* const loads : {" src=", "<link", "@import", "url(http", "{{"})
    EXPECT_EQ(html.substr(0, library).find(loads), std::string::npos) << loads;
}

TEST(PublishedPage, EmbedsPointsAndEscapesTheirMarkup) {
  const std::string html = filled_page("published.js", {{"points", Json::array({{{"id", "</script><img>"}}})}});
  const std::string before = html.substr(0, html.find("<script>"));
  EXPECT_THAT(before, HasSubstr(R"("id":"\u003c/script)"));
  EXPECT_THAT(before, Not(HasSubstr("<img")));
}

TEST(Page, PrintsNoNumberForUnknownValues) {
  for (const Json& number : unknown_numbers()) {
    PageInput input;
    input.records = records_with(number);
    input.traces.resize(input.records.size());
    EXPECT_EQ(impossible_word(page_data(input).dump()), "") << number.dump();
  }
  for (const double number : {0.0, std::nan(""), HUGE_VAL}) {
    PageInput input = five_points();
    for (std::optional<StepTrace>& trace : input.traces) trace = trace_with(timed_trace(), number);
    EXPECT_EQ(impossible_word(page_data(input).dump()), "") << number;
  }
}

TEST(Page, HasOneRecordForEachPoint) {
  Record many = made_record("128", "float32", "eager", {{"forward", 1}});
  Record newest = many;
  newest.time["step"] = make_time_stats(std::vector{9.0});
  PageInput input{{many, newest}, std::vector<std::optional<StepTrace>>(2)};
  nlohmann::ordered_json page = data_of(input);
  ASSERT_EQ(page["points"].size(), 1U);
  EXPECT_EQ(page["points"][0]["time"]["samples"], 7);

  input.records[1] = many;
  input.records[1].time["step"] = make_time_stats(std::vector<double>(8, 1.5));
  input.traces[1] = timed_trace();
  page = data_of(input);
  ASSERT_EQ(page["points"].size(), 1U);
  EXPECT_EQ(page["points"][0]["time"]["median_s"], 1.5);  // the record whose launches were timed
}

TEST(Page, ShowsPredictionsBasedMostlyOnMeasuredLaunches) {
  PageInput input = five_points();
  const std::vector<std::optional<double>> shares{0.4, 0.6, {}};
  for (size_t i = 0; i < shares.size(); ++i) {
    input.records[i].prediction.time["step"] = 1.5;
    input.records[i].prediction.measured_share = shares[i];
  }
  const nlohmann::ordered_json points = data_of(input)["points"];
  EXPECT_TRUE(points[0]["predicted_s"].is_null());
  EXPECT_EQ(points[1]["predicted_s"], 1.5);
  EXPECT_TRUE(points[2]["predicted_s"].is_null());
}

TEST(Page, TraceTimesAddUpToTheMedianOfTheirPoint) {
  PageInput input = five_points();
  input.traces.front() = timed_trace();
  const nlohmann::ordered_json page = data_of(input);
  const nlohmann::ordered_json& trace = page["traces"][page["points"][0]["trace"].get<size_t>()];
  double sum = trace["between_launches_s"];
  for (const nlohmann::ordered_json& kernel : trace["kernels"]) sum += kernel["seconds_s"].get<double>();
  EXPECT_NEAR(sum, page["points"][0]["time"]["median_s"], 1e-5);
  EXPECT_NEAR(trace["kernels"][0]["share"], 0.003 / 0.0101, 1e-5);
  EXPECT_EQ(trace["memory"]["peak_bytes"], (1 << 21) + (1 << 20) + (1 << 19));
  ASSERT_EQ(trace["roofline"]["ops"].size(), 3U);
  EXPECT_EQ(trace["roofline"]["peak_flops_per_s"], 1e12);
}

TEST(Page, LaunchWithoutABoundIsNotNamedInTheBoundSentence) {
  PageInput input = five_points();
  StepTrace trace = timed_trace();
  trace.launches.flops[2] = 0;  // the longest launch
  trace.launches.bytes[2] = 0;
  input.traces.front() = std::move(trace);
  const std::string text = data_of(input).dump();
  EXPECT_THAT(text, HasSubstr(" in forward exceeds its bound the most"));
  EXPECT_THAT(text, Not(HasSubstr(" in backward exceeds its bound")));
}

TEST(Page, SharedRowOfSmallKernelsHasTheBoundOfItsSum) {
  MadeTrace made;
  const auto add = [&](const char* kernel, double flops, int64_t bytes) {
    made.launch({.phase = "forward",
                 .scope = "",
                 .part = "",
                 .range = "",
                 .op = kernel,
                 .work_class = "elementwise",
                 .kernel = kernel,
                 .signature = "",
                 .flops = flops,
                 .bytes = bytes});
  };
  add("large", 1e6, 1000);
  add("first", 10, 3000);    // limited by memory
  add("second", 1e6, 1000);  // limited by arithmetic, as is the sum
  made.trace.steps.push_back({0, 0.01, {9'000'000, 30'000, 20'000}});
  made.trace.peak_flops = 1e12;
  made.trace.bandwidth = 1e10;
  PageInput input = five_points();
  input.traces.front() = made.trace;
  const nlohmann::ordered_json kernels = data_of(input)["traces"][0]["kernels"];
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[1]["kernels"], 2);
  EXPECT_EQ(kernels[1]["bound"], "compute");
}

TEST(Page, TraceOfABackwardPassIncludesTheTimeOfForward) {
  PageInput input{{made_record("128", "float32", "eager", {{"forward", 1}, {"backward", 2}})}, {timed_trace()}};
  input.records.front().config.json()["pass"] = "backward";
  const nlohmann::ordered_json page = data_of(input);
  EXPECT_EQ(page["points"][0]["time"]["median_s"], 2);
  EXPECT_EQ(page["traces"][0]["step_s"], 3);
}

TEST(Page, ShowsPredictedPeaksWithAndWithoutATrace) {
  PageInput input = five_points();
  constexpr int64_t kPeak = int64_t{1} << 22;  // more than the total size of the trace's tensors
  for (Record& record : input.records) record.memory.predicted_peak_bytes = kPeak;
  input.traces.front() = timed_trace();
  const nlohmann::ordered_json points = data_of(input)["points"];
  for (const nlohmann::ordered_json& point : points) EXPECT_EQ(point["peak_bytes"], kPeak);
  int64_t parts = 0;
  for (const nlohmann::ordered_json& bytes : points[0]["peak_parts_bytes"]) parts += bytes.get<int64_t>();
  EXPECT_EQ(parts, kPeak);
}

TEST(Page, NamesPointsByTheOptionsThatDiffer) {
  const nlohmann::ordered_json page = data_of(five_points());
  EXPECT_EQ(page["axes"].size(), 3U);
  EXPECT_EQ(page["axes"][0]["title"], "context");
  EXPECT_THAT(page["axes"][0]["values"], ElementsAre("128", "256"));
  EXPECT_EQ(page["points"][3]["name"], "bfloat16 compile");
  EXPECT_EQ(page["points"][3]["full_name"], "context 128, bfloat16 compile");
  EXPECT_THAT(page["title"].get<std::string>(), testing::StartsWith("small GPT, batch 4: one training step on "));
}

TEST(Page, TitleStatesTheNumberOfRanksThatAllPointsShare) {
  PageInput input = five_points();
  const auto title = [&] { return data_of(input)["title"].get<std::string>(); };
  EXPECT_THAT(title(), Not(HasSubstr("rank")));
  input.records.front().config.json()["ranks"] = 2;
  EXPECT_THAT(title(), Not(HasSubstr("rank")));
  for (Record& record : input.records) record.config.json()["ranks"] = 2;
  EXPECT_THAT(title(), testing::EndsWith(", 2 ranks"));
}

TEST(Page, ComparesPointsOfEqualWorkToABaseline) {
  const nlohmann::ordered_json page = data_of(five_points());
  EXPECT_THAT(page["groups"][0]["points"], ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(page["groups"][0]["base"], 0);
  EXPECT_EQ(page["groups"][0]["fastest"], 3);
  EXPECT_EQ(page["selected"], 3);
  const nlohmann::ordered_json& ratio = page["points"][3]["ratio"];
  EXPECT_NEAR(ratio["times_as_fast"], 2.5, 1e-6);
  EXPECT_LT(ratio["low"], 2.5);
  EXPECT_GT(ratio["high"], 2.5);
  EXPECT_FALSE(page["points"][0].contains("ratio"));
  EXPECT_FALSE(page["points"][4].contains("ratio"));
}

TEST(Page, ComparesNoPredictionWithAMeasurement) {
  PageInput input = five_points();
  input.records[3].config.json()["device"] = "roofline:h100";
  const nlohmann::ordered_json mixed = data_of(input);
  EXPECT_EQ(mixed["groups"][0]["fastest"], 1);
  EXPECT_FALSE(mixed["points"][3].contains("ratio"));
  EXPECT_TRUE(mixed["points"][1].contains("ratio"));
  for (Record& record : input.records) record.config.json()["device"] = "roofline:h100";
  EXPECT_EQ(data_of(input)["groups"][0]["fastest"], 3);
}

TEST(Page, MarksPredictionsBesideMeasurements) {
  PageInput input = five_points();
  for (const size_t i : {1, 2, 3}) input.records[i].config.json()["device"] = "roofline:h100";
  input.records[2].name += "/device:roofline:h100";
  input.records[3].label = "planned";
  const nlohmann::ordered_json page = data_of(input);
  EXPECT_THAT(page["title"].get<std::string>(), HasSubstr(", h100 (predicted)"));
  for (const nlohmann::ordered_json& point : page["points"]) {
    for (const char* const key : {"name", "full_name", "machine"})
      EXPECT_EQ(point[key].get<std::string>().find("(predicted)") != std::string::npos, point["predicted"].get<bool>());
  }
  EXPECT_EQ(page["points"][3]["name"], "planned (predicted)");
}

TEST(Page, AddsDifferingOptionsToASharedLabel) {
  PageInput input = five_points();
  for (Record& record : input.records) record.label = "after";
  input.records[0].label = "before";
  const nlohmann::ordered_json points = data_of(input)["points"];
  EXPECT_EQ(points[0]["full_name"], "before");
  EXPECT_EQ(points[3]["name"], "after: bfloat16 compile");
  EXPECT_EQ(points[3]["full_name"], "after: context 128, bfloat16 compile");
}

TEST(Page, CroppedPointsCountAsDifferentWork) {
  PageInput input = five_points();
  input.records[3].config.json()["crop_context"] = 32;
  EXPECT_THAT(data_of(input)["groups"][0]["points"], ElementsAre(0, 1, 2));
}

TEST(Page, PointsOfDifferentModelsCountAsDifferentWork) {
  PageInput input = five_points();
  input.records.resize(2);
  input.traces.resize(2);
  input.records[1].name += "/projections:true";
  input.records[1].config.json()["projections"] = true;
  const nlohmann::ordered_json page = data_of(input);
  EXPECT_FALSE(page["points"][1].contains("ratio"));
  EXPECT_EQ(page["axes"][0]["key"], "projections") << "axes of the work come before those of how it is done";
}

TEST(Page, RatiosOfFewSamplesHaveAnInterval) {
  PageInput input = five_points();
  for (Record& record : input.records) record.time["step"] = make_time_stats(std::vector{1.0, 1.1});
  input.records[0].time["step"] = make_time_stats(std::vector{2.0, 2.2});
  const nlohmann::ordered_json ratio = data_of(input)["points"][1]["ratio"];
  EXPECT_NEAR(ratio["times_as_fast"], 2, 1e-6);
  EXPECT_LT(ratio["low"], 2);
  EXPECT_GT(ratio["high"], 2);
}

TEST(Page, SingleSamplesHaveAnUnknownSpread) {
  PageInput input = five_points();
  for (Record& record : input.records) record.time["step"] = make_time_stats(std::vector{1.0});
  const nlohmann::ordered_json page = data_of(input);
  EXPECT_TRUE(page["points"][0]["time"]["error"].is_null());
  EXPECT_THAT(page["doubt"].get<std::string>(), HasSubstr("! only 1 sample"));
  EXPECT_THAT(page["points"][0]["sentences"]["trust"].get<std::string>(), HasSubstr("single sample"));
}

TEST(Page, StatesTheNumberOfStepsPerSample) {
  PageInput input = five_points();
  input.records[0].stopping.steps_per_sample = 12;
  input.records[1].stopping.steps_per_sample.reset();
  const nlohmann::ordered_json points = data_of(input)["points"];
  EXPECT_EQ(points[0]["steps_per_sample"], 12);
  EXPECT_EQ(points[1]["steps_per_sample"], 1);
}

TEST(Page, StatesHowLongATrainingRunTakes) {
  PageInput input = five_points();
  const auto training_of = [&] { return data_of(input)["points"][0]["sentences"]["training"].get<std::string>(); };
  EXPECT_EQ(training_of(), "");
  input.budget = {.tokens = 3600 * 4 * 128, .price_per_hour = 2};  // 3600 steps of one second each
  EXPECT_THAT(training_of(), HasSubstr("60 min"));
  EXPECT_THAT(training_of(), HasSubstr("at 2/h"));
  input.records[0].prediction.time["step"] = 1;
  input.records[0].status = Status::kInterrupted;
  EXPECT_EQ(training_of(), "") << "the page shows no time of an interrupted point";
}

TEST(Page, PointsThatDoDifferentWorkHaveNoRatio) {
  PageInput input = five_points();
  input.records = {input.records[0], input.records[4]};
  input.traces.resize(2);
  const nlohmann::ordered_json page = data_of(input);
  ASSERT_EQ(page["groups"].size(), 1U);
  EXPECT_FALSE(page["groups"][0]["is_one_work"]);
  EXPECT_FALSE(page["points"][1].contains("ratio"));
  EXPECT_EQ(page["points"][1]["name"], "context 256");
}

TEST(Page, StatesTheFastestPointAndWhereItSavesTime) {
  PageInput input = five_points();
  const nlohmann::ordered_json page = data_of(input);
  EXPECT_THAT(
      page["headline"].get<std::string>(),
      testing::MatchesRegex("bfloat16 compile is fastest at context 128: 400 ms, 2.50x float32 eager .2.*-2.*"));
  EXPECT_EQ(
      page["points"][3]["sentences"]["time"],
      "bfloat16 compile saves 600 ms of the 1.00 s of float32 eager, most in the optimizer, which takes 300 ms less.");
  EXPECT_EQ(page["doubt"], "");
  for (Record& record : input.records) {
    record.time["step"] = make_time_stats(std::vector{1.0, 1.2, 1.4, 1.1, 0.9, 1.3, 1.6});
    record.verdict.lost = 0.4;
  }
  const nlohmann::ordered_json busy = data_of(input);
  EXPECT_THAT(busy["doubt"].get<std::string>(), HasSubstr("! 40 % of the time lost to other programs"));
  EXPECT_THAT(busy["headline"].get<std::string>(), HasSubstr("no measurable difference"));
}

TEST(Page, PhaseMaySaveMoreTimeThanTheStep) {
  PageInput input = five_points();
  input.records[1] =
      made_record("128", "float32", "compile", {{"forward", 0.2}, {"backward", 0.5}, {"optimizer", 0.1}});
  EXPECT_EQ(
      data_of(input)["points"][1]["sentences"]["time"],
      "float32 compile saves 200 ms of the 1.00 s of float32 eager, most in the optimizer, which takes 300 ms less.");
}

TEST(Page, TimeOfThePassBackwardExcludesForward) {
  PageInput input{{made_record("128", "float32", "eager", {{"forward", 1}, {"backward", 2}}),
                   made_record("128", "float32", "compile", {{"forward", 0.4}, {"backward", 1.5}})},
                  std::vector<std::optional<StepTrace>>(2)};
  for (Record& record : input.records) {
    record.config.json()["pass"] = "backward";
    record.time.erase("step");
  }
  EXPECT_EQ(data_of(input)["points"][1]["sentences"]["time"], "compile saves 500 ms of the 2.00 s of eager.");
  EXPECT_THAT(answer_of(input, "How long do forward"), Not(HasSubstr("total")));
}

TEST(Page, StatesLongFirstStepsWithoutAnExponent) {
  PageInput input = five_points();
  for (Record& record : input.records) record.transient.excess = 123.4 * record.time.at("step").median;
  EXPECT_THAT(answer_of(input, "Why do the first steps"), HasSubstr("equals 123 steady steps"));
}

TEST(Page, AnswersUseNoTimesOfInterruptedPoints) {
  PageInput input = five_points();
  EXPECT_THAT(answer_of(input, "How much faster"), HasSubstr("(2 pairs)"));
  EXPECT_THAT(answer_of(input, "How long do forward"), HasSubstr("(5 points)"));
  input.records[3].status = Status::kInterrupted;
  EXPECT_THAT(answer_of(input, "How much faster"), HasSubstr("(1 pair)"));
  EXPECT_THAT(answer_of(input, "How long do forward"), HasSubstr("(4 points)"));
}

TEST(Page, FailedAttentionPointsAreNotCounted) {
  PageInput input = five_points();
  for (Record& record : input.records) {
    record.config.json()["model"] = "attention";
    record.memory = {};
  }
  input.records[0].status = Status::kFailed;
  input.records[1].status = Status::kOutOfMemory;
  EXPECT_THAT(answer_of(input, "Attention by itself"),  // the bytes are unknown
              testing::MatchesRegex("3 of 4 points fit; the slowest, .* takes 700 ms."));
}

TEST(Page, EqualPredictionsFromTwoMachinesAreOnePoint) {
  PageInput input = five_points();
  input.records[1] = input.records[0];
  input.records[1].fingerprint = "another machine";
  EXPECT_EQ(data_of(input)["points"].size(), 5U);
  for (const size_t i : {0, 1}) input.records[i].config.json()["device"] = "roofline:h100";
  EXPECT_EQ(data_of(input)["points"].size(), 4U);
}

TEST(Page, GainOfCompileModeIsComputedFromTheMedians) {
  PageInput input = five_points();
  for (const size_t i : {0, 1}) input.traces[i] = timed_trace();  // the medians are 1 s and 0.7 s
  const std::string gain = answer_of(input, "Where does compile mode save time?");
  EXPECT_THAT(gain, HasSubstr("takes 70 % of"));
  EXPECT_THAT(gain, HasSubstr("(30 % of"));  // the only class takes 10 of the 10.1 ms of a traced step
}

TEST(Page, ShowsOnlyPublishedTimesOfTheSameWork) {
  PageInput input{{stored_records().front()}, std::vector<std::optional<StepTrace>>(1)};
  EXPECT_GE(data_of(input)["published"].size(), 3U);
  input.records.front().config.json()["model"] = "custom";
  EXPECT_TRUE(data_of(input)["published"].empty());
}

TEST(Page, ShowsUntimedPointsAndOtherPrograms) {
  PageInput input;
  input.records = stored_records();
  input.traces.resize(input.records.size());
  input.records.front().name += "/system:jax";
  input.records.front().config.json()["system"] = "jax";
  input.records.front().config.json()["model"] = nullptr;
  const nlohmann::ordered_json page = data_of(input);
  EXPECT_EQ(page["points"].size(), input.records.size());
  const nlohmann::ordered_json& selected = page["points"][page["selected"].get<size_t>()];
  EXPECT_FALSE(selected["time"].is_null());
}

TEST(Page, QuestionsMatchTheHeadingsOfTheTutorial) {
  PageInput input = five_points();
  for (std::optional<StepTrace>& trace : input.traces) trace = timed_trace();
  std::ifstream file(LAPTIME_SOURCE_DIR "/docs/tutorial.md");
  std::stringstream tutorial;
  tutorial << file.rdbuf();
  const nlohmann::ordered_json page = data_of(input);
  EXPECT_GE(page["answers"].size(), 6U);
  for (const nlohmann::ordered_json& answer : page["answers"]) {
    EXPECT_THAT(tutorial.str(), HasSubstr("\n## " + answer["question"].get<std::string>() + "\n"));
    EXPECT_LT(answer["answer"].get<std::string>().size(), 260U) << answer;
  }
}

}  // namespace
}  // namespace laptime
