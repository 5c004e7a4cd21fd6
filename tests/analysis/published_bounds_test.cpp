// The table of published ratios matches docs/predictions.md.
#include "analysis/published_bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace laptime {
namespace {

TEST(PublishedBounds, MatchTheDocumentation) {
  std::ifstream file(LAPTIME_SOURCE_DIR "/docs/predictions.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const PublishedRatio& one : published_ratios()) {
    const std::string row = fmt::format("| {} | {} | {} | {:.2f} | {:.2f} to {:.2f} |", one.arithmetic, one.mode,
                                        one.times, one.median, one.low, one.high);
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  }
}

TEST(PublishedBounds, SixteenBitTypesShareARatio) {
  EXPECT_EQ(published_ratio("float16", "eager")->times, published_ratio("bfloat16", "eager")->times);
  EXPECT_EQ(published_ratio("float32", "compile")->high, 4.30);
  EXPECT_FALSE(published_ratio("float32", "fast").has_value());
}

}  // namespace
}  // namespace laptime
