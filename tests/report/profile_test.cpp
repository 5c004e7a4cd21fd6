// Profiles of a hand-made trace: every table adds up to the step, and rates and bounds are those of the roofline.
#include "report/profile/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "distribution/median.h"
#include "report/profile/device_use.h"
#include "report/profile/views.h"
#include "report/row.h"
#include "report/traced_step.h"
#include "table/text.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(Profile, EveryViewAddsUpToTheLaunches) {
  const double launches = totals_of(trace_).launches;
  EXPECT_NEAR(launches, 1650e-9, 1e-15);
  EXPECT_NEAR(column_sum(view({.view = ProfileView::kKernels}), "total_s"), launches, 1e-15);
  EXPECT_NEAR(column_sum(view({.view = ProfileView::kOps}), "total_s"), launches, 1e-15);
  EXPECT_NEAR(column_sum(view({.view = ProfileView::kClasses}), "total_s"), launches, 1e-15);
  const Grid shares = classes_by_phase(trace_, {});
  EXPECT_NEAR(column_sum(shares, "step_s"), totals_of(trace_).step, 1e-15);
  EXPECT_NEAR(column_sum(shares, "step_share"), 1, 1e-12);
  EXPECT_NEAR(column_sum(shares, "forward_share"), 1, 1e-12);
  EXPECT_EQ(shares.rows.back().front(), "residue");
  const Grid selected = classes_by_phase(trace_, [](const TraceLaunch& launch) { return launch.phase == "forward"; });
  EXPECT_NE(selected.rows.back().front(), "residue") << "what lies between launches belongs to no selection";
  const Grid phases = profile_report(record_, trace_, {}).grids.front();
  EXPECT_NEAR(column_sum(phases, "total_s"), 2 * totals_of(trace_).step, 1e-15);  // the phases, the residue, the step
}

TEST_F(Profile, SaysWhetherTheDeviceWaitsForLaunches) {
  EXPECT_TRUE(device_use_lines(trace_).empty());
  trace_.device.missing = "libcupti is not installed";
  trace_.device.recorded = {700e-9, 700e-9};  // an untraced step takes 1400 ns
  const std::vector<std::string> by_events = device_use_lines(trace_);
  ASSERT_EQ(by_events.size(), 2U);
  EXPECT_EQ(by_events[0], "launch-bound: 6 launches, 50 % idle; in a graph 700.0 ns");
  EXPECT_THAT(by_events[1], HasSubstr("by events: "));
  EXPECT_THAT(by_events[1], HasSubstr("because libcupti is not installed"));

  trace_.device.missing = "";
  trace_.device.records = "CUPTI";
  trace_.device.kernels = 9;
  trace_.device.copies = 1;
  trace_.device.busy = {1330e-9, 1330e-9};
  EXPECT_EQ(
      device_use_lines(trace_),
      (std::vector<std::string>{"not launch-bound: 9 kernels and 1 memory operation, 5 % idle; in a graph 700.0 ns",
                                "known by CUPTI in 2 watched steps, against the untraced step"}));

  trace_.device = {.records = "", .missing = "it refuses", .busy = {}, .recorded = {1e-6}, .usually_recorded = 1};
  EXPECT_EQ(device_use_lines(trace_).front(),
            "steps ran from a graph, 6 launches in one; how long the device idles is not known, because it refuses");
}

TEST_F(Profile, HoldsLaunchesAgainstTheDataSheet) {
  trace_.datasheet_flops = 40e12;
  trace_.datasheet_bandwidth = 80e9;
  // 100, 50, 100, 200, 400 and 100 ns: the first two products and the last two need FLOPs, the others bytes.
  EXPECT_THAT(device_use_lines(trace_).front(), HasSubstr("at least 950.0 ns, 68 % of the untraced step"));
}

TEST_F(Profile, KernelsHaveTheStatisticsOfTheirInstances) {
  const Grid kernels = view({.view = ProfileView::kKernels});
  EXPECT_EQ(kernels.columns.back().title, "Name");
  EXPECT_EQ(cell(kernels, "matmul:k", "instances"), 4);
  EXPECT_NEAR(cell(kernels, "matmul:k", "mean_s").get<double>(), 375e-9, 1e-15);
  EXPECT_NEAR(cell(kernels, "matmul:k", "median_s").get<double>(), 400e-9, 1e-15);
  EXPECT_NEAR(cell(kernels, "matmul:k", "min_s").get<double>(), 100e-9, 1e-15);
  EXPECT_NEAR(cell(kernels, "matmul:k", "max_s").get<double>(), 700e-9, 1e-15);
  EXPECT_NEAR(cell(kernels, "matmul:k", "time_share").get<double>(), 1500.0 / 1700, 1e-12);
}

TEST_F(Profile, BoundsAreThoseOfTheRoofline) {
  const Grid kernels = view({.view = ProfileView::kKernels});
  EXPECT_EQ(cell(kernels, "matmul:k", "bound"), "compute");  // 32e6 FLOPs at 40 TFLOP/s: 800 ns of 1500
  EXPECT_NEAR(cell(kernels, "matmul:k", "of_roofline").get<double>(), 800.0 / 1500, 1e-12);
  EXPECT_EQ(cell(kernels, "mul:k", "bound"), "memory");  // 8000 bytes at 80 GB/s: 100 ns of 100
  EXPECT_NEAR(cell(kernels, "mul:k", "of_roofline").get<double>(), 1, 1e-12);
  trace_.peak_flops.reset();
  trace_.bandwidth.reset();
  EXPECT_TRUE(cell(view({.view = ProfileView::kKernels}), "matmul:k", "of_roofline").is_null());
}

TEST_F(Profile, ShapesSplitKernels) {
  EXPECT_EQ(view({.view = ProfileView::kKernels}).rows.size(), 3U);
  EXPECT_EQ(view({.view = ProfileView::kKernels, .by = ProfileBy::kShape}).rows.size(), 5U);
}

TEST_F(Profile, LayersSplitKernelsOpsAndScopes) {
  const Grid kernels = view({.view = ProfileView::kKernels, .by = ProfileBy::kLayer});
  EXPECT_NEAR(cell(kernels, "matmul:k layers.1", "total_s").get<double>(), 300e-9, 1e-15);
  const Grid ops = view({.view = ProfileView::kOps, .by = ProfileBy::kLayer});
  EXPECT_NEAR(cell(ops, "exp layers.0", "total_s").get<double>(), 50e-9, 1e-15);
  const Grid layers = view({.view = ProfileView::kLayers, .by = ProfileBy::kLayer});
  EXPECT_NEAR(cell(layers, "layers.0", "total_s").get<double>(), 250e-9, 1e-15);
  EXPECT_NEAR(cell(layers, "layers.1", "total_s").get<double>(), 300e-9, 1e-15);
  EXPECT_TRUE(cell(layers, "layers.*", "total_s").is_null());
}

TEST_F(Profile, PhasesSplitKernelsAndScopes) {
  const Grid together = view({.view = ProfileView::kKernels});
  EXPECT_EQ(together.title, "kernels of forward, backward and optimizer together (--by phase splits them), per step");
  const Grid kernels = view({.view = ProfileView::kKernels, .by = ProfileBy::kPhase});
  EXPECT_EQ(kernels.title, "kernels of forward, backward and optimizer, per step");
  EXPECT_NEAR(cell(kernels, "backward", "total_s").get<double>(), 600e-9, 1e-15);
  EXPECT_EQ(cell(kernels, "backward", "kernel"), "matmul:k");
  EXPECT_NEAR(column_sum(kernels, "total_s"), totals_of(trace_).launches, 1e-15);
  const Grid layers = view({.view = ProfileView::kLayers, .by = ProfileBy::kPhase});
  EXPECT_NEAR(cell(layers, "forward", "total_s").get<double>(), 950e-9, 1e-15);
  EXPECT_NEAR(cell(layers, "  layers.*", "total_s").get<double>(), 550e-9, 1e-15);
}

TEST_F(Profile, TablesOfOnePhaseNameNoOther) {
  ProfileQuery query;
  query.test = [](const TraceLaunch& launch) { return launch.phase == "backward"; };
  const std::vector<Grid> grids = view_tables(trace_, query);
  EXPECT_EQ(grids.back().title, "kernels of backward, per step");
  for (const Grid& grid : grids) {
    const std::string text = grid_text(grid, {});
    EXPECT_THAT(text, HasSubstr("backward"));
    EXPECT_THAT(text, testing::Not(HasSubstr("forward"))) << text;
    EXPECT_THAT(text, testing::Not(HasSubstr("optimizer"))) << text;
  }
}

TEST_F(Profile, ClassesAreSplitByLayer) {
  const Grid classes = view({.view = ProfileView::kClasses, .by = ProfileBy::kLayer});
  EXPECT_NEAR(cell(classes, "matmul layers.0", "total_s").get<double>(), 200e-9, 1e-15);
  EXPECT_NEAR(cell(classes, "matmul layers.1", "total_s").get<double>(), 300e-9, 1e-15);
  EXPECT_NEAR(column_sum(classes, "total_s"), totals_of(trace_).launches, 1e-15);
}

TEST_F(Profile, WhatByDoesNotSplitIsKnown) {
  EXPECT_TRUE(splits(ProfileView::kClasses, ProfileBy::kLayer));
  EXPECT_FALSE(splits(ProfileView::kClasses, ProfileBy::kShape));
  EXPECT_FALSE(splits(ProfileView::kLayers, ProfileBy::kShape));
  EXPECT_FALSE(splits(ProfileView::kAttention, ProfileBy::kLayer));
  for (const Choice<ProfileView>& of : choices_of(ProfileView{})) {
    const std::string all = grid_text(view({.view = of.value}), {});
    for (const ProfileBy by : {ProfileBy::kShape, ProfileBy::kLayer}) {
      if (of.value == ProfileView::kSummary) continue;
      EXPECT_EQ(grid_text(view({.view = of.value, .by = by}), {}) != all, splits(of.value, by)) << of.name;
    }
  }
}

TEST_F(Profile, ASelectionOfNothingSaysWhatThereIs) {
  ProfileQuery query{.selection = "'class = matmull'", .selection_columns = {"class"}};
  query.test = [](const TraceLaunch& launch) { return launch.work_class == "matmull"; };
  for (const Choice<ProfileView>& of : choices_of(ProfileView{})) {
    query.view = of.value;
    const PointReport report = profile_report(record_, trace_, query);
    EXPECT_EQ(report.lines.front(),
              "no launch matches 'class = matmull'; values of class here: matmul, softmax, optimizer");
    ASSERT_EQ(report.grids.size(), 1U) << of.name;
    EXPECT_EQ(report.grids.front().name, "phases");
  }
  query = {.view = ProfileView::kAttention, .selection = "'class = optimizer'", .selection_columns = {"class"}};
  query.test = [](const TraceLaunch& launch) { return launch.work_class == "optimizer"; };
  const PointReport report = profile_report(record_, trace_, query);
  EXPECT_EQ(report.lines.front(), "no launch of this selection belongs to attention");
  EXPECT_EQ(report.grids.size(), 1U);
}

TEST_F(Profile, ASingleLayerHasItsName) {
  ProfileQuery query{.view = ProfileView::kLayers};
  query.test = [](const TraceLaunch& launch) { return launch.layer == 1; };
  const Grid layers = view(query);
  EXPECT_EQ(cell(layers, "layers.1", "layers"), "layer 1");
  EXPECT_TRUE(cell(layers, "layers.*", "layers").is_null());
}

TEST_F(Profile, RowsAreCutAndSortedAsAsked) {
  const Grid cut = view({.view = ProfileView::kKernels, .top = 1});
  EXPECT_EQ(cut.rows.size(), 1U);
  EXPECT_THAT(cut.notes.at(0), HasSubstr("2 more rows"));
  const Grid sorted = view({.view = ProfileView::kKernels, .sort = "Avg:asc"});
  EXPECT_EQ(sorted.rows.front().back(), "exp:k");
  EXPECT_THROW(view({.view = ProfileView::kKernels, .sort = "avrg"}), Error);
  EXPECT_THROW(view({.view = ProfileView::kKernels, .sort = "Avg:up"}), Error);
}

TEST_F(Profile, ATreeIsCutByTimeAndCountsNothingTwice) {
  const Grid two = view({.view = ProfileView::kLayers, .top = 2});
  ASSERT_EQ(two.rows.size(), 2U);  // in the order of the tree: "layers.*" has 550 ns, "lm_head" 1100 ns
  EXPECT_EQ(two.rows[0][0], "layers.*");
  EXPECT_EQ(two.rows[1][0], "lm_head");
  EXPECT_EQ(two.notes.at(0), "and 3 more rows with 0.0 % of the step that no row above contains (--top 0 shows all)");
  const Grid one = view({.view = ProfileView::kLayers, .top = 1});
  EXPECT_EQ(one.rows[0][0], "lm_head");
  EXPECT_THAT(one.notes.at(0), HasSubstr("and 4 more rows with 32.4 % of the step"));  // 550 of 1700 ns
  const Grid inner = view({.view = ProfileView::kLayers, .top = 1, .sort = "scope:asc"});
  EXPECT_EQ(inner.rows[0][0], "    scores");
  EXPECT_THAT(inner.notes.at(0), HasSubstr("with 67.6 % of the step"));  // 1650 - 500 of 1700 ns
  const Grid attention = view({.view = ProfileView::kAttention, .top = 1, .sort = "total_s"});
  EXPECT_EQ(attention.rows[0][1], "scaled dot product attention");
  EXPECT_THAT(attention.notes.at(0), HasSubstr("and 2 more rows with 0.0 % of the step"));
}

TEST_F(Profile, APhaseIsAShareOfTheWholeStep) {
  ProfileQuery query{.view = ProfileView::kKernels};
  query.test = [](const TraceLaunch& launch) { return launch.phase == "optimizer"; };
  const Grid grid = view(query);
  ASSERT_EQ(grid.rows.size(), 1U);
  EXPECT_NEAR(grid.rows[0][0].get<double>(), 100.0 / 1700, 1e-12);
}

TEST_F(Profile, EqualLayersAreOneRowWithTheirSpread) {
  const Grid layers = view({.view = ProfileView::kLayers});
  const Json spread = cell(layers, "    scores", "layers");
  ASSERT_TRUE(spread.is_string());
  EXPECT_THAT(spread.get<std::string>(), HasSubstr("2 x 200.0 ns ... 300.0 ns"));
  EXPECT_NEAR(cell(layers, "layers.*", "total_s").get<double>(), 550e-9, 1e-15);
  EXPECT_NEAR(cell(layers, "lm_head", "total_s").get<double>(), 1100e-9, 1e-15);
}

TEST_F(Profile, AttentionComparesSoftmaxWithTheProducts) {
  const PointReport report = profile_report(record_, trace_, {.view = ProfileView::kAttention});
  const Grid& attention = report.grids.back();
  EXPECT_NEAR(cell(attention, "softmax", "total_s").get<double>(), 50e-9, 1e-15);
  EXPECT_NEAR(cell(attention, "scores", "total_s").get<double>(), 500e-9, 1e-15);
  EXPECT_NEAR(cell(attention, "scaled dot product attention", "total_s").get<double>(), 550e-9, 1e-15);
  const std::string& sentence = attention.notes.at(0);
  EXPECT_THAT(sentence, HasSubstr("softmax takes 10 % as long as the two products"));
  EXPECT_THAT(sentence, HasSubstr("; softmax moves 3.906 KiB for 10 FLOP (0.0025 FLOP per byte), bound by memory; the "
                                  "products move 1.953 KiB for 8.000 MFLOP (4000 FLOP per byte), bound by compute"));
  EXPECT_EQ(attention.notes.at(1),
            "The sentence adds up the forward rows of class softmax and those of class matmul; times of the table are "
            "means.");
  trace_.peak_flops.reset();
  trace_.bandwidth.reset();
  EXPECT_THAT(softmax_against_products(trace_), testing::Not(HasSubstr("bound by")));
}

// A part that scales its product has a row for each class, so that the products are those of the sentence.
TEST_F(Profile, APartOfAttentionHasARowForEachClass) {
  add("forward", "layers.1.attn.scores", 1, "attn", "a/scores", "scale", "elementwise", 5, 1000, {70, 70});
  const Grid attention = view({.view = ProfileView::kAttention});
  double products = 0;
  for (const std::vector<Json>& row : attention.rows) products += row[2] == "matmul" ? row[4].get<double>() : 0;
  const std::optional<SoftmaxAndProducts> both = softmax_and_products(trace_);
  EXPECT_NEAR(products, median(both->products), 1e-15);
  EXPECT_NEAR(cell(attention, "elementwise", "total_s").get<double>(), 70e-9, 1e-15);
  EXPECT_NEAR(cell(attention, "all", "total_s").get<double>(), 620e-9, 1e-15);
}

TEST_F(Profile, OnePauseIsNotTheTimeOfSoftmax) {
  const TracedStep step = trace_.steps.front();
  trace_.steps.assign(6, step);
  trace_.steps[3].launches[1] = 50'000;
  trace_.steps[3].total += 49'950e-9;
  EXPECT_THAT(softmax_against_products(trace_),
              testing::StartsWith("forward, median of 6 traced steps: softmax takes 17 % as long as the two products "
                                  "(50.00 ns against 300.0 ns), for "));
  trace_.steps.assign(1, trace_.steps[3]);
  EXPECT_THAT(softmax_against_products(trace_), HasSubstr("forward: softmax takes 167 times as long as"));
  EXPECT_THAT(softmax_against_products(trace_), HasSubstr("known roughly from so few steps (--traced-steps 6)"));
  trace_.untraced.clear();  // predicted
  EXPECT_THAT(softmax_against_products(trace_), testing::Not(HasSubstr("roughly")));
}

TEST_F(Profile, ConclusionNamesClassesAndTheirBounds) {
  const PointReport report = profile_report(record_, trace_, {});
  EXPECT_THAT(report.lines.at(0), AllOf(HasSubstr("matmul 88.2 % of the step, at 53 % of the peak; "),
                                        HasSubstr("; here: peak of matrix products 40.00 TFLOP/s")));
  EXPECT_THAT(report.lines.at(1), HasSubstr("2 traced steps in turn with 2 untraced: median"));
  EXPECT_THAT(report.lines.at(2),
              testing::MatchesRegex(
                  "launches add up to [0-9.]+ [mun]s, [0-9.]+ % of an untraced step [(]medians; no interval from "
                  "fewer than 6 steps[)]"));
  EXPECT_THAT(report.lines.at(3), HasSubstr("6 launches x 1.000 ns"));
}

TEST_F(Profile, LaunchesStandAgainstTheUntracedStep) {
  const TracedStep step = trace_.steps.front();
  trace_.steps.assign(2, step);
  const double launches =
      1e-9 * static_cast<double>(std::accumulate(step.launches.begin(), step.launches.end(), int64_t{0}));
  trace_.untraced.assign(2, 2 * launches);
  const auto line = [&] { return profile_report(record_, trace_, {}).lines.at(2); };
  EXPECT_THAT(line(), HasSubstr(", 50.0 % of an untraced step"));
  trace_.steps.assign(8, step);
  trace_.untraced.assign(8, 2 * launches);
  EXPECT_THAT(line(), HasSubstr("(medians; 95 %: 50.0 to 50.0 %): the two do not match"));
  trace_.untraced.assign(8, 1.01 * launches);
  EXPECT_THAT(line(), HasSubstr("%): the two match within 2 %"));
  for (size_t i = 0; i < 8; ++i) trace_.untraced[i] = launches * (0.8 + 0.05 * static_cast<double>(i));
  EXPECT_THAT(line(), HasSubstr("%): no difference seen"));
}

TEST_F(Profile, CostOfTracingHasItsInterval) {
  EXPECT_THAT(profile_report(record_, trace_, {}).lines.at(1), HasSubstr("no interval from fewer than 6 steps"));
  StepTrace single = trace_;
  single.steps.resize(1);
  single.untraced.resize(1);
  EXPECT_THAT(profile_report(record_, single, {}).lines.at(1), HasSubstr("1 traced step in turn with 1 untraced"));
  const TracedStep step = trace_.steps.front();
  trace_.steps.assign(8, step);
  trace_.untraced.assign(8, step.total);
  trace_.untraced.front() *= 1.5;
  EXPECT_THAT(profile_report(record_, trace_, {}).lines.at(1), HasSubstr("+0.00 % (95 %: "));
  EXPECT_THAT(profile_report(record_, trace_, {}).lines.at(1), HasSubstr("no difference seen"));
  for (double& seconds : trace_.untraced) seconds = step.total / 2;
  EXPECT_THAT(profile_report(record_, trace_, {}).lines.at(1), HasSubstr("+100.00 % (95 %: +100.00 to +100.00 %)"));
}

TEST_F(Profile, MoreThanTheBoundHasItsReason) {
  trace_.peak_flops = 4e12;
  trace_.bandwidth = 8e9;
  const std::string line = profile_report(record_, trace_, {}).lines.at(0);
  EXPECT_THAT(line, HasSubstr("at more than 100 % of the peak (the peak was measured"));
  EXPECT_THAT(line, HasSubstr("bandwidth (its operands stay in the caches)"));
  trace_.cache_bytes = 3000;  // fewer bytes than softmax and optimizer move
  EXPECT_THAT(profile_report(record_, trace_, {}).lines.at(0),
              HasSubstr("bandwidth (the bandwidth was measured while the machine was slower)"));
}

TEST_F(Profile, MoreThanTheBoundIsNotANumberForPeople) {
  trace_.bandwidth = 8e9;
  const Grid kernels = view({.view = ProfileView::kKernels});
  EXPECT_NEAR(cell(kernels, "mul:k", "of_roofline").get<double>(), 10, 1e-9);
  const std::string text = grid_text(kernels, {});
  EXPECT_THAT(text, HasSubstr(">100 %"));
  EXPECT_THAT(text, testing::Not(HasSubstr("1000")));
  EXPECT_THAT(text, HasSubstr("Above 100 % of memory: operands stay in the caches"));
  EXPECT_THAT(text, testing::Not(HasSubstr("Above 100 % of compute")));
}

TEST_F(Profile, OfAPredictionSaysWhatStartsTheLaunches) {
  record_.verdict.rating = kPredicted;
  trace_.mark = 0;  // a mark takes no time on a virtual clock
  const PointReport report = profile_report(record_, trace_, {});
  EXPECT_THAT(report.lines.at(0), HasSubstr("; predicted with: peak of matrix products 40.00 TFLOP/s"));
  EXPECT_THAT(report.lines.at(1), HasSubstr("at these rates the launches need "));
  EXPECT_THAT(report.lines.at(1), HasSubstr(" % of the step, starts 6 of them"));
  EXPECT_FALSE(is_measured(trace_));
}

TEST_F(Profile, NarrowTablesKeepTheirNames) {
  for (const ProfileView one : {ProfileView::kKernels, ProfileView::kOps, ProfileView::kClasses, ProfileView::kLayers,
                                ProfileView::kAttention}) {
    std::vector<std::string> left_out;
    const Grid grid = view({.view = one});
    const std::string text = grid_text(grid, {.width = 80}, &left_out);
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      EXPECT_LE(display_width(text.substr(begin, text.find('\n', begin) - begin)), 80U) << text;
    for (const std::vector<Json>& row : grid.rows) {
      for (const Json& value : row) {
        if (value.is_string() && value != "memory" && value != "compute") {
          EXPECT_THAT(text, HasSubstr(value.get<std::string>()));
        }
      }
    }
    EXPECT_THAT(left_out, testing::Contains("FLOP/s")) << grid.name;
    if (one == ProfileView::kKernels) {
      EXPECT_THAT(text, HasSubstr("Bound"));  // which of the two it is
    }
    EXPECT_THAT(text, HasSubstr("Total")) << grid.name;
  }
}

TEST_F(Profile, APassIsCalledByItsName) {
  EXPECT_EQ(pass_of(trace_), "step");
  const auto cut = [&](size_t launches) {
    StepTrace part = trace_;
    part.launches = {};
    for (auto column : {&TraceLaunches::phase, &TraceLaunches::scope, &TraceLaunches::layer, &TraceLaunches::part,
                        &TraceLaunches::range, &TraceLaunches::op, &TraceLaunches::work_class, &TraceLaunches::kernel,
                        &TraceLaunches::signature, &TraceLaunches::bytes, &TraceLaunches::recomputed})
      (part.launches.*column)
          .assign((trace_.launches.*column).begin(),
                  (trace_.launches.*column).begin() + static_cast<std::ptrdiff_t>(launches));
    part.launches.flops.assign(trace_.launches.flops.begin(),
                               trace_.launches.flops.begin() + static_cast<std::ptrdiff_t>(launches));
    for (TracedStep& step : part.steps) step.launches.resize(launches);
    return part;
  };
  EXPECT_EQ(pass_of(cut(5)), "forward and backward pass");
  const StepTrace forward = cut(4);
  EXPECT_EQ(pass_of(forward), "forward pass");
  const PointReport report = profile_report(record_, forward, {.top = 1});
  for (const std::string& line : report.lines) EXPECT_THAT(line, testing::Not(HasSubstr("of the step")));
  EXPECT_THAT(report.lines.front(), HasSubstr(" of the forward pass"));
  for (const Grid& grid : report.grids) {
    EXPECT_THAT(grid_text(grid, {}), testing::Not(HasSubstr("of the step"))) << grid.name;
    EXPECT_THAT(grid.title, testing::Not(HasSubstr("step"))) << grid.name;
  }
  EXPECT_THAT(grid_text(report.grids.front(), {}), HasSubstr("forward pass"));
  EXPECT_EQ(report.grids.front().rows.back()[0], "step");  // for programs
}

TEST_F(Profile, ADisturbedProfileSaysSoFirst) {
  const auto report = [&] { return profile_report(record_, trace_, {}); };
  const TracedStep step = trace_.steps.front();
  trace_.steps.assign(8, step);
  for (const double factor : {0.95, 1.05}) {
    trace_.untraced.assign(8, factor * step.total);
    EXPECT_EQ(report().verdict, "undisturbed") << factor;
    EXPECT_THAT(report().lines.front(), testing::StartsWith("matmul ")) << factor;
  }
  for (const double factor : {0.5, 1.7}) {
    trace_.untraced.assign(8, factor * step.total);
    EXPECT_EQ(report().verdict, "disturbed") << factor;
    EXPECT_THAT(report().lines.front(),
                testing::StartsWith(fmt::format("disturbed: traced steps took {:.2f} times as long", 1 / factor)));
  }
  trace_.untraced.assign(8, step.total);
  trace_.steps.front().total *= 3;  // a single pause is in every mean of the tables
  EXPECT_EQ(report().verdict, "disturbed");
  trace_.steps.front() = step;
  trace_.mark = step.total / static_cast<double>(trace_.launch_count());  // marks alone double a short step
  trace_.untraced.assign(8, 0.5 * step.total);
  EXPECT_EQ(report().verdict, "undisturbed");
  trace_.untraced.clear();  // predicted
  EXPECT_EQ(report().verdict, "");
}

TEST_F(Profile, BarsAreAsLongAsTheirShares) {
  TableStyle ascii;
  ascii.unicode = false;
  const std::string text = grid_text(class_bars(trace_, {}), ascii);
  const auto hashes = [&](std::string_view after) {
    const size_t at = text.find(after);
    return at == std::string::npos ? -1
                                   : std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                text.begin() + static_cast<std::ptrdiff_t>(text.find('\n', at)), '#');
  };
  EXPECT_EQ(hashes("forward    matmul"), 48);  // 900 ns, the longest
  EXPECT_EQ(hashes("backward   matmul"), 32);  // 600 ns
  EXPECT_EQ(hashes("           softmax"), 2);  // 50 ns: 2.7 columns
  ascii.width = 40;
  for (size_t begin = 0; begin < text.size();) {
    const std::string narrow = grid_text(class_bars(trace_, {}), ascii);
    const size_t end = narrow.find('\n', begin);
    if (end == std::string::npos) break;
    EXPECT_LE(end - begin, 40U);
    begin = end + 1;
  }
}

TEST_F(Profile, GridsAreWrittenInEveryFormat) {
  const Grid kernels = view({.view = ProfileView::kKernels});
  EXPECT_THAT(grid_csv(kernels), HasSubstr("instances,mean_s"));
  EXPECT_THAT(grid_markdown(kernels), HasSubstr("| --: |"));
  EXPECT_EQ(grid_json(kernels)["rows"].size(), 3U);
  TableStyle narrow;
  narrow.width = 60;
  EXPECT_THAT(grid_text(kernels, narrow), HasSubstr("matmul:k"));
}

}  // namespace
}  // namespace laptime
