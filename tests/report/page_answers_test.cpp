// What the reader of a page concludes: how sure a time is, what options gain, what bounds a step, where its memory
// peaks.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "record/time_stats.h"
#include "report/page/gains.h"
#include "report/page/page.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/page/traced_time.h"
#include "report/page_inputs.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<OptionGains> option_gains_of(const PageInput& input) { return PageView(input).gains(); }

// Each verdict that speaks against a time has its reason beside it, by the limits of the verdict.
TEST(PageAnswers, AnUnsureTimeHasItsReasonBesideIt) {
  Record record = two_points().records[0];
  record.verdict = {"unstable", {"of a reason"}};
  EXPECT_EQ(verdict_and_reason(record), "unstable: of a reason");
  record.time["step"] = make_time_stats(std::vector{1.0, 1.3, 0.7, 1.25, 0.75, 1.0});
  EXPECT_THAT(verdict_and_reason(record),
              testing::ContainsRegex("^unstable: interval -[0-9.]+ .. \\+[0-9.]+ %, standard deviation 2"));
  record.time["step"] = make_time_stats(std::vector{1.00, 1.03, 0.98, 1.01, 0.99, 1.02, 1.03, 0.98, 1.00, 1.02});
  record.verdict.rating = "noisy";
  EXPECT_THAT(verdict_and_reason(record), testing::ContainsRegex("^noisy: interval -[0-9.]+ .. \\+[0-9.]+ %$"));
  record.verdict = {"untested", {"8 steps are too few"}};
  EXPECT_EQ(verdict_and_reason(record), "untested: 8 steps are too few");
}

TEST(PageAnswers, TheFrontPageNamesTheShortestTimeAndHowManyCannotBeReliedOn) {
  PageInput input = two_points();
  input.records[0].verdict = {"unstable", {"of a reason"}};
  const std::string front = Json::parse(page_data(input))["conclusion"].dump();
  EXPECT_THAT(front, HasSubstr("The shortest step of this page is bfloat16 with 500.0 ms"));
  EXPECT_THAT(front, HasSubstr("1 of the 2 times of a step can be relied on, 1 cannot (unstable)"));
}

// The pair of float32 and bfloat16 has a factor whatever its verdicts are; a rough one says why, and has no interval.
TEST(PageAnswers, EveryPairHasAFactorAndARoughOneSaysWhy) {
  PageInput input = two_points();
  std::vector<OptionGains> gains = option_gains_of(input);
  ASSERT_EQ(gains.size(), 1U);
  EXPECT_THAT(gains[0].gains.at(0).text(), testing::StartsWith("2.00 (95 %: "));
  EXPECT_EQ(gains[0].conclusion(),
            "bfloat16 is worth it here by time: against float32 it is faster at 1 of 1 point (2.00 times as fast)");
  std::swap(input.records[0].time, input.records[1].time);
  EXPECT_THAT(option_gains_of(input)[0].conclusion(), HasSubstr("costs time here"));
  std::swap(input.records[0].time, input.records[1].time);

  input.records[0].verdict = {"unstable", {"of a reason"}};
  gains = option_gains_of(input);
  EXPECT_EQ(gains[0].gains.at(0).text(), "~2.00 (rough: the verdict on float32 is unstable)");
  EXPECT_FALSE(gains[0].gains.at(0).ratio.interval);
  EXPECT_THAT(gains[0].conclusion(), HasSubstr("cannot be said"));
  EXPECT_THAT(Json::parse(page_data(input))["conclusion"].dump(),
              AllOf(HasSubstr("bfloat16 over float32"), HasSubstr("Times as fast: ~2.00.")));
  const Json section = section_of(input, "speed-up");
  ASSERT_EQ(section["figures"].size(), 1U);  // the chart of the baseline would say the same
  EXPECT_THAT(section["figures"][0]["table"]["rows"].dump(), HasSubstr("the verdict on float32 is unstable"));
  EXPECT_THAT(section["figures"][0]["summary"].get<std::string>(), HasSubstr("hollow mark"));
  EXPECT_THAT(section["figures"][0]["reading"].get<std::string>(), HasSubstr("cannot be said"));

  input.records[0].verdict = {"stable", {}};
  input.records[1].run = "another";
  EXPECT_THAT(option_gains_of(input)[0].gains.at(0).text(), HasSubstr("measured by two commands"));
  input.records[1].fingerprint = "another machine";
  EXPECT_TRUE(option_gains_of(input).empty());
}

// Four points, of both number types and modes, with the phases of their steps. Each change halves forward; compile mode
// alone makes the optimizer faster, and bfloat16 alone makes backward slower.
PageInput four_points() {
  PageInput input;
  for (const char* const type : {"float32", "bfloat16"}) {
    for (const char* const mode : {"eager", "compile"}) {
      const bool is_float = type == std::string("float32");
      const bool is_eager = mode == std::string("eager");
      Record record = two_points().records[0];
      record.name = fmt::format("step/model:small/ctx:256/dtype:{}/mode:{}", type, mode);
      record.config.json()["dtype"] = type;
      record.config.json()["mode"] = mode;
      const double forward = 0.4 / (is_float ? 1 : 2) / (is_eager ? 1 : 2);
      const double backward = is_float ? 0.3 : 0.32;
      const double optimizer = is_eager ? 0.3 : 0.1;
      const auto times = [](double median) { return make_time_stats(std::vector<double>(8, median)); };
      record.time = {{"forward", times(forward)},
                     {"backward", times(backward)},
                     {"optimizer", times(optimizer)},
                     {"step", times(forward + backward + optimizer)}};
      input.records.push_back(record);
    }
  }
  input.traces.resize(input.records.size());
  return input;
}

TEST(PageAnswers, GainsOfBothTogetherAndByPhase) {
  const PageInput input = four_points();
  const std::vector<OptionGains> gains = option_gains_of(input);
  ASSERT_EQ(gains.size(), 3U);
  EXPECT_EQ(gains[2].from + " to " + gains[2].to, "float32 eager to bfloat16 compile");
  ASSERT_EQ(gains[2].gains.size(), 1U);
  EXPECT_NEAR(gains[2].gains[0].ratio.value, 1.0 / 0.52, 1e-9);
  EXPECT_EQ(phase_gains_text(gains[2].gains[0]),
            "480.0 ms of 1.000 s: forward 300.0 ms (4.00 times as fast), optimizer 200.0 ms (3.00), backward takes "
            "20.00 ms longer (0.94)");

  EXPECT_THAT(phase_gains_text(gains[1].gains.at(0)), HasSubstr(", optimizer unchanged, "));

  const Json section = section_of(input, "speed-up");
  const auto table = std::find_if(section["figures"].begin(), section["figures"].end(),
                                  [](const Json& figure) { return figure["title"] == "Which phase gains how much"; });
  ASSERT_NE(table, section["figures"].end());
  EXPECT_EQ((*table)["table"]["rows"].size(), 5U);
  EXPECT_TRUE((*table)["open"].get<bool>());
  EXPECT_THAT((*table)["reading"].get<std::string>(),
              HasSubstr("bfloat16 compile over float32 eager saves 480.0 ms of 1.000 s: forward 300.0 ms"));
  const Json& row = (*table)["table"]["rows"].back();
  EXPECT_NEAR(row[2].get<double>(), 0.3, 1e-9);
  EXPECT_NEAR(row[3].get<double>(), -0.02, 1e-9);
  EXPECT_NEAR(row[5].get<double>(), 0.48, 1e-9);
  const std::string front = Json::parse(page_data(input))["conclusion"].dump();
  EXPECT_THAT(front, HasSubstr("bfloat16 compile over float32 eager"));
  EXPECT_THAT(front, HasSubstr("it saves 480.0 ms of 1.000 s: forward 300.0 ms (4.00 times as fast)"));
}

// Each question ends in a conclusion; a disturbed trace is marked and leads to none.
TEST(PageAnswers, AnswersEndInAConclusionOrSayWhyNoneCanBeDrawn) {
  PageInput input = two_points();
  for (Record& record : input.records) {
    record.time["forward"] = make_time_stats(std::vector{0.1, 0.1, 0.1});
    record.time["backward"] = make_time_stats(std::vector{0.2, 0.2, 0.2});
  }
  input.records[1].config.json()["pass"] = "backward";
  input.traces = {trace_of_steps(1.0), trace_of_steps(0.2)};
  const auto conclusion = [&](const char* word) {
    const Json section = section_of(input, "questions");
    for (const Json& one : section["questions"]) {
      EXPECT_NE(one["conclusion"], "") << one["question"];
      if (one["question"].get<std::string>().find(word) != std::string::npos)
        return one["answers"].dump() + one["conclusion"].get<std::string>();
    }
    return std::string();
  };
  EXPECT_THAT(conclusion("how much do they vary"),
              HasSubstr("backward takes 2.00 times as long as forward at all 2 points."));
  EXPECT_THAT(conclusion("how much do they vary"), Not(HasSubstr("backward 200.0 ms, backward")));
  EXPECT_THAT(conclusion("Which kernel takes most"), HasSubstr("elementwise takes most time"));
  input.traces = {trace_of_steps(2.5), trace_of_steps(0.5)};
  EXPECT_THAT(conclusion("Which kernel takes most"), HasSubstr("none, because"));
  EXPECT_THAT(conclusion("Which kernel takes most"), HasSubstr("rough: traced steps took 2.50 times"));
}

// What is predicted is called so in every conclusion.
TEST(PageAnswers, ConclusionsNamePredictions) {
  PageInput input = two_points();
  for (Record& record : input.records) {
    record.verdict = {kPredicted, {}};
    record.time["forward"] = make_time_stats(std::vector{0.1});
    record.time["backward"] = make_time_stats(std::vector{0.2});
  }
  input.traces = {trace_of_steps(1.0), trace_of_steps(0.5)};
  EXPECT_EQ(option_gains_of(input).at(0).conclusion(),
            "by prediction bfloat16 is worth it here by time: against float32 it is faster at 1 of 1 point (2.00 times "
            "as fast)");
  const Json comparisons = section_of(input, "comparisons");
  EXPECT_EQ(comparisons["questions"][0]["conclusion"],
            "of 1 comparison, bfloat16 eager (predicted) is the fastest in 1.");
  EXPECT_THAT(comparisons["questions"][1]["conclusion"].get<std::string>(), HasSubstr(" as those predicted here,"));
  const Json questions = section_of(input, "questions")["questions"];
  for (const size_t question : {size_t{0}, size_t{2}}) {
    EXPECT_THAT(questions[question]["conclusion"].get<std::string>(), testing::StartsWith("by prediction "))
        << questions[question]["question"];
  }

  Record measured = input.records[0];
  measured.verdict = {"stable", {}};
  measured.config.json()["batch_size"] = 77;
  measured.name += "/batch:77";
  Record faster = input.records[1];
  faster.verdict = {"stable", {}};
  faster.config.json()["batch_size"] = 77;
  faster.name += "/batch:77";
  input.records.push_back(measured);
  input.records.push_back(faster);
  input.traces.resize(4);
  EXPECT_EQ(option_gains_of(input).at(0).conclusion(),
            "bfloat16 is worth it here by time: against float32 it is faster at 1 of 2 points (2.00 times as fast), "
            "predicted at 1 of 2 points (2.00 times as fast)");
}

TEST(PageAnswers, TheFastestIsNamedOnlyWhereItIsClear) {
  PageInput input = two_points();
  const auto conclusion = [&] {
    return section_of(input, "comparisons")["questions"][0]["conclusion"].get<std::string>();
  };
  EXPECT_EQ(conclusion(), "of 1 comparison, bfloat16 eager is the fastest in 1.");
  input.records[1].verdict = {"unstable", {"of a reason"}};
  EXPECT_EQ(conclusion(), "of 1 comparison, bfloat16 eager is the fastest in 1.");  // twice as fast, beyond doubt
  input.records[1].verdict = {"stable", {}};
  input.records[1].time["step"] = make_time_stats(std::vector{0.999, 1.000, 0.998, 1.001, 0.999, 0.998});
  EXPECT_EQ(conclusion(), "none, because in 1 comparison the two fastest cannot be told apart.");

  for (const Record& record : two_points().records) {
    input.records.push_back(record);
    input.records.back().config.json()["context_length"] = 512;
    input.records.back().name += "/ctx:512";
  }
  input.traces.resize(4);
  EXPECT_THAT(conclusion(),
              testing::StartsWith("of 2 comparisons, bfloat16 eager is the fastest in 1, in 1 the two fastest "
                                  "are too close or too rough to tell ("));
}

// The machine may have changed between two commands.
TEST(PageAnswers, TimesOfTwoCommandsAreComparedRoughly) {
  PageInput input = two_points();
  input.records[1].run = "another";
  const Json question = section_of(input, "comparisons")["questions"][0];
  EXPECT_THAT(question["answers"].dump(),
              HasSubstr("2.00 times as long (roughly: measured by two commands, at different times)"));
}

// Traced steps may differ in one phase alone, whose rates then do not hold for the measured steps.
TEST(PageAnswers, APhaseThatTookLongerInTracedStepsIsTold) {
  Record record = two_points().records[0];
  record.time["forward"] = make_time_stats(std::vector{0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  EXPECT_EQ(phases_doubt(record, trace_of_steps(1.0)), "");
  EXPECT_EQ(phases_doubt(record, trace_of_steps(2.0)),
            "forward took 1.000 s in these steps and 500.0 ms in the measured ones, so that its rates are rough");
}

// One slow sample does not hide the others: the axis ends before it, and its number stands at the edge.
TEST(PageAnswers, ASampleFarOutStandsAtTheEdge) {
  PageInput input = two_points();
  std::vector<double> samples(40);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = 1 + 0.0005 * static_cast<double>(i % 7);
  samples[11] = 3;
  for (Record& record : input.records) record.time["step"] = make_time_stats(samples);
  const Json chart = section_of(input, "samples")["figures"][0]["chart"];
  EXPECT_LT(chart["range"].get<double>(), 0.05);
  EXPECT_EQ(chart["bands"][0]["above"], 1);
  EXPECT_EQ(chart["bands"][0]["below"], 0);
}

TEST(PageAnswers, InferenceThatIsSlowerThanForwardIsTold) {
  PageInput input = two_points();
  input.records[1] = input.records[0];
  input.records[1].name = "inference/model:small/ctx:256/dtype:float32/mode:eager";
  input.records[1].config.json()["pass"] = "inference";
  input.records[1].time = {{"inference", make_time_stats(std::vector{0.5, 0.5, 0.5, 0.5, 0.5, 0.5})}};
  input.records[0].time["forward"] = make_time_stats(std::vector{0.4, 0.4, 0.4, 0.4, 0.4, 0.4});
  {
    const PageView view(input);
    const std::vector<SlowInference>& slow = view.slow_inferences();
    ASSERT_EQ(slow.size(), 1U);
    EXPECT_EQ(slow_inference_text(view, slow.front()),
              "inference takes 500.0 ms, but the forward phase of step takes 400.0 ms");
  }
  // What it gained is rough then.
  input.records.push_back(input.records[1]);
  input.records.back().name = "inference/model:small/ctx:256/dtype:bfloat16/mode:eager";
  input.records.back().config.json()["dtype"] = "bfloat16";
  input.traces.resize(3);
  EXPECT_THAT(option_gains_of(input).at(0).gains.at(0).doubt,
              HasSubstr("took longer than the forward phase of a step"));
  input.records[0].time["forward"] = make_time_stats(std::vector{0.6, 0.6, 0.6, 0.6, 0.6, 0.6});
  EXPECT_TRUE(PageView(input).slow_inferences().empty());
}

TEST(PageAnswers, APeakSaysWhereItIsAndItsSharesAddUp) {
  PageInput input = two_points();
  input.records.resize(1);
  input.traces = {trace_of_steps(1.0)};
  const Json figure = section_of(input, "memory")["figures"][0];
  EXPECT_THAT(figure["table"].dump(), HasSubstr("in forward, by matmul in layers.0.attn"));
  EXPECT_THAT(figure["table"].dump(), HasSubstr("parameters 80 %, saved activations 20 %"));
  EXPECT_EQ(figure["chart"]["labels"][0].size(), figure["chart"]["parts"].size());
}

// A step that arithmetic bounds for 0.2 s, and memory for as long.
StepTrace bounded_trace() {
  StepTrace trace = trace_of_steps(1.0);
  trace.peak_flops = 1e12;
  trace.bandwidth = 1e10;
  trace.launches.flops = {2e11, 1e11};
  trace.launches.bytes = {1 << 20, 2'000'000'000};
  trace.launches.signature[1] = trace.launches.phase[1];  // another signature than that of the first launch
  return trace;
}

// The share of the bound of the whole step, with the names of what bounds it.
TEST(PageAnswers, TheFrontPageSaysWhatBoundsTheStep) {
  PageInput input = two_points();
  input.records.resize(1);
  input.traces = {bounded_trace()};
  const std::string front = Json::parse(page_data(input))["conclusion"].dump();
  EXPECT_THAT(front, HasSubstr("the measured float32 peak of matrix products (1.000 TFLOP/s)"));
  EXPECT_THAT(front, HasSubstr("it runs at 40 % of that bound. 50 % of the bound is arithmetic"));
}

TEST(PageAnswers, EveryPassStandsBesideItsBound) {
  PageInput input = two_points();
  input.traces = {bounded_trace(), bounded_trace()};
  const Json figure = section_of(input, "roofline")["figures"][0];
  EXPECT_THAT(figure["reading"].get<std::string>(),
              HasSubstr("Of their bound the passes reach 40 % (float32) to 80 % (bfloat16)"));
  ASSERT_EQ(figure["table"]["rows"].size(), 2U);
  EXPECT_THAT(figure["table"]["rows"][0].dump(),
              AllOf(HasSubstr("500.0 ms, 80 % of its bound"), HasSubstr("0.2,0.2,0.5,")));
  input.traces.pop_back();
  input.traces.emplace_back();  // one alone is in a sentence
  const Json section = section_of(input, "roofline");
  for (const Json& other : section["figures"]) EXPECT_EQ(other["chart"]["kind"], "roofline");
}

TEST(PageAnswers, PublishedTimesAreOfTheSameArithmeticWhereThereAreSome) {
  const PageInput input = two_points();
  EXPECT_TRUE(is_same_arithmetic("bfloat16 autocast", input.records[1]));
  EXPECT_FALSE(is_same_arithmetic("bfloat16", input.records[1]));
  EXPECT_FALSE(is_same_arithmetic("tf32", input.records[0]));
  const Json answers = section_of(input, "comparisons")["questions"][1]["answers"];
  EXPECT_THAT(answers.dump(), HasSubstr("published for the same work, arithmetic and mode: "));
  EXPECT_THAT(answers.dump(), HasSubstr("source: "));
  const Json section = section_of(input, "comparisons");
  EXPECT_THAT(section["questions"][1]["conclusion"].get<std::string>(),
              testing::StartsWith("like for like, the shortest published times are 13.5 times as fast as"));
  const Json figure = section_of(input, "published")["figures"][0];
  EXPECT_THAT(figure["table"].dump(), HasSubstr("published, same arithmetic"));
  EXPECT_THAT(figure["table"].dump(), HasSubstr(" in another arithmetic; "));
}

}  // namespace
}  // namespace laptime
