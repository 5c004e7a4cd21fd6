// The table of published ratios is that of docs/predictions.md.
#include "analysis/published_bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace laptime {
namespace {

TEST(PublishedBounds, AreThoseOfTheDocument) {
  std::ifstream file(LAPTIME_SOURCE_DIR "/docs/predictions.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const PublishedRatio& one : published_ratios()) {
    const std::string row = fmt::format("| {} | {} | {} | {} | {:.2f} | {:.2f} to {:.2f} |", one.machine,
                                        one.arithmetic, one.mode, one.times, one.median, one.low, one.high);
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  }
}

TEST(PublishedBounds, OtherMachinesStandInTogether) {
  EXPECT_EQ(published_ratio("h100", "tf32", "eager")->machine, "h100");
  const auto all = published_ratio("gb200", "float32", "compile");
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->machine, "");
  EXPECT_EQ(all->times, 22);
  EXPECT_NEAR(all->low, 1.47, 1e-12);
  EXPECT_NEAR(all->high, 4.30, 1e-12);
}

}  // namespace
}  // namespace laptime
