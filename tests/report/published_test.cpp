// The published figures that are built into the program.
#include "report/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "report/stored_records.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::HasSubstr;

TEST(Published, FiguresStateSourceHardwareAndArithmetic) {
  const std::vector<PublishedFigure>& figures = published_figures();
  EXPECT_GT(figures.size(), 400U);
  for (const PublishedFigure& figure : figures) {
    EXPECT_NE(figure.source, "");
    EXPECT_NE(figure.hardware, "");
    EXPECT_NE(figure.arithmetic, "");
    EXPECT_GT(figure.time_s.value_or(1), 0) << figure.source;
  }
}

// A figure for the model of the first stored record.
PublishedFigure figure_of_small() {
  PublishedFigure figure;
  figure.model = "small";
  figure.edition = "2025";
  figure.context_length = 256;
  figure.batch_size = 4;
  return figure;
}

TEST(Published, MatchesModelEditionContextAndBatch) {
  Record record = stored_records().front();
  PublishedFigure figure = figure_of_small();
  EXPECT_TRUE(is_of_same_model(figure, record));
  figure.edition = "2024";
  EXPECT_FALSE(is_of_same_model(figure, record));
  figure.edition = "2025";
  record.config.json()["crop_context"] = 32;
  EXPECT_FALSE(is_of_same_model(figure, record));
}

TEST(Published, RejectsModelsWithAnotherVocabularyOrHead) {
  const auto is_same_with = [](const char* key, const Json& value) {
    Record record = stored_records().front();
    record.config.json()[key] = value;
    return is_of_same_model(figure_of_small(), record);
  };
  EXPECT_TRUE(is_same_with("vocab_size", 10'000));
  EXPECT_FALSE(is_same_with("vocab_size", 50'257));
  EXPECT_TRUE(is_same_with("weight_tie", false));
  EXPECT_TRUE(is_same_with("weight_tie", nullptr)) << "as in records of builds without the option";
  EXPECT_FALSE(is_same_with("weight_tie", true));
  EXPECT_FALSE(is_same_with("bias", true));
}

TEST(Published, ErrorNamesTheDamagedLine) {
  const std::string header(published_figures_file().substr(0, published_figures_file().find('\n') + 1));
  const std::string good = "s,h,PyTorch,2025,small,256,4,step,eager,float32,float32,stated,5,10,ok,0.5,,,,\n";
  EXPECT_EQ(parse_published(header + good, "t.csv").size(), 1U);
  const auto message = [](const std::string& text) { return test::error_of([&] { parse_published(text, "t.csv"); }); };
  EXPECT_THAT(message("a,b\n"), HasSubstr("t.csv:1: "));
  EXPECT_THAT(message(header + good + "too,few\n"), HasSubstr("t.csv:3: 2 cells"));
  EXPECT_THAT(message(header + "s,h,p,2025,small,x56,4,step,eager,f,f,stated,5,10,ok,0.5,,,,\n"),
              HasSubstr("t.csv:2: column context_length"));
  EXPECT_THAT(message(header + "s,h,p,2025,small,256,4,sprint,eager,f,f,stated,5,10,ok,0.5,,,,\n"),
              HasSubstr("sprint"));
  EXPECT_THAT(message(header + "s,h,p,2025,small,256,4,step,eager,f,f,stated,5,10,ok,,,,,\n"),
              HasSubstr("must have a time"));
}

}  // namespace
}  // namespace laptime
