// Profiles side by side: their rows close, casts and top kernels have their shares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/profile/compared_profiles.h"
#include "report/row.h"
#include "report/traced_step.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ComparedProfiles : public Profile {};

TEST_F(ComparedProfiles, SharesOfEachPassAddUpToItsStep) {
  StepTrace longer = trace_;
  for (TracedStep& step : longer.steps) step.total *= 3;
  const Grid shares = class_shares({{"inference", &trace_}, {"step", &longer}});
  EXPECT_NEAR(column_sum(shares, "inference"), 1, 1e-12);
  EXPECT_NEAR(column_sum(shares, "step"), 1, 1e-12);
  EXPECT_EQ(shares.rows.back().front(), "residue");
}

TEST_F(ComparedProfiles, ComparedProfilesCloseTheirSums) {
  StepTrace faster = trace_;
  for (TracedStep& step : faster.steps) {
    for (int64_t& launch : step.launches) launch /= 2;
    step.total /= 2;
  }
  for (const Grid& grid : compare_profiles({"eager", &trace_}, {"compile", &faster})) {
    ASSERT_EQ(grid.rows.back()[0], "step");
    double saved = 0;
    double shares = 0;
    for (size_t i = 0; i + 1 < grid.rows.size(); ++i) {
      saved += grid.rows[i][3].get<double>();
      shares += grid.rows[i][4].get<double>();
    }
    EXPECT_NEAR(saved, grid.rows.back()[3].get<double>(), 1e-15);
    EXPECT_NEAR(shares, 1, 1e-9);
    EXPECT_NEAR(grid.rows.back()[5].get<double>(), 2, 1e-9);
  }
}

TEST_F(ComparedProfiles, DisturbedOnesAreCounted) {
  StepTrace calm = trace_;
  calm.mark = 0;
  calm.steps.resize(1);
  calm.untraced = {calm.steps.front().total};
  StepTrace disturbed = calm;
  disturbed.untraced.front() /= 2;
  EXPECT_TRUE(disturbed_profiles({{"eager", &calm}, {"compile", &calm}}).empty());
  EXPECT_THAT(disturbed_profiles({{"eager", &calm}, {"compile", &disturbed}}),
              testing::ElementsAre(HasSubstr("disturbed: 1 of 2 profiles")));
}

TEST_F(ComparedProfiles, ASpeedUpHasItsInterval) {
  StepTrace slow = trace_;
  slow.steps.resize(1, slow.steps.front());
  slow.untraced = {slow.steps.front().total};
  const auto compared = [](const StepTrace& a, const StepTrace& b) {
    return compare_profiles({"eager", &a}, {"compile", &b}).front();
  };
  const Grid few = compared(slow, slow);
  EXPECT_TRUE(few.rows.back()[6].is_null());
  EXPECT_THAT(few.notes.front(), HasSubstr("without an interval, which takes --traced-steps 6"));
  slow.steps.resize(8, slow.steps.front());
  for (size_t i = 0; i < slow.steps.size(); ++i) slow.steps[i].total *= 1 + 0.01 * static_cast<double>(i);
  StepTrace fast = slow;
  for (TracedStep& step : fast.steps) step.total /= 2;
  const std::vector<Json> step = compared(slow, fast).rows.back();
  EXPECT_NEAR(step[5].get<double>(), 2, 1e-9);
  EXPECT_LT(step[6].get<double>(), 2);
  EXPECT_GT(step[6].get<double>(), 1.8);
  EXPECT_GT(step[7].get<double>(), 2);
  EXPECT_THAT(compared(slow, fast).notes.front(), HasSubstr("95 % interval"));
}

// The speed-up is that of the times beside it, also where one traced step had a pause.
TEST_F(ComparedProfiles, ASpeedUpIsTheRatioOfTheTimesShown) {
  trace_.steps.assign(6, trace_.steps.front());
  StepTrace paused = trace_;
  paused.steps[2].total += 1;
  paused.steps[2].launches[1] += 1'000'000'000;
  for (const Grid& grid : compare_profiles({"float32", &paused}, {"bfloat16", &trace_})) {
    EXPECT_THAT(grid.notes.front(), HasSubstr("Times: medians over the traced steps. Speed-up: ratio of the medians"));
    for (const std::vector<Json>& row : grid.rows) {
      if (row[5].is_null()) continue;
      EXPECT_NEAR(row[5].get<double>(), row[1].get<double>() / row[2].get<double>(), 1e-12) << row[0];
      EXPECT_NEAR(row[5].get<double>(), 1, 1e-12) << row[0];
    }
  }
  const Grid casts = cast_shares({{{"float32", &paused, "small"}, {"bfloat16", &trace_, "small"}}});
  EXPECT_NEAR(cell(casts, "small", "from_s").get<double>(), 1400e-9, 1e-15);
  EXPECT_NEAR(cell(casts, "small", "speedup").get<double>(), 1, 1e-12);
}

TEST(Fraction, OfNothingHasNoSign) {
  EXPECT_EQ(format_value(-0.0004, Unit::kFraction), "0.0 %");
  EXPECT_EQ(format_value(0.0004, Unit::kFraction), "0.0 %");
  EXPECT_EQ(format_value(-0.0006, Unit::kFraction), "-0.1 %");
}

TEST_F(ComparedProfiles, GainsAndLossesThatCancelHaveNoShares) {
  StepTrace other = trace_;
  for (TracedStep& step : other.steps) {
    step.launches[3] -= 300;
    step.launches[4] += 290;
    step.total -= 10e-9;
  }
  const Grid grid = compare_profiles({"eager", &trace_}, {"compile", &other}).front();
  EXPECT_NEAR(cell(grid, "forward matmul", "saved_s").get<double>(), 300e-9, 1e-15);
  for (const std::vector<Json>& row : grid.rows) EXPECT_TRUE(row[4].is_null());
  EXPECT_THAT(grid.notes, testing::Contains(HasSubstr("No shares")));
}

TEST_F(ComparedProfiles, APartOfOneSideHasNoSpeedUp) {
  StepTrace with_casts = trace_;
  with_casts.texts.emplace_back("cast");
  with_casts.launches.work_class[1] = static_cast<int64_t>(with_casts.texts.size()) - 1;
  const Grid grid = compare_profiles({"float32", &trace_}, {"bfloat16", &with_casts}).front();
  EXPECT_TRUE(cell(grid, "forward cast", "float32_s").is_null());
  EXPECT_NEAR(cell(grid, "forward cast", "bfloat16_s").get<double>(), 50e-9, 1e-15);
  for (const char* const column : {"saved_s", "of_all_saved", "speedup"})
    EXPECT_TRUE(cell(grid, "forward cast", column).is_null()) << column;
  EXPECT_TRUE(cell(grid, "forward softmax", "bfloat16_s").is_null());
  EXPECT_NEAR(cell(grid, "forward softmax", "saved_s").get<double>(), 50e-9, 1e-15);
  EXPECT_THAT(grid.notes.back(),
              HasSubstr("The parts that only bfloat16 has take 50.00 ns; the step saves that much less"));
  EXPECT_EQ(format_value(0.0012, Unit::kRatio), "0.0012x");
  EXPECT_EQ(format_value(1.5, Unit::kRatio), "1.50x");
}

TEST_F(ComparedProfiles, AComparisonHasTheRowsOfItsView) {
  const auto names = [&](ProfileView view) {
    std::vector<std::string> of_grids;
    for (const Grid& grid : compare_profiles({"a", &trace_}, {"b", &trace_}, view)) of_grids.push_back(grid.name);
    return of_grids;
  };
  EXPECT_THAT(names(ProfileView::kSummary), testing::ElementsAre("compared_classes", "compared_parts"));
  EXPECT_THAT(names(ProfileView::kLayers), testing::ElementsAre("compared_parts"));
  EXPECT_THAT(names(ProfileView::kKernels), testing::ElementsAre("compared_kernels"));
  EXPECT_THAT(names(ProfileView::kOps), testing::ElementsAre("compared_ops"));
  const Grid kernels = compare_profiles({"a", &trace_}, {"b", &trace_}, ProfileView::kKernels).front();
  EXPECT_NEAR(cell(kernels, "matmul:k", "a_s").get<double>(), 1500e-9, 1e-15);
  const Grid attention = compare_profiles({"a", &trace_}, {"b", &trace_}, ProfileView::kAttention).front();
  EXPECT_NEAR(cell(attention, "forward a/softmax", "b_s").get<double>(), 50e-9, 1e-15);
  EXPECT_EQ(attention.rows.back()[0], "step");
  EXPECT_EQ(attention.rows.size(), 3U);
}

TEST_F(ComparedProfiles, CastsAreAShareOfEachPoint) {
  StepTrace with_casts = trace_;
  with_casts.texts.emplace_back("cast");
  with_casts.launches.work_class[1] = static_cast<int64_t>(with_casts.texts.size()) - 1;
  for (TracedStep& step : with_casts.steps) step.total /= 2;
  const Grid casts = cast_shares({{{"float32", &trace_, "small"}, {"bfloat16", &with_casts, "small"}},
                                  {{"float32", &trace_, "medium"}, {"bfloat16", &trace_, "medium"}}});
  ASSERT_EQ(casts.rows.size(), 2U);
  EXPECT_NEAR(cell(casts, "small", "cast_share").get<double>(), 50.0 / 850, 1e-12);
  EXPECT_NEAR(cell(casts, "small", "speedup").get<double>(), 2, 1e-12);
  EXPECT_EQ(cell(casts, "medium", "casts_s"), 0.0);
  EXPECT_EQ(cell(casts, "small", "from"), "float32");
  EXPECT_EQ(cell(casts, "small", "to"), "bfloat16");
}

// In whichever order the types were given, the casts are those of the type that casts, and pairs may differ in types.
TEST_F(ComparedProfiles, CastsAreThoseOfTheTypeThatCasts) {
  StepTrace with_casts = trace_;
  with_casts.texts.emplace_back("cast");
  with_casts.launches.work_class[1] = static_cast<int64_t>(with_casts.texts.size()) - 1;
  const Grid casts = cast_shares({{{"bfloat16", &with_casts, "small"}, {"float32", &trace_, "wide"}},
                                  {{"float32", &trace_, "medium"}, {"float16", &with_casts, "medium"}}});
  EXPECT_EQ(cell(casts, "small", "from"), "float32");
  EXPECT_EQ(cell(casts, "small", "to"), "bfloat16");
  EXPECT_GT(cell(casts, "small", "casts_s").get<double>(), 0);
  EXPECT_EQ(cell(casts, "medium", "to"), "float16");
  EXPECT_THAT(casts.notes, testing::Contains(HasSubstr("Speed-up: ratio of the medians")));
}

TEST_F(ComparedProfiles, TheTopKernelOfEachPassIsNamed) {
  EXPECT_EQ(top_kernels_sentence({{"step", &trace_}}), "");
  EXPECT_EQ(top_kernels_sentence({{"inference", &trace_}, {"step", &trace_}}),
            "The same kernel takes most time in inference and step: matmul:k, 88 % of inference in 4 calls, 88 % of "
            "step in 4 calls; all matrix products together: 88 % of inference in 4 calls, 88 % of step in 4 calls.");
  StepTrace other = trace_;
  for (TracedStep& step : other.steps) step.launches[1] = 1'000'000;
  EXPECT_THAT(top_kernels_sentence({{"inference", &other}, {"step", &trace_}}),
              AllOf(testing::StartsWith("Different kernels take most time: exp:k with "),
                    HasSubstr(", matmul:k with 88 % of step in 4 calls; all matrix products")));
}

}  // namespace
}  // namespace laptime
