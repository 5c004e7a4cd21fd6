// Profiles of a hand-made trace: every table adds up to the step, and rates and bounds are those of the roofline.
#include "report/profile/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "report/profile/views.h"
#include "report/row.h"
#include "report/text.h"

namespace laptime {
namespace {

using testing::HasSubstr;

class Profile : public testing::Test {
 protected:
  Profile() {
    //  phase      scope                 layer part    range     op       class      flops bytes ns
    add("forward", "layers.0.attn.scores", 0, "attn", "a/scores", "matmul", "matmul", 4e6, 1000, {100, 300});
    add("forward", "layers.0.attn.weights", 0, "attn", "a/softmax", "exp", "softmax", 10, 4000, {50, 50});
    add("forward", "layers.1.attn.scores", 1, "attn", "a/scores", "matmul", "matmul", 4e6, 1000, {200, 400});
    add("forward", "lm_head", -1, "lm_head", "", "matmul", "matmul", 8e6, 2000, {400, 400});
    add("backward", "lm_head", -1, "lm_head", "", "matmul", "matmul", 16e6, 4000, {500, 700});
    add("optimizer", "lm_head", -1, "lm_head", "", "mul", "optimizer", 0, 8000, {100, 100});
    trace_.steps[0].total = 1400e-9;
    trace_.steps[1].total = 2000e-9;
    trace_.untraced = {1300e-9, 1500e-9};
    trace_.mark = 1e-9;
    trace_.peak_flops = 40e12;
    trace_.bandwidth = 80e9;
    check(trace_);
    record_.name = "point";
  }

  int64_t text(const std::string& word) {
    trace_.texts.push_back(word);
    return static_cast<int64_t>(trace_.texts.size()) - 1;
  }

  void add(const std::string& phase, const std::string& scope, int64_t layer, const std::string& part,
           const std::string& range, const std::string& op, const std::string& work_class, double flops, int64_t bytes,
           std::array<int64_t, 2> nanoseconds) {
    TraceLaunches& l = trace_.launches;
    l.phase.push_back(text(phase));
    l.scope.push_back(text(scope));
    l.layer.push_back(layer);
    l.part.push_back(text(part));
    l.range.push_back(text(range));
    l.op.push_back(text(op));
    l.work_class.push_back(text(work_class));
    l.kernel.push_back(text("k"));
    l.signature.push_back(text(op + "(float32 [" + std::to_string(bytes) + "])"));
    l.flops.push_back(flops);
    l.bytes.push_back(bytes);
    l.recomputed.push_back(0);
    trace_.steps.resize(2);
    for (size_t i = 0; i < 2; ++i) trace_.steps[i].launches.push_back(nanoseconds.at(i));
  }

  static double column_sum(const Grid& grid, const std::string& key) {
    double sum = 0;
    for (size_t i = 0; i < grid.columns.size(); ++i) {
      if (grid.columns[i].key != key) continue;
      for (const std::vector<Json>& row : grid.rows) sum += row[i].is_number() ? row[i].get<double>() : 0;
    }
    return sum;
  }

  static Json cell(const Grid& grid, const std::string& row_text, const std::string& key) {
    for (const std::vector<Json>& row : grid.rows) {
      bool found = false;
      for (const Json& value : row) found = found || value == row_text;
      if (!found) continue;
      for (size_t i = 0; i < grid.columns.size(); ++i) {
        if (grid.columns[i].key == key) return row[i];
      }
    }
    return nullptr;
  }

  Grid view(const ProfileQuery& query) { return view_tables(trace_, query).front(); }

  StepTrace trace_;
  Record record_;
};

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

TEST_F(Profile, SharesOfEachPassAddUpToItsStep) {
  StepTrace longer = trace_;
  for (TracedStep& step : longer.steps) step.total *= 3;
  const Grid shares = class_shares({{"inference", &trace_}, {"step", &longer}});
  EXPECT_NEAR(column_sum(shares, "inference"), 1, 1e-12);
  EXPECT_NEAR(column_sum(shares, "step"), 1, 1e-12);
  EXPECT_EQ(shares.rows.back().front(), "residue");
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
  EXPECT_THAT(attention.notes.at(0), HasSubstr("softmax takes 10 % as long as the two products"));
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
    EXPECT_THAT(left_out, testing::Contains("Bound")) << grid.name;
    EXPECT_THAT(text, HasSubstr("Total")) << grid.name;
  }
}

TEST_F(Profile, ComparedProfilesCloseTheirSums) {
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

TEST_F(Profile, ASpeedUpHasItsInterval) {
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

TEST_F(Profile, GainsAndLossesThatCancelHaveNoShares) {
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

TEST_F(Profile, APartOfOneSideHasNoSpeedUp) {
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
  EXPECT_THAT(grid.notes.back(), HasSubstr("bfloat16 has parts that float32 has not: 50.00 ns"));
  EXPECT_EQ(format_value(0.0012, Unit::kRatio), "0.0012x");
  EXPECT_EQ(format_value(1.5, Unit::kRatio), "1.50x");
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
