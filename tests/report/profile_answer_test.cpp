// Profiles of a handmade trace: every table adds up to the step, and the text matches the golden text.
#include "report/profile_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/made_trace.h"
#include "base/error.h"
#include "base/json.h"
#include "report/tables_of.h"

namespace laptime {
namespace {

using testing::HasSubstr;

const LaunchTest kBackward = [](const TraceLaunch& launch) { return launch.phase == "backward"; };

// Reads the tables in the profile of a handmade trace.
class Profile : public TraceTest {
 protected:
  static double column_sum(const Table& table, std::string_view key) {
    double sum = 0;
    for (const TableRow& row : table.rows) {
      const Json& value = row.cells[index_of(table, key)].value;
      sum += value.is_number() ? value.get<double>() : 0;
    }
    return sum;
  }

  // The value of column `key` in the first row that has a cell with text `row_text`; null if there is no such row.
  static Json cell(const Table& table, const std::string& row_text, std::string_view key) {
    for (const TableRow& row : table.rows) {
      bool found = false;
      for (const TableCell& one : row.cells) found = found || one.value == row_text;
      if (found) return row.cells[index_of(table, key)].value;
    }
    return nullptr;
  }

  Table view(const ProfileQuery& query) { return profile_tables(trace_, query).front(); }
  std::string text(const ProfileQuery& query, size_t width = 80) {
    return text_of(profile_answer(record_, trace_, query), {.unicode = false, .width = width});
  }
};

TEST_F(Profile, SummaryStartsWithTimeAndClassShares) {
  EXPECT_EQ(text({.top = 2}), R"(1.70 us per step: matmul 88 %, optimizer 6 %, all else 6 %
  forward    950 ns  ########################################  95 % matmul
  backward   600 ns  #########################                 100 % matmul
  optimizer  100 ns  ####
kernel      share     time  calls  of bound
  matmul:k   88 %  1500 ns      4      53 %
  mul:k     5.9 %   100 ns      1     100 %
  ... 1 more, 2.9 %
! traced steps took 21 % longer on average: trust shares, not times
)");
}

TEST_F(Profile, SaysWhyAMeasuredPointHasNoTrace) {
  record_.status = Status::kOk;
  record_.reason.clear();
  record_.verdict.reasons = {"one", "the trace is too large"};
  EXPECT_EQ(text_of(answer_without_result(record_), {.unicode = false}), "ok: one; the trace is too large\n");
}

TEST_F(Profile, AttentionViewStartsWithTheSoftmaxRatio) {
  const std::string said = text({.view = ProfileView::kAttention});
  EXPECT_THAT(said, testing::StartsWith("softmax takes 10 % as long as the two products"));
  const Table attention = view({.view = ProfileView::kAttention});
  EXPECT_NEAR(cell(attention, "softmax", "total_s").get<double>(), 50e-9, 1e-15);
  EXPECT_NEAR(cell(attention, "scores", "total_s").get<double>(), 500e-9, 1e-15);
  EXPECT_NEAR(cell(attention, "scaled dot product attention", "total_s").get<double>(), 550e-9, 1e-15);
}

TEST_F(Profile, ViewTotalsAddUpToTheLaunches) {
  const double launches = totals_of(trace_).launches;
  for (const ProfileView one : {ProfileView::kKernels, ProfileView::kOps, ProfileView::kClasses})
    EXPECT_NEAR(column_sum(view({.view = one}), "total_s"), launches, 1e-15);
  const Table shares = profile_tables(trace_, {.view = ProfileView::kClasses}).back();
  EXPECT_NEAR(column_sum(shares, "step_s"), totals_of(trace_).step, 1e-15);
  EXPECT_NEAR(column_sum(shares, "step_share"), 1, 1e-12);
  EXPECT_NEAR(column_sum(shares, "forward_share"), 1, 1e-12);
  EXPECT_NEAR(cell(shares, "matmul", "forward_s").get<double>(), 900e-9, 1e-15);
  EXPECT_EQ(shares.rows.back().cells.front().value, "residue");
  const Table selected = profile_tables(trace_, {.view = ProfileView::kClasses, .test = kBackward}).back();
  EXPECT_NE(selected.rows.back().cells.front().value, "residue") << "the time between launches belongs to no selection";
  EXPECT_EQ(selected.columns[1].key, "backward_s") << "phases without selected launches have no columns";
}

TEST_F(Profile, KernelsHaveTheStatisticsOfTheirInstances) {
  const Table kernels = view({.view = ProfileView::kKernels});
  EXPECT_EQ(cell(kernels, "matmul:k", "calls"), 4);
  EXPECT_NEAR(cell(kernels, "matmul:k", "mean_s").get<double>(), 375e-9, 1e-15);
  EXPECT_NEAR(cell(kernels, "matmul:k", "median_s").get<double>(), 400e-9, 1e-15);
  EXPECT_NEAR(cell(kernels, "matmul:k", "min_s").get<double>(), 100e-9, 1e-15);
  EXPECT_NEAR(cell(kernels, "matmul:k", "max_s").get<double>(), 700e-9, 1e-15);
  EXPECT_NEAR(cell(kernels, "matmul:k", "time_share").get<double>(), 1500.0 / 1700, 1e-12);
  EXPECT_EQ(cell(kernels, "mul:k", "bound"), "memory");  // 8000 bytes at 80 GB/s take 100 ns, the measured time
  EXPECT_NEAR(cell(kernels, "mul:k", "of_roofline").get<double>(), 1, 1e-12);
}

TEST_F(Profile, TextCapsRooflineSharesAt100Percent) {
  trace_.bandwidth = 8e9;
  const Table kernels = view({.view = ProfileView::kKernels});
  EXPECT_NEAR(cell(kernels, "mul:k", "of_roofline").get<double>(), 10, 1e-9);
  EXPECT_THAT(text_of(kernels, {}), HasSubstr(">100 %"));
}

TEST_F(Profile, SplitsRowsByShapeLayerAndPhase) {
  EXPECT_EQ(view({.view = ProfileView::kKernels}).rows.size(), 3U);
  EXPECT_EQ(view({.view = ProfileView::kKernels, .by = ProfileBy::kShape}).rows.size(), 5U);
  const Table kernels = view({.view = ProfileView::kKernels, .by = ProfileBy::kLayer});
  EXPECT_NEAR(cell(kernels, "matmul:k layers.1", "total_s").get<double>(), 300e-9, 1e-15);
  const Table ops = view({.view = ProfileView::kOps, .by = ProfileBy::kLayer});
  EXPECT_NEAR(cell(ops, "exp layers.0", "total_s").get<double>(), 50e-9, 1e-15);
  const Table layers = view({.view = ProfileView::kLayers, .by = ProfileBy::kLayer});
  EXPECT_NEAR(cell(layers, "layers.1", "total_s").get<double>(), 300e-9, 1e-15);
  EXPECT_TRUE(cell(layers, "layers.*", "total_s").is_null());
  const Table phases = view({.view = ProfileView::kKernels, .by = ProfileBy::kPhase});
  EXPECT_NEAR(cell(phases, "backward", "total_s").get<double>(), 600e-9, 1e-15);
  const Table classes = view({.view = ProfileView::kClasses, .by = ProfileBy::kLayer});
  EXPECT_NEAR(cell(classes, "matmul layers.0", "total_s").get<double>(), 200e-9, 1e-15);
}

TEST_F(Profile, SplitsLaunchesWithoutShapes) {
  trace_.launches.signature.assign(trace_.launch_count(), made_.text("matmul"));
  EXPECT_EQ(view({.view = ProfileView::kKernels, .by = ProfileBy::kShape}).rows.size(), 3U);
}

TEST_F(Profile, AllowedSplitsDependOnTheView) {
  EXPECT_TRUE(splits(ProfileView::kClasses, ProfileBy::kLayer));
  EXPECT_FALSE(splits(ProfileView::kClasses, ProfileBy::kShape));
  EXPECT_FALSE(splits(ProfileView::kLayers, ProfileBy::kShape));
  EXPECT_FALSE(splits(ProfileView::kAttention, ProfileBy::kLayer));
}

TEST_F(Profile, EmptySelectionListsAvailableValues) {
  ProfileQuery query{.selection = "'class = matmull'", .selection_columns = {"class"}};
  query.test = [](const TraceLaunch& launch) { return launch.work_class == "matmull"; };
  for (const Choice<ProfileView>& of : choices_of(ProfileView{})) {
    query.view = of.value;
    EXPECT_THAT(text(query, 0),
                testing::StartsWith("no launch matches 'class = matmull'; values of class here: matmul, "
                                    "softmax, optimizer\n"));
  }
}

TEST_F(Profile, EqualLayersShareARowThatShowsTheirSpread) {
  const Table layers = view({.view = ProfileView::kLayers});
  EXPECT_EQ(cell(layers, "    scores", "layer_count"), 2);
  EXPECT_NEAR(cell(layers, "    scores", "layer_low_s").get<double>(), 200e-9, 1e-15);
  EXPECT_NEAR(cell(layers, "    scores", "layer_high_s").get<double>(), 300e-9, 1e-15);
  EXPECT_NEAR(cell(layers, "layers.*", "total_s").get<double>(), 550e-9, 1e-15);
  ProfileQuery query{.view = ProfileView::kLayers};
  query.test = [](const TraceLaunch& launch) { return launch.layer == 1; };
  EXPECT_EQ(cell(view(query), "layers.1", "layer_count"), 1);
}

TEST_F(Profile, LimitsAndSortsRowsAsRequested) {
  const Table cut = view({.view = ProfileView::kKernels, .top = 1});
  EXPECT_EQ(cut.rows.size(), 1U);
  EXPECT_EQ(cut.notes.at(0), "  ... 2 more, 8.8 %");
  const Table sorted = view({.view = ProfileView::kKernels, .sort = "avg:asc"});
  EXPECT_EQ(sorted.rows.front().cells.front().value, "exp:k");
  EXPECT_THROW(view({.view = ProfileView::kKernels, .sort = "avrg"}), Error);
  EXPECT_THROW(view({.view = ProfileView::kKernels, .sort = "avg:up"}), Error);
}

TEST_F(Profile, OmittedTreeRowsAreNotCountedTwice) {
  const Table two = view({.view = ProfileView::kLayers, .top = 2});
  ASSERT_EQ(two.rows.size(), 2U);  // in tree order: "layers.*" has 550 ns, and "lm_head" has 1100 ns
  EXPECT_EQ(two.rows[0].cells[0].value, "layers.*");
  EXPECT_EQ(two.rows[1].cells[0].value, "lm_head");
  EXPECT_EQ(two.notes.at(0), "  ... 3 more, 0 %");
  const Table one = view({.view = ProfileView::kLayers, .top = 1});
  EXPECT_EQ(one.notes.at(0), "  ... 4 more, 32 %");  // 550 of 1700 ns
}

TEST_F(Profile, SharesAreRelativeToTheWholeStep) {
  const Table table = view({.view = ProfileView::kKernels, .test = kBackward});
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_NEAR(cell(table, "matmul:k", "time_share").get<double>(), 600.0 / 1700, 1e-12);
}

TEST_F(Profile, SharesOfSelectedLaunchesAreOfWholePhases) {
  ProfileQuery query{.view = ProfileView::kClasses};
  query.test = [](const TraceLaunch& launch) { return launch.op == "matmul" && launch.part == "lm_head"; };
  const Table shares = profile_tables(trace_, query).back();
  EXPECT_NEAR(cell(shares, "matmul", "forward_share").get<double>(), 400.0 / 950, 1e-12);
  EXPECT_NEAR(cell(shares, "matmul", "backward_share").get<double>(), 1, 1e-12);
  EXPECT_NEAR(cell(shares, "matmul", "forward_backward_share").get<double>(), 1000.0 / 1550, 1e-12);
  EXPECT_NEAR(cell(shares, "matmul", "step_share").get<double>(), 1000.0 / 1700, 1e-12);
}

TEST_F(Profile, EveryViewFitsIn80Columns) {
  for (const Choice<ProfileView>& of : choices_of(ProfileView{})) {
    const std::string all = text({.view = of.value});
    for (size_t begin = 0; begin < all.size(); begin = all.find('\n', begin) + 1)
      EXPECT_LE(display_width(all.substr(begin, all.find('\n', begin) - begin)), 80U) << all;
  }
}

TEST_F(Profile, JsonHasFindingsAndRows) {
  const Json json = json_of(profile_answer(record_, trace_, {}));
  EXPECT_EQ(json.at("name"), "point");
  EXPECT_EQ(json.at("status"), "ok");
  EXPECT_EQ(json.at("findings").at(0).at("kind"), "pass_time");
  EXPECT_EQ(json.at("tables").at("kernels").at(0).at("kernel"), "matmul:k");
  const Json& phases = json.at("tables").at("phases");
  EXPECT_EQ(phases.back().at("phase"), "step");
  EXPECT_NEAR(phases.back().at("total_s").get<double>(), 1700e-9, 1e-15);
}

TEST_F(Profile, ComparisonHasTheRatioAndTheParts) {
  const StepTrace faster = this->faster();
  const ComparedProfile a{"eager", &trace_, "a"};
  const ComparedProfile b{"compile", &faster, "b"};
  const PointAnswer answer = compared_answer(a, b, {});
  EXPECT_NEAR(cell(table_named(answer, "compared_classes"), "step", "saved_s").get<double>(), 200e-9, 1e-15);
  EXPECT_GT(table_named(answer, "compared_parts").rows.size(), 1U);
  EXPECT_THAT(text_of(answer, {}), testing::StartsWith("compile is 1.13x as fast"));
  const Table attention = table_named(compared_answer(a, b, {.view = ProfileView::kAttention}), "compared_attention");
  EXPECT_EQ(attention.rows.size(), 3U) << "scores, softmax, step";
  const Table shares = class_share_table({a, b}, {});
  EXPECT_NEAR(column_sum(shares, "eager_share"), 1, 1e-12);
}

TEST_F(Profile, ComparisonAppliesTheFilterAndTheRowLimit) {
  const StepTrace faster = this->faster();
  const std::vector<ComparedProfile> both{{"eager", &trace_, "a"}, {"compile", &faster, "b"}};
  const auto parts_of = [&](const ProfileQuery& query) {
    std::vector<std::string> parts;
    for (const TableRow& row : table_named(compared_answer(both[0], both[1], query), "compared_classes").rows)
      parts.push_back(row.cells.front().value.text());
    return parts;
  };
  const LaunchTest forward = [](const TraceLaunch& launch) { return launch.phase == "forward"; };
  const std::vector<std::string> all = parts_of({.view = ProfileView::kClasses});
  EXPECT_THAT(all, testing::Contains(testing::StartsWith("backward")));
  const std::vector<std::string> selected = parts_of({.view = ProfileView::kClasses, .test = forward});
  EXPECT_EQ(selected.back(), "step");
  EXPECT_THAT(std::span(selected).first(selected.size() - 1), testing::Each(testing::StartsWith("forward")));
  EXPECT_THAT(parts_of({.view = ProfileView::kClasses, .top = 1}),
              testing::ElementsAre("forward matmul", "residue", "step"));
  const Table shares = class_share_table(both, {.test = forward});
  EXPECT_LT(column_sum(shares, "eager_share"), 0.9);
  EXPECT_EQ(class_share_table(both, {.top = 1}).rows.size(), 2U) << "one class, residue";
}

}  // namespace
}  // namespace laptime
