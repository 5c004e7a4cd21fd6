// What a reader of the page alone is told: verdicts and their meaning, which times are traced, how points compare.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "record/time_stats.h"
#include "report/page/page.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/page/traced_time.h"
#include "report/page_inputs.h"
#include "report/palette.h"
#include "report/published/published.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PageReading, AVerdictStandsBesideEachTimeAndIsExplainedThere) {
  PageInput input = two_points();
  input.records[1].verdict = {"no_steady_state", {"of a reason"}};
  for (const char* const id : {"step-time", "samples"}) {
    const Json figure = section_of(input, id)["figures"][0];
    const std::string drawn = id == std::string("samples") ? figure["chart"].dump() : figure["table"].dump();
    EXPECT_THAT(drawn, HasSubstr("), stable")) << id;
    EXPECT_THAT(drawn, HasSubstr("), no steady state")) << id;
    ASSERT_EQ(figure["words"].size(), 2U) << id;
    EXPECT_EQ(figure["words"][0][0], "stable");
    EXPECT_EQ(figure["words"][1][0], "no steady state");
    EXPECT_THAT(figure["words"][1][1].get<std::string>(), HasSubstr("still got faster or slower"));
  }
}

TEST(PageReading, ArithmeticIsExplainedWhereItIsMoreThanANumberType) {
  const PageInput input = two_points();
  const std::vector<PageWord> words = arithmetic_words({&input.records[0], &input.records[1]});
  ASSERT_EQ(words.size(), 1U);
  EXPECT_EQ(words[0].word, "bfloat16 autocast, float32 partly split");
  EXPECT_THAT(words[0].meaning, HasSubstr("rounded to bfloat16"));
  EXPECT_THAT(words[0].meaning, Not(HasSubstr("rounded to float16")));
  EXPECT_THAT(words[0].meaning, HasSubstr("where that was faster here"));
  EXPECT_THAT(words[0].meaning, Not(HasSubstr("each matrix product")));
  EXPECT_THAT(Json::parse(page_data(input))["header"]["words"].dump(), HasSubstr("partly split"));
}

TEST(PageReading, TracedTimesAreToldFromMeasuredOnes) {
  EXPECT_EQ(against_measured(1.03, 1.0), "+3.0 % from the 1.000 s measured without marks");
  EXPECT_EQ(against_measured(2.5, 1.0),
            "2.50 times the 1.000 s measured without marks: trust its shares rather than its times");
  PageInput input = two_points();
  input.traces = {trace_of_steps(1.0), trace_of_steps(1.25)};
  const Json figure = section_of(input, "classes")["figures"][0];
  const auto summary = figure["summary"].get<std::string>();
  EXPECT_THAT(summary, HasSubstr("Traced steps take 1.00 ("));
  EXPECT_THAT(summary, HasSubstr("to 2.50 times ("));
  EXPECT_THAT(summary, HasSubstr("change a step by +2.0 %"));
  EXPECT_THAT(summary, HasSubstr("trust the shares rather than the times"));
  input.traces[1] = trace_of_steps(0.5);
  EXPECT_THAT(section_of(input, "classes")["figures"][0]["summary"].get<std::string>(),
              Not(HasSubstr("rather than the times")));
}

TEST(PageReading, ATracedPhaseHasItsMeasuredTimeBesideIt) {
  PageInput input = two_points();
  input.records.resize(1);
  input.records[0].time["forward"] = make_time_stats(std::vector{0.4, 0.4, 0.4});
  input.traces = {trace_of_steps(1.0)};
  const Json texts = section_of(input, "classes")["figures"][0]["chart"]["texts"];
  EXPECT_EQ(texts, Json({"500.0 ms, 50 % of the step; measured 400.0 ms", "500.0 ms, 50 % of the step"}));
  EXPECT_THAT(section_of(input, "classes")["figures"][0]["summary"].get<std::string>(),
              HasSubstr("the traced one is more than 10 % from it"));
}

TEST(PageReading, OtherIsExplainedWhereItIsDrawn) {
  PageInput input = two_points();
  input.records.resize(1);
  input.traces.resize(1);
  Record& record = input.records[0];
  record.phases = {{"forward", 0.6, 0.6}, {"residue", 0.4, 0.4}};
  record.classes = {{"forward", "matmul", 0.6, 0.6}};
  const auto summary = [&] { return section_of(input, "classes")["figures"][0]["summary"].get<std::string>(); };
  EXPECT_THAT(summary(), Not(HasSubstr("called other")));
  record.classes = {{"forward", "matmul", 0.5, 0.5}};
  EXPECT_THAT(summary(), HasSubstr("called other"));
}

TEST(PageReading, FastestAndSlowestAreComparedWithAnInterval) {
  PageInput input = two_points();
  std::string answer = answer_to(section_of(input, "comparisons"), "fastest");
  EXPECT_THAT(answer, HasSubstr("Of 2 ways to do the same work"));
  EXPECT_THAT(answer, HasSubstr("bfloat16 is the fastest with 500.0 ms"));
  EXPECT_THAT(answer, HasSubstr("2.00 times as long (95 %: "));
  EXPECT_THAT(Json::parse(page_data(input))["conclusion"].dump(), HasSubstr("2.00 times as long (95 %: "));

  input.records[0].verdict = {"unstable", {"of a reason"}};
  answer = answer_to(section_of(input, "comparisons"), "fastest");
  EXPECT_THAT(answer, HasSubstr("2.00 times as long (roughly: the verdict on float32 is unstable)"));

  input.records[1].verdict = input.records[0].verdict;
  answer = answer_to(section_of(input, "comparisons"), "fastest");
  EXPECT_THAT(answer, HasSubstr("2.00 times as long (roughly: the verdict on both is unstable)"));

  input.records[0].config.json()["context_length"] = 128;  // other work
  EXPECT_EQ(answer_to(section_of(input, "comparisons"), "fastest"), "");
}

TEST(PageReading, PublishedAndPredictedTimesAreCompared) {
  PageInput input = two_points();
  const std::vector<const PublishedFigure*> figures = published_times_of(input.records[0]);
  ASSERT_FALSE(figures.empty());
  EXPECT_TRUE(std::is_sorted(figures.begin(), figures.end(),
                             [](const auto* a, const auto* b) { return *a->seconds < *b->seconds; }));
  for (const PublishedFigure* const figure : figures) EXPECT_EQ(figure->pass, "step");
  input.records[1].prediction.time["step"] = 0.55;
  const Json section = section_of(input, "comparisons");
  const std::string published = answer_to(section, "published");
  EXPECT_THAT(published, HasSubstr("took 1.000 s here"));
  const auto alike = std::find_if(figures.begin(), figures.end(), [](const PublishedFigure* figure) {
    return figure->arithmetic == "float32" && figure->mode == "eager" && figure->certainty != kDoubtful;
  });
  ASSERT_NE(alike, figures.end());
  EXPECT_THAT(published, HasSubstr((*alike)->hardware));
  EXPECT_THAT(published, HasSubstr(fmt::format("{:.3g} times as fast as here", 1.0 / *(*alike)->seconds)));
  EXPECT_THAT(answer_to(section, "prediction"),
              HasSubstr("predicted 550.0 ms, measured 500.0 ms: +10.0 % of the measured time"));

  for (Record& record : input.records) record.config.json()["batch_size"] = 77;
  EXPECT_THAT(answer_to(section_of(input, "comparisons"), "published"), HasSubstr("No published time"));
}

// A published time is compared with a measured one first, with an interval; with a prediction it says what it is.
TEST(PageReading, APublishedTimeAgainstOneOfThePage) {
  Record record = two_points().records[0];
  const std::string sure = published_against(0.1, record, *record.main_time(), " as here");
  EXPECT_THAT(sure, testing::ContainsRegex("^10 times as fast as here [(][0-9.]+ [.][.] [0-9.]+[)]$"));
  EXPECT_THAT(published_against(4.0, record, *record.main_time(), ""), testing::StartsWith("4 times as slow ("));
  record.verdict.rating = "unstable";
  EXPECT_EQ(published_against(0.1, record, *record.main_time(), ""), "roughly 10 times as fast");
  record.verdict.rating = kPredicted;
  EXPECT_EQ(published_against(0.1, record, *record.main_time(), " as predicted"), "10 times as fast as predicted");
}

TEST(PageReading, PredictedTimesAreNotCalledMedians) {
  PageInput input = two_points();
  for (Record& record : input.records) record.verdict.rating = kPredicted;
  const Json figure = section_of(input, "step-time")["figures"][0];
  EXPECT_EQ(figure["title"], "Predicted time of each phase");
  EXPECT_THAT(figure["summary"].get<std::string>(), Not(HasSubstr("median")));
  EXPECT_EQ(figure["chart"]["total_name"], "time of the pass");
}

TEST(PageReading, WhatIsTooLittleToSeeIsNamedAndNotDrawn) {
  PageInput input = two_points();
  input.records.resize(1);
  input.traces = {trace_of_steps(1.0)};
  for (const char* const id : {"memory", "timeline"}) {
    const Json section = section_of(input, id);
    ASSERT_FALSE(section.is_null()) << id;
    const Json figure = section["figures"][0];
    EXPECT_THAT(figure["summary"].get<std::string>(), HasSubstr("Too little to be seen: workspace (at most 1")) << id;
    EXPECT_THAT(figure["chart"]["parts"].dump(), HasSubstr("parameters")) << id;
    EXPECT_THAT(figure["chart"]["parts"].dump(), Not(HasSubstr("workspace"))) << id;
    EXPECT_THAT(figure["table"]["columns"].dump(), HasSubstr("workspace_bytes")) << id;
  }
}

// A custom model is described, because its name says nothing.
TEST(PageReading, ACustomModelIsDescribed) {
  PageInput input = two_points();
  for (Record& record : input.records) {
    record.config.json()["model"] = "custom";
    record.name = "step/d_model:768/dtype:" + record.config.text("dtype");
  }
  EXPECT_THAT(Json::parse(page_data(input))["conclusion"][0]["text"].get<std::string>(),
              HasSubstr("a custom model (layers 12, d_model 768, "));
}

TEST(PageReading, ASeriesWithoutSteadyStateSaysHowFarItWent) {
  Record record = two_points().records[0];
  record.verdict = {"no_steady_state", {"of a reason"}};
  EXPECT_EQ(drift_text(record), "");  // it went nowhere
  EXPECT_EQ(verdict_and_reason(record), "no steady state: of a reason");

  const auto rise = [&](double each) {
    std::vector<double> rising(41);
    for (size_t i = 0; i < rising.size(); ++i) rising[i] = 1 + each * static_cast<double>(i);
    record.time["step"] = make_time_stats(rising);
  };
  rise(0.0019);
  EXPECT_EQ(verdict_and_reason(record), "no steady state: drifts +7.3 % over 41 samples");
  // A trend that alone would make the verdict noisy is not the reason.
  rise(0.001);
  EXPECT_EQ(verdict_and_reason(record), "no steady state: of a reason");
  record.verdict.rating = "noisy";
  EXPECT_THAT(verdict_and_reason(record), testing::EndsWith("drifts +3.9 % over 41 samples"));
  record.verdict = {"noisy", {"0.7 % of the time was lost to a CPU quota (limit 0.5 %)"}};
  record.time["step"] = make_time_stats(std::vector<double>(8, 1.0));
  EXPECT_EQ(verdict_and_reason(record), "noisy: 0.7 % of the time was lost to a CPU quota");
  record.verdict.rating = "no_steady_state";

  record.time["step"] = make_time_stats(std::vector{1.0, 1.0, 1.0, 1.0, 1.0, 0.95, 0.95, 0.95});
  record.transient.warmup = {1.0, 1.0};
  EXPECT_EQ(drift_text(record), "last 5 steps -5.0 %");
  record.verdict.rating = "stable";
  EXPECT_EQ(verdict_and_reason(record), "stable");
}

// The steps settle again at the end, so that it is the begin of the samples which was not steady.
TEST(PageReading, TheFirstSamplesMayBeThoseThatWereNotSteady) {
  Record record = two_points().records[0];
  record.transient.warmup = {1.2, 1.2, 1.2, 1.2, 1.2};
  record.time["step"] = make_time_stats(std::vector<double>(12, 1.0));
  EXPECT_EQ(drift_text(record), "first 5 steps -16.7 %");
}

// Wherever a page says a word of a verdict, its rule stands beside it.
TEST(PageReading, EveryWordOfAVerdictHasItsRuleBesideIt) {
  PageInput input = two_points();
  input.records[0].verdict = {"no_steady_state", {"of a reason"}};
  const auto has_words = [](const Json& words, const std::string& word) {
    return std::any_of(words.begin(), words.end(), [&](const Json& one) { return one[0] == word; });
  };
  const Json page = Json::parse(page_data(input));
  std::set<std::string> explained;
  for (const Json& section : page["sections"]) {
    bool is_explained = false;
    for (const Json& figure : section["figures"]) {
      const std::string texts = figure["chart"].dump() + figure["reading"].dump() + figure["table"]["rows"].dump() +
                                figure["table"]["shown"].dump();
      EXPECT_FALSE(has_words(figure["words"], "noisy")) << figure["title"];
      if (texts.find("no steady state") == std::string::npos && texts.find("no_steady_state") == std::string::npos)
        continue;
      is_explained = is_explained || has_words(figure["words"], "no steady state");
      EXPECT_TRUE(is_explained || figure["table"]["notes"].dump().find("no steady state: ") != std::string::npos)
          << figure["title"];
    }
    const std::string lines = section["lines"].dump() + section["questions"].dump();
    if (lines.find("no steady state") != std::string::npos) {
      EXPECT_NE(has_words(section["words"], "no steady state"), is_explained) << section["id"];
      is_explained = true;
    }
    if (is_explained) explained.insert(section["id"].get<std::string>());
  }
  for (const char* const id : {"comparisons", "tables", "step-time", "samples", "speed-up", "published"})
    EXPECT_TRUE(explained.contains(id)) << id;
}

// A time that is stable has remarks, not reasons.
TEST(PageReading, ARemarkDoesNotContradictAStableTime) {
  PageInput input = two_points();
  for (Record& record : input.records) record.verdict = {"stable", {"samples as short as 1 ms feel every interrupt"}};
  const std::string front = Json::parse(page_data(input))["conclusion"][1]["text"].get<std::string>();
  EXPECT_THAT(front, testing::StartsWith("stable: the median is known within 1 %"));
  EXPECT_THAT(front, HasSubstr("Remark: samples as short as 1 ms"));
  const Json reasons = section_of(input, "samples")["figures"][1]["table"]["rows"];
  EXPECT_EQ(reasons[0][1], "stable, with a remark");
  EXPECT_EQ(reasons[0][2], "samples as short as 1 ms feel every interrupt");
}

TEST(PageReading, EveryPhaseOfAStepHasItsBar) {
  PageInput input = two_points();
  input.records.resize(1);
  input.traces.resize(1);
  Record& record = input.records[0];
  record.phases = {{"forward", 0.5, 0.5}, {"backward", 0.3, 0.3}, {"optimizer", 0.2, 0.2}};
  record.classes = {
      {"forward", "matmul", 0.5, 0.5}, {"backward", "matmul", 0.3, 0.3}, {"optimizer", "optimizer", 0.2, 0.2}};
  const Json figure = section_of(input, "classes")["figures"][0];
  EXPECT_EQ(figure["chart"]["texts"],
            Json({"500.0 ms, 50 % of the step", "300.0 ms, 30 % of the step", "200.0 ms, 20 % of the step"}));
  EXPECT_EQ(figure["table"]["rows"][2][4], 1.0);
  EXPECT_THAT(figure["reading"].get<std::string>(), HasSubstr("matmul 80 % of the time, optimizer 20 %."));
}

// Every chart says in a sentence what its numbers show.
TEST(PageReading, FirstStepsAndPhasesAreReadInASentence) {
  PageInput input = two_points();
  input.records[0].transient.warmup = {1.5, 1.0, 1.0, 1.0, 1.0};
  input.records[1].transient.warmup = {0.5};
  input.records[0].time["forward"] = make_time_stats(std::vector{0.25, 0.25, 0.25});
  const Json first = section_of(input, "first-steps")["figures"][0];
  EXPECT_EQ(first["reading"],
            "1 of 2 points reached a steady state, from step 6 on; 1 ran too few steps to tell. The slowest first step "
            "took 1.50 times the median (float32).");
  EXPECT_EQ(first["chart"]["texts"]["float32"], "steady from step 6 on");
  EXPECT_EQ(
      section_of(input, "step-time")["figures"][0]["reading"],
      "The shortest step takes 500.0 ms (bfloat16), the longest 1.000 s (float32). Of the step forward takes 25 %.");
  EXPECT_THAT(section_of(input, "samples")["figures"][0]["reading"].get<std::string>(),
              HasSubstr("The median is known within 1 % at 2 of 2 points"));
}

// A class that only some points have is explained where both kinds are drawn.
TEST(PageReading, ClassesThatOnlySomePointsHaveAreExplained) {
  PageInput input = two_points();
  for (Record& record : input.records) record.phases = {{"forward", 1, 1}};
  input.records[0].classes = {{"forward", "matmul", 0.5, 0.5}, {"forward", "softmax", 0.5, 0.5}};
  input.records[1].classes = {{"forward", "matmul", 0.5, 0.5}, {"forward", "attention", 0.5, 0.5}};
  const auto summary = [&] { return section_of(input, "classes")["figures"][0]["summary"].get<std::string>(); };
  EXPECT_THAT(summary(), HasSubstr("Attention is a class of its own"));
  EXPECT_THAT(summary(), Not(HasSubstr("Inference ends with the loss")));
  input.records[0].config.json()["pass"] = "inference";
  input.records[0].time = {{"inference", input.records[0].time["step"]}};
  input.records[0].classes[1].work_class = "loss";
  EXPECT_THAT(summary(), Not(HasSubstr("Attention is a class of its own")));
  EXPECT_THAT(summary(), HasSubstr("Inference ends with the loss"));
}

// Sixteen points of one phase each are drawn; of more bars than a chart holds the rest is left out, and said.
TEST(PageReading, ClassesOfAsManyPointsAsHaveRoomAreDrawn) {
  PageInput input = two_points();
  Record record = input.records[0];
  record.phases = {{"forward", 0.5, 0.5}, {"backward", 0.5, 0.5}};
  record.classes = {{"forward", "matmul", 0.5, 0.5}, {"backward", "matmul", 0.5, 0.5}};
  const auto with_points = [&](int points) {
    input.records.assign(static_cast<size_t>(points), record);
    for (int i = 0; i < points; ++i) input.records[static_cast<size_t>(i)].name += fmt::format("/seed:{}", i);
    input.traces.resize(static_cast<size_t>(points));
    return section_of(input, "classes")["figures"][0];
  };
  EXPECT_EQ(with_points(16)["chart"]["texts"].size(), 32U);
  EXPECT_THAT(with_points(16)["summary"].get<std::string>(), Not(HasSubstr("are drawn")));
  EXPECT_EQ(with_points(30)["chart"]["texts"].size(), 40U);
  EXPECT_THAT(with_points(30)["summary"].get<std::string>(), HasSubstr("The first 20 of 30 points are drawn"));
}

TEST(PageReading, APointWithoutPredictionIsNamedWithItsReason) {
  PageInput input = two_points();
  input.records[1].prediction.time["step"] = 0.55;
  const auto summary = section_of(input, "prediction")["figures"][0]["summary"].get<std::string>();
  EXPECT_THAT(summary, HasSubstr("1 point has no prediction, because no launch of its steps had been timed"));
  EXPECT_THAT(summary, HasSubstr("float32"));
}

TEST(PageReading, LongerContextsOfTheHeadlinesPassAreComparedFirst) {
  PageInput input = two_points();
  for (const int context : {128, 64}) {
    for (Record record : two_points().records) {
      record.name += fmt::format("/ctx:{}", context);
      record.config.json()["context_length"] = context;
      record.flops.forward = 1;
      input.records.push_back(record);
    }
  }
  input.traces.resize(input.records.size());
  const Json section = section_of(input, "comparisons");
  const Json& answers = section["questions"][0]["answers"];
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_THAT(answers[1].get<std::string>(), HasSubstr("128"));
  EXPECT_THAT(answers[2].get<std::string>(), HasSubstr("64"));
}

// One thing has one look, whatever kind of chart it is in.
TEST(Palette, AThingHasOneColourInEveryChart) {
  EXPECT_EQ(look_of_phase("optimizer").color, look_of_class("optimizer").color);
  EXPECT_EQ(look_of_phase("optimizer").pattern, look_of_class("optimizer").pattern);
  EXPECT_EQ(look_of_phase("optimizer").color, look_of(MemoryCategory::kOptimizerState).color);
  EXPECT_EQ(look_of_phase("optimizer").pattern, look_of(MemoryCategory::kOptimizerState).pattern);
}

template <class Looks>
void expect_distinct(const Looks& looks) {
  const auto part = [](std::string_view color, size_t at) {
    return static_cast<double>(std::stoi(std::string(color.substr(at, 2)), nullptr, 16));
  };
  constexpr double kLeast = 55;  // between two colours, in units of their parts
  for (size_t a = 0; a < looks.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      EXPECT_NE(looks[a].pattern, looks[b].pattern) << looks[a].color << " " << looks[b].color;
      double square = 0;
      for (const size_t at : {1, 3, 5}) square += std::pow(part(looks[a].color, at) - part(looks[b].color, at), 2);
      EXPECT_GE(std::sqrt(square), kLeast) << looks[a].color << " " << looks[b].color;
    }
  }
}

TEST(Palette, ThingsOfAKindDifferInColourAndPattern) {
  std::vector<Look> categories{look_of_gaps()};
  for (size_t i = 0; i < kMemoryCategoryCount; ++i) categories.push_back(look_of(category_at(i)));
  expect_distinct(categories);
  for (const std::span<const NamedLook> kind : {phase_looks(), class_looks()}) {
    std::vector<Look> looks;
    for (const NamedLook& one : kind) looks.push_back(one.look);
    expect_distinct(looks);
  }
}

}  // namespace
}  // namespace laptime
