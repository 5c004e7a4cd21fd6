// Shares in percent: enough digits, and sums of 100.
#include "report/percents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace laptime {
namespace {

using testing::ElementsAre;

TEST(Percents, HaveTwoDigitsAtLeast) {
  EXPECT_EQ(percent_text(0.621), "62 %");
  EXPECT_EQ(percent_text(0.0204), "2.0 %");
  EXPECT_EQ(percent_text(0.000312), "0.031 %");
  EXPECT_EQ(percent_text(-0.0204), "-2.0 %");
  EXPECT_EQ(percent_text(0), "0 %");
}

TEST(Percents, WholeOnesAddUp) {
  EXPECT_THAT(whole_percents({455, 305, 240}), ElementsAre(46, 30, 24));  // rounded singly they would be 101
  EXPECT_THAT(whole_percents({1, 1, 1}), ElementsAre(34, 33, 33));
  EXPECT_THAT(whole_percents({0, 7}), ElementsAre(0, 100));
  EXPECT_THAT(whole_percents({0, 0}), ElementsAre(0, 0));
  EXPECT_THAT(whole_percents({}), ElementsAre());
}

}  // namespace
}  // namespace laptime
