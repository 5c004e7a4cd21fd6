// Values as text: digits, units, shares and ratios.
#include "table/value_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "table/table.h"

namespace laptime {
namespace {

using testing::ElementsAre;

TEST(Percents, HaveAtLeastTwoDigits) {
  EXPECT_EQ(percent_text(0.621), "62 %");
  EXPECT_EQ(percent_text(0.0204), "2.0 %");
  EXPECT_EQ(percent_text(0.000312), "0.031 %");
  EXPECT_EQ(percent_text(-0.0204), "-2.0 %");
  EXPECT_EQ(percent_text(6e-7), "<0.0001 %");
  EXPECT_EQ(percent_text(0), "0 %");
}

TEST(ValueText, UnknownNumbersAreDashes) {
  for (const double unknown : {std::nan(""), -std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (const Unit unit : {Unit::kSeconds, Unit::kBytes, Unit::kFraction, Unit::kRatio, Unit::kFlops, Unit::kNone}) {
      EXPECT_EQ(value_text(unknown, unit), "-");
    }
    for (const std::string& text :
         {percent_text(unknown), whole_percent_text(unknown), change_text(unknown), fixed_text(unknown, 2),
          ratio_text(unknown, 1, 2), ratio_with_interval(unknown, 1, 2), format_in({}, unknown, 1)})
      EXPECT_EQ(text, "-");
    EXPECT_EQ(csv_line(std::vector<Json>{1, unknown, 2}), "1,,2\r\n");
  }
}

TEST(ValueText, ExtremeIntegersCountAsUnknown) {
  for (const int64_t unknown : {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(value_text(unknown, Unit::kBytes), "-");
    EXPECT_FALSE(common_scale(std::vector{static_cast<double>(unknown)}, Unit::kBytes));
  }
  EXPECT_EQ(value_text(int64_t{1} << 50, Unit::kBytes), "1.00 PiB");
}

TEST(Percents, FormatWholePercentsAndChanges) {
  EXPECT_EQ(whole_percent_text(0.621), "62 %");
  EXPECT_EQ(change_text(0.0341), "+3.4 %");
  EXPECT_EQ(change_text(-0.0341), "-3.4 %");
  EXPECT_EQ(fixed_text(1.0341, 3), "1.034");
  EXPECT_EQ(fixed_text(-123456.789, 2), "-123456.79");
  EXPECT_EQ(fixed_text(1e308, 2), "1e+308");
}

TEST(Percents, WholePercentsAddUpTo100) {
  EXPECT_THAT(whole_percents({455, 305, 240}), ElementsAre(46, 30, 24));  // separate rounding would give 101
  EXPECT_THAT(whole_percents({1, 1, 1}), ElementsAre(34, 33, 33));
  EXPECT_THAT(whole_percents({0, 7}), ElementsAre(0, 100));
  EXPECT_THAT(whole_percents({0, 0}), ElementsAre(0, 0));
  EXPECT_THAT(whole_percents({}), ElementsAre());
}

TEST(ValueText, ShowsThreeDigits) {
  EXPECT_EQ(value_text(0.12931, Unit::kSeconds), "129 ms");
  EXPECT_EQ(value_text(1.0972, Unit::kSeconds), "1.10 s");
  EXPECT_EQ(value_text(93.26e-6, Unit::kSeconds), "93.3 us");
  EXPECT_EQ(value_text(380 * 0x1p20, Unit::kBytes), "380 MiB");
  EXPECT_EQ(value_text(1023, Unit::kBytes), "1023 B");
  EXPECT_EQ(value_text(31498.7, Unit::kTokensPerSecond), "31,499");
  EXPECT_EQ(value_text(0.221, Unit::kFraction), "22 %");
  EXPECT_EQ(value_text(1.5, Unit::kRatio), "1.50x");
  EXPECT_EQ(value_text(5.91912, Unit::kNats), "5.9191");
  EXPECT_EQ(value_text(1024, Unit::kNone), "1024");
  EXPECT_EQ(value_text(true, Unit::kNone), "yes");
  EXPECT_EQ(value_text(nullptr, Unit::kSeconds), "-");
}

TEST(ValueText, KeepsTheScaleOfItsColumn) {
  const Scale ms{1e-3, "ms"};
  EXPECT_EQ(value_text(1.2345, Unit::kSeconds, ms), "1234 ms");
  EXPECT_EQ(value_text(12.345, Unit::kSeconds, ms), "12,345 ms");
  EXPECT_EQ(value_text(93e-6, Unit::kSeconds, ms), "0.0930 ms");
  EXPECT_EQ(value_text(0, Unit::kSeconds, ms), "0 ms");
}

TEST(ValueText, RoundsToTheUncertainty) {
  EXPECT_EQ(value_text(0.2726, Unit::kSeconds, {}, 0.07), "273 ms");  // half width 19 ms
  EXPECT_EQ(value_text(0.6823, Unit::kSeconds, {}, 0.09), "680 ms");  // half width 61 ms
  EXPECT_EQ(value_text(0.6823, Unit::kSeconds, {}, 0.001), "682 ms");
  EXPECT_EQ(value_text(0.2726, Unit::kSeconds, {}, 0.5), "270 ms");  // half width 136 ms
  EXPECT_EQ(value_text(0.2726, Unit::kSeconds, {}, 3), "270 ms");
  EXPECT_EQ(value_text(0.6823, Unit::kSeconds, {}, 0.014), "682 ms");  // half width 9.55 ms, rounded to 10
  EXPECT_EQ(value_text(6.823, Unit::kSeconds, {}, 0.14), "6.8 s");     // half width 0.955 s, rounded to 1.0
  EXPECT_EQ(value_text(682.3, Unit::kSeconds, {}, 0.142), "680 s");    // half width 97 s, rounded to 100
  EXPECT_EQ(value_text(4.64, Unit::kSeconds, {}, 0.1), "4.6 s");
  EXPECT_EQ(value_text(31498.7, Unit::kTokensPerSecond, {}, 0.02), "31,500");
}

TEST(ValueText, ValuesOfAColumnShareAScale) {
  EXPECT_EQ(common_scale(std::vector{0.5, 0.02, 0.0003}, Unit::kSeconds)->name, "ms");
  EXPECT_EQ(common_scale(std::vector{0.0, 3.0}, Unit::kSeconds)->name, "s");
  EXPECT_FALSE(common_scale(std::vector{0.0}, Unit::kSeconds));
  EXPECT_FALSE(common_scale(std::vector{3.0}, Unit::kFraction));
}

TEST(ValueText, PlusMinusIsZeroOnlyForZero) {
  EXPECT_EQ(plus_minus_text(0.0712), "±7 %");
  EXPECT_EQ(plus_minus_text(0.0042), "±0.4 %");
  EXPECT_EQ(plus_minus_text(0.00001), "±0.1 %");
  EXPECT_EQ(plus_minus_text(0), "±0 %");
}

TEST(ValueText, IntervalDeterminesTheDigitsOfARatio) {
  EXPECT_EQ(ratio_with_interval(1.4712, 1.21, 1.74), "1.5x (1.2-1.7)");
  EXPECT_EQ(ratio_with_interval(0.9512, 0.931, 0.972), "0.95x (0.93-0.97)");
  EXPECT_EQ(ratio_with_interval(24.2, 20.7, 28.1), "24x (21-28)");
  EXPECT_EQ(ratio_text(1.0021, 1.0003, 1.004), "1.002x");
}

}  // namespace
}  // namespace laptime
