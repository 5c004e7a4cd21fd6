// Rows of comparisons: what a part takes on each side, and what is saved.
#include "report/profile/compared_profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/units.h"
#include "base/words.h"
#include "distribution/bootstrap.h"
#include "distribution/median.h"
#include "report/profile/sum_columns.h"
#include "table/value_text.h"

namespace laptime {
namespace {

std::string class_key(const TraceLaunch& launch) { return fmt::format("{} {}", launch.phase, launch.work_class); }
std::string op_key(const TraceLaunch& launch) { return fmt::format("{} {}", launch.phase, launch.op); }
std::string kernel_key(const TraceLaunch& launch) { return fmt::format("{}:{}", launch.op, launch.kernel); }
std::string range_key(const TraceLaunch& launch) { return fmt::format("{} {}", launch.phase, launch.range); }
bool is_in_attention(const TraceLaunch& launch) { return !launch.range.empty(); }

// A comparison of two profiles: what its rows add up, and which launches are in it.
struct ComparisonRows {
  ProfileView view;  // that asks for it; the summary has those of classes and parts
  const char* name;
  const char* by;
  std::string (*key)(const TraceLaunch& launch);
  bool (*test)(const TraceLaunch& launch) = nullptr;
};
constexpr std::array kComparisons{
    ComparisonRows{ProfileView::kClasses, "compared_classes", "phase and class", class_key},
    ComparisonRows{ProfileView::kLayers, "compared_parts", "phase and part of the model", part_key},
    ComparisonRows{ProfileView::kKernels, "compared_kernels", "kernel", kernel_key},
    ComparisonRows{ProfileView::kOps, "compared_ops", "phase and op", op_key},
    ComparisonRows{ProfileView::kAttention, "compared_attention", "phase and part of attention", range_key,
                   is_in_attention}};

// Seconds of one part in two profiles: the medians over the traced steps, none where a profile has no launch of it, and
// those of each step. Medians, because one pause of the machine would decide a mean of few steps.
struct TwoTimes {
  std::optional<double> a, b;
  std::vector<double> steps_a{}, steps_b{};
  double saved() const { return a.value_or(0) - b.value_or(0); }
};

TwoTimes two_times(std::vector<double> a, std::vector<double> b) {
  TwoTimes times{.a = median(a), .b = median(b)};
  times.steps_a = std::move(a);
  times.steps_b = std::move(b);
  return times;
}

std::vector<double> residues(const StepTrace& trace) {
  std::vector<double> steps = whole_steps(trace);
  const std::vector<double> launches = seconds_by_step(trace);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] -= launches[i];
  return steps;
}

TwoTimes whole_times(const StepTrace& a, const StepTrace& b) { return two_times(whole_steps(a), whole_steps(b)); }

// The speed-up and the ends of its interval, each null where it is not known.
std::vector<Json> speedup_cells(const TwoTimes& times, bool are_measured) {
  const bool has_both = times.b && *times.a > 0 && *times.b > 0;
  if (!has_both) return {nullptr, nullptr, nullptr};
  std::optional<Interval> interval;
  if (are_measured) interval = bootstrap_ratio_interval(times.steps_a, times.steps_b);
  return {*times.a / *times.b, interval ? Json(interval->low) : Json(nullptr),
          interval ? Json(interval->high) : Json(nullptr)};
}

// The note below a table of speed-ups: what its times and speed-ups are, and how well the speed-ups are known.
std::string speedup_note(const StepTrace& a, const StepTrace& b) {
  const auto fewest = static_cast<int64_t>(std::min(a.steps.size(), b.steps.size()));
  const std::string text = "Times: medians over the traced steps. Speed-up: ratio of the medians";
  if (!is_measured(a) || !is_measured(b)) return "Speed-up: ratio of the predicted times.";
  if (fewest < kFewestForInterval) {
    return fmt::format("{}, without an interval, which takes --traced-steps {}.", text, kFewestForInterval);
  }
  return text + ", with its 95 % interval. Each side is one run; laptime compare repeats the runs in turn.";
}

Grid comparison(const ComparisonRows& which, const ComparedProfile& a, const ComparedProfile& b) {
  std::vector<std::string> order;
  std::map<std::string, TwoTimes> rows;
  const auto add = [&](const StepTrace& trace, std::optional<double> TwoTimes::*side,
                       std::vector<double> TwoTimes::*steps) {
    const auto is_in = [&](const TraceLaunch& launch) { return which.test == nullptr || which.test(launch); };
    for (const LaunchSum& sum : sum_launches(trace, which.key, is_in)) {
      if (!rows.contains(sum.key)) order.push_back(sum.key);
      TwoTimes& times = rows[sum.key];
      times.*steps = seconds_by_step(
          trace, [&](const TraceLaunch& launch) { return is_in(launch) && which.key(launch) == sum.key; });
      times.*side = median(times.*steps);
    }
  };
  add(*a.trace, &TwoTimes::a, &TwoTimes::steps_a);
  add(*b.trace, &TwoTimes::b, &TwoTimes::steps_b);
  std::stable_sort(order.begin(), order.end(),
                   [&](const std::string& x, const std::string& y) { return rows[x].saved() > rows[y].saved(); });
  const std::vector<std::string> whole =
      which.test == nullptr ? std::vector<std::string>{"residue", "step"} : std::vector<std::string>{"step"};
  rows["residue"] = two_times(residues(*a.trace), residues(*b.trace));
  rows["step"] = whole_times(*a.trace, *b.trace);
  order.insert(order.end(), whole.begin(), whole.end());
  Grid grid{.name = which.name,
            .title = fmt::format("{} and {}, by {}", a.title, b.title, which.by),
            .columns = {with_pass_name(text_column("part", "Part"), pass_of(*a.trace)),
                        {a.title + "_s", a.title, Unit::kSeconds, false},
                        {b.title + "_s", b.title, Unit::kSeconds, false},
                        {"saved_s", "Saved", Unit::kSeconds, false},
                        optional_column(1, {"of_all_saved", "Of all saved", Unit::kFraction, false}),
                        {"speedup", "Speed-up", Unit::kRatio, false},
                        optional_column(1, {"speedup_low", "Low", Unit::kRatio, false}),
                        optional_column(1, {"speedup_high", "High", Unit::kRatio, false})},
            .rows = {},
            .notes = {speedup_note(*a.trace, *b.trace)}};
  if (std::min(a.trace->steps.size(), b.trace->steps.size()) > 2)
    grid.notes.emplace_back("Medians of parts do not add up to that of the whole to the last digit.");
  const double all_saved = rows["step"].saved();
  // Where parts change by more than the step does, because gains and losses cancel, shares would say nothing, and where
  // the step saves nothing there is nothing to share.
  const bool has_shares = all_saved > 0 && std::all_of(order.begin(), order.end(), [&](const std::string& part) {
                            return std::abs(rows[part].saved()) <= all_saved;
                          });
  double added = 0;  // seconds of parts that only B has
  for (const std::string& part : order) {
    const TwoTimes& times = rows[part];
    std::vector<Json>& row = grid.rows.emplace_back();
    row = {part, or_null(times.a), or_null(times.b), nullptr, nullptr, nullptr, nullptr, nullptr};
    if (!times.a) {
      added += *times.b;
      continue;
    }
    row[3] = times.saved();
    if (has_shares) row[4] = times.saved() / all_saved;
    const std::vector<Json> cells = speedup_cells(times, is_measured(*a.trace) && is_measured(*b.trace));
    std::copy(cells.begin(), cells.end(), row.begin() + 5);
  }
  if (!has_shares && all_saved > 0) grid.notes.emplace_back("No shares: parts change by more than the whole does.");
  if (added > 0) {
    grid.notes.push_back(
        fmt::format("The parts that only {} has take {}; the {} saves that much less than the rows above it save "
                    "together.",
                    b.title, format_seconds(added), pass_of(*a.trace)));
  }
  return grid;
}

}  // namespace

std::vector<Grid> compare_profiles(const ComparedProfile& a, const ComparedProfile& b, ProfileView view) {
  std::vector<Grid> grids;
  for (const ComparisonRows& one : kComparisons) {
    const bool is_of_summary = one.view == ProfileView::kClasses || one.view == ProfileView::kLayers;
    if (view == one.view || (view == ProfileView::kSummary && is_of_summary)) grids.push_back(comparison(one, a, b));
  }
  return grids;
}

namespace {

double cast_seconds(const StepTrace& trace) {
  return median(seconds_by_step(trace, [](const TraceLaunch& launch) { return launch.work_class == kCastClass; }));
}

}  // namespace

Grid cast_shares(const std::vector<std::pair<ComparedProfile, ComparedProfile>>& pairs) {
  Grid grid{.name = "casts",
            .title = "what casts between number types take, and what is gained in spite of them",
            .columns = {whole_column(text_column("point", "Point")),
                        text_column("from", "From"),
                        text_column("to", "To"),
                        {"casts_s", "Casts", Unit::kSeconds},
                        {"cast_share", "Of the whole", Unit::kFraction},
                        {"from_s", "Before", Unit::kSeconds},
                        {"to_s", "After", Unit::kSeconds},
                        {"speedup", "Speed-up", Unit::kRatio},
                        optional_column(1, {"speedup_low", "Low", Unit::kRatio}),
                        optional_column(1, {"speedup_high", "High", Unit::kRatio})},
            .rows = {},
            .notes = {}};
  for (const auto& [a, b] : pairs) {
    const bool is_turned = cast_seconds(*a.trace) > cast_seconds(*b.trace);
    const ComparedProfile& from = is_turned ? b : a;
    const ComparedProfile& to = is_turned ? a : b;
    const double casts = cast_seconds(*to.trace);
    const TwoTimes whole = whole_times(*from.trace, *to.trace);
    std::vector<Json>& row = grid.rows.emplace_back();
    row = {to.point,         from.title,      to.title, casts, *whole.b > 0 ? Json(casts / *whole.b) : Json(nullptr),
           or_null(whole.a), or_null(whole.b)};
    for (Json& cell : speedup_cells(whole, is_measured(*a.trace) && is_measured(*b.trace)))
      row.push_back(std::move(cell));
  }
  if (!pairs.empty()) grid.notes.push_back(speedup_note(*pairs.front().first.trace, *pairs.front().second.trace));
  return grid;
}

std::vector<std::string> disturbed_profiles(const std::vector<ComparedProfile>& profiles) {
  const auto disturbed = std::count_if(profiles.begin(), profiles.end(), [](const ComparedProfile& profile) {
    return !disturbance(*profile.trace).empty();
  });
  if (disturbed == 0) return {};
  return {
      fmt::format("disturbed: {} of {} profiles, whose times and shares here are rough; each says so in its own part",
                  disturbed, profiles.size())};
}

std::string top_kernels_sentence(const std::vector<ComparedProfile>& passes) {
  std::vector<std::string> titles;
  std::vector<std::string> kernels;
  std::vector<std::string> shares;
  std::vector<std::string> products;
  for (const ComparedProfile& pass : passes) {
    const std::vector<LaunchSum> sums = sum_launches(*pass.trace, kernel_key);
    const double whole = totals_of(*pass.trace).step;
    if (sums.empty() || whole <= 0) continue;
    const auto text = [&](const LaunchSum& sum) {
      return fmt::format("{} of {} in {}", percent_text(sum.total / whole), pass.title, counted(sum.calls, "call"));
    };
    const auto top = std::max_element(sums.begin(), sums.end(),
                                      [](const LaunchSum& x, const LaunchSum& y) { return x.total < y.total; });
    titles.push_back(pass.title);
    kernels.push_back(top->key);
    shares.push_back(text(*top));
    for (const LaunchSum& sum : sum_launches(*pass.trace, class_of)) {
      if (sum.key == kProductClass) products.push_back(text(sum));
    }
  }
  if (titles.size() < 2) return "";
  std::string sentence;
  if (std::all_of(kernels.begin(), kernels.end(), [&](const auto& one) { return one == kernels[0]; })) {
    sentence = fmt::format("The same kernel takes most time in {}: {}, {}", fmt::join(titles, " and "), kernels[0],
                           fmt::join(shares, ", "));
  } else {
    for (size_t i = 0; i < shares.size(); ++i) shares[i] = fmt::format("{} with {}", kernels[i], shares[i]);
    sentence = fmt::format("Different kernels take most time: {}", fmt::join(shares, ", "));
  }
  if (!products.empty()) sentence += fmt::format("; all matrix products together: {}", fmt::join(products, ", "));
  return sentence + ".";
}

Grid class_shares(const std::vector<ComparedProfile>& profiles) {
  Grid grid{.name = "class_shares", .title = "share of each class", .columns = {}, .rows = {}, .notes = {}};
  grid.columns.push_back({"class", "Class", Unit::kNone, true});
  std::map<std::string, std::map<size_t, double>> shares;
  for (size_t i = 0; i < profiles.size(); ++i) {
    const double step = totals_of(*profiles[i].trace).step;
    grid.columns.push_back({profiles[i].title, profiles[i].title, Unit::kFraction, false});
    for (const LaunchSum& sum : sum_launches(*profiles[i].trace, class_of)) {
      shares[sum.key][i] = sum.total / step;
    }
  }
  for (const auto& [name, by_profile] : shares) {
    std::vector<Json> row{name};
    for (size_t i = 0; i < profiles.size(); ++i)
      row.push_back(by_profile.contains(i) ? Json(by_profile.at(i)) : Json(0.0));
    grid.rows.push_back(std::move(row));
  }
  std::stable_sort(grid.rows.begin(), grid.rows.end(), [](const std::vector<Json>& a, const std::vector<Json>& b) {
    return a[1].get<double>() > b[1].get<double>();
  });
  std::vector<Json> residue{"residue"};
  for (const ComparedProfile& profile : profiles) {
    const StepTotals totals = totals_of(*profile.trace);
    residue.push_back(totals.residue() / totals.step);
  }
  grid.rows.push_back(std::move(residue));
  return grid;
}

}  // namespace laptime
