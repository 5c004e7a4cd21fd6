// The sentences above a profile, its phases, and profiles side by side.
#include "report/profile/profile_report.h"

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
#include "record/metrics.h"
#include "report/profile/device_use.h"
#include "report/profile/sum_columns.h"
#include "report/profile/views.h"

namespace laptime {
namespace {

constexpr std::string_view kSoftmaxClass = "softmax";
constexpr std::string_view kProductClass = "matmul";
constexpr std::string_view kCastClass = "cast";
std::string class_of(const TraceLaunch& launch) { return std::string(launch.work_class); }

constexpr double kWorthNaming = 0.02;  // of the step: classes with less are not in the conclusion

// Percent with two digits at least: "62 %", "2.0 %", "0.031 %".
std::string percent_text(double fraction) {
  const double percent = 100 * fraction;
  if (percent >= 10) return fmt::format("{:.0f} %", percent);
  return percent >= 0.1 ? fmt::format("{:.1f} %", percent) : fmt::format("{:.2g} %", percent);
}

// "21 %", "1.3 times", "57 times": a ratio above 1 is no share.
std::string multiple_text(double ratio) {
  if (ratio <= 1) return percent_text(ratio);
  return fmt::format("{:.{}f} times", ratio, ratio < 10 ? 1 : 0);
}

// How launches can be faster than their bound.
std::string cause_above_bound(const LaunchSum& sum) {
  const bool is_cached = sum.bound() == "memory" && 2 * sum.uncached_bytes < sum.bytes;
  if (is_cached) return "its operands stay in the caches";
  return fmt::format("the {} was measured while the machine was slower",
                     sum.bound() == "memory" ? "bandwidth" : "peak");
}

// ", at 44 % of the peak": what launches reach of the bound that limits them.
std::string against_bound(const LaunchSum& sum) {
  const std::optional<double> fraction = sum.of_roofline();
  if (!fraction) return "";
  const std::string_view bound = sum.bound() == "compute" ? "peak" : "bandwidth";
  if (*fraction > 1) return fmt::format(", at more than 100 % of the {} ({})", bound, cause_above_bound(sum));
  return fmt::format(", at {} of the {}", percent_text(*fraction), bound);
}

// "; peak of matrix products here 1.018 TFLOP/s, bandwidth of memory here 52.78 GB/s", those that are known.
std::string bounds_text(const StepTrace& trace) {
  std::vector<std::string> bounds;
  if (trace.peak_flops) bounds.push_back(fmt::format("peak of matrix products {}/s", format_flops(*trace.peak_flops)));
  if (trace.bandwidth) bounds.push_back(fmt::format("bandwidth of memory {}B/s", format_count(*trace.bandwidth)));
  return bounds.empty() ? "" : fmt::format("; here: {}", fmt::join(bounds, ", "));
}

// "+1.77 % (95 %: -2.10 to +4.30 %; no difference seen)".
std::string how_much_longer(double ratio, const std::optional<Interval>& interval) {
  const auto percent = [](double value) { return 100 * (value - 1); };
  if (!interval) {
    return fmt::format("{:+.2f} % (no interval from fewer than {} steps)", percent(ratio), kFewestForInterval);
  }
  const bool differs = interval->low > 1 || interval->high < 1;
  return fmt::format("{:+.2f} % (95 %: {:+.2f} to {:+.2f} %{})", percent(ratio), percent(interval->low),
                     percent(interval->high), differs ? "" : "; no difference seen");
}

bool is_any(const TraceLaunch&) { return true; }

// Whether what the launches of a traced step add up to is the time of an untraced step, in words.
std::string sum_against_step(const std::vector<double>& launches, const std::vector<double>& untraced) {
  constexpr double kMatch = 0.02;
  const double ratio = median(launches) / median(untraced);
  std::string text = fmt::format("launches add up to {}, {:.1f} % of an untraced step (medians",
                                 format_seconds(median(launches)), 100 * ratio);
  const std::optional<Interval> interval = bootstrap_ratio_interval(launches, untraced);
  if (!interval) return text + fmt::format("; no interval from fewer than {} steps)", kFewestForInterval);
  text += fmt::format("; 95 %: {:.1f} to {:.1f} %): ", 100 * interval->low, 100 * interval->high);
  if (interval->low >= 1 - kMatch && interval->high <= 1 + kMatch)
    return text + fmt::format("the two match within {:.0f} %", 100 * kMatch);
  return text + (interval->low > 1 || interval->high < 1 ? "the two do not match" : "no difference seen");
}

std::vector<double> whole_steps(const StepTrace& trace) {
  std::vector<double> steps;
  for (const TracedStep& step : trace.steps) steps.push_back(step.total);
  return steps;
}

// How many times as long the mean traced step, of which the tables are, took as the median untraced one beside it; none
// where nothing was measured.
std::optional<double> traced_over_untraced(const StepTrace& trace) {
  if (trace.untraced.empty() || trace.steps.empty() || median(trace.untraced) <= 0) return std::nullopt;
  return totals_of(trace).step / median(trace.untraced);
}

// Whether the two differ by more than the marks can explain.
bool is_disturbed(const StepTrace& trace) {
  constexpr double kMuch = 0.1;
  const std::optional<double> ratio = traced_over_untraced(trace);
  if (!ratio) return false;
  const double marks = trace.mark.value_or(0) * static_cast<double>(trace.launch_count()) / median(trace.untraced);
  return *ratio > 1 + kMuch + marks || *ratio < 1 - kMuch;
}

// What tracing costs: by the marks, and as measured against the untraced steps beside it.
std::vector<std::string> tracing_cost(const StepTrace& trace, const StepTotals& totals) {
  std::vector<std::string> lines;
  const auto launches = static_cast<double>(trace.launch_count());
  if (!trace.untraced.empty()) {
    const std::vector<double> traced = whole_steps(trace);
    const double with = median(traced);
    const double without = median(trace.untraced);
    lines.push_back(fmt::format("{} in turn with {} untraced: median {} against {}, {}",
                                counted(trace.steps.size(), "traced step"), trace.untraced.size(), format_seconds(with),
                                format_seconds(without),
                                how_much_longer(with / without, bootstrap_ratio_interval(traced, trace.untraced))));
    lines.push_back(sum_against_step(seconds_by_step(trace, is_any), trace.untraced));
  }
  if (trace.mark && *trace.mark > 0) {
    const double marks = launches * *trace.mark;
    lines.push_back(
        fmt::format("tracing takes {} launches x {} for a mark = {}, {:.3f} % of the {}; a mean launch "
                    "takes {}",
                    trace.launch_count(), format_seconds(*trace.mark), format_seconds(marks), 100 * marks / totals.step,
                    pass_of(trace), format_seconds(totals.launches / launches)));
  }
  return lines;
}

// People read the row "step" of a pass that is none as "forward pass".
GridColumn whole_pass_named(GridColumn column, const std::string& pass) {
  column.shown = [pass](const Json& value) { return value == "step" ? pass : value.get<std::string>(); };
  return column;
}

Grid phases_grid(const Record& record, const StepTrace& trace, const StepTotals& totals) {
  std::vector<LaunchSum> sums =
      sum_launches(trace, [](const TraceLaunch& launch) { return std::string(launch.phase); });
  const std::string pass = pass_of(trace);
  Grid grid{.name = "phases",
            .title = fmt::format("phases of a {}, {}", pass,
                                 record.verdict.rating == kPredicted ? "predicted"
                                 : pass == "step"                    ? "mean of the traced steps"
                                                                     : "mean of the traced ones"),
            .columns = {whole_pass_named(text_column("phase", "Phase"), pass),
                        {"total_s", "Total", Unit::kSeconds, false},
                        {"time_share", "Time", Unit::kFraction, false},
                        {"launches", "Launches", Unit::kNone, false},
                        of_bound_column()},
            .rows = {},
            .notes = {}};
  double floor = 0;
  for (const LaunchSum& sum : sums) {
    floor += sum.floor;
    grid.rows.push_back({sum.key, sum.total, sum.total / totals.step, sum.calls,
                         sum.of_roofline() ? Json(*sum.of_roofline()) : Json(nullptr)});
  }
  grid.rows.push_back({"residue", totals.residue(), totals.residue() / totals.step, nullptr, nullptr});
  grid.rows.push_back({"step", totals.step, 1.0, static_cast<int64_t>(trace.launch_count()),
                       floor > 0 ? Json(floor / totals.step) : Json(nullptr)});
  return grid;
}

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

// Seconds of one part in two profiles: the means over the traced steps, none where a profile has no launch of it, and
// those of each step.
struct TwoTimes {
  std::optional<double> a, b;
  std::vector<double> steps_a{}, steps_b{};
  double saved() const { return a.value_or(0) - b.value_or(0); }
};

std::vector<double> residues(const StepTrace& trace) {
  std::vector<double> steps = whole_steps(trace);
  const std::vector<double> launches = seconds_by_step(trace, is_any);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] -= launches[i];
  return steps;
}

// The speed-up and the ends of its interval, each null where it is not known.
std::vector<Json> speedup_cells(const TwoTimes& times) {
  const bool has_both = times.b && *times.a > 0 && *times.b > 0;
  if (!has_both || median(times.steps_b) <= 0) return {nullptr, nullptr, nullptr};
  const std::optional<Interval> interval = bootstrap_ratio_interval(times.steps_a, times.steps_b);
  return {median(times.steps_a) / median(times.steps_b), interval ? Json(interval->low) : Json(nullptr),
          interval ? Json(interval->high) : Json(nullptr)};
}

// What the speed-ups are of, and how well they are known.
std::string speedup_note(const StepTrace& a, const StepTrace& b) {
  const auto fewest = static_cast<int64_t>(std::min(a.steps.size(), b.steps.size()));
  const std::string text = "Speed-up: ratio of the medians over the traced steps";
  if (a.untraced.empty() || b.untraced.empty()) return text + ".";  // predicted
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
      rows[sum.key].*side = sum.total;
      rows[sum.key].*steps = seconds_by_step(
          trace, [&](const TraceLaunch& launch) { return is_in(launch) && which.key(launch) == sum.key; });
    }
  };
  add(*a.trace, &TwoTimes::a, &TwoTimes::steps_a);
  add(*b.trace, &TwoTimes::b, &TwoTimes::steps_b);
  const StepTotals whole_a = totals_of(*a.trace);
  const StepTotals whole_b = totals_of(*b.trace);
  std::stable_sort(order.begin(), order.end(),
                   [&](const std::string& x, const std::string& y) { return rows[x].saved() > rows[y].saved(); });
  const std::vector<std::string> whole =
      which.test == nullptr ? std::vector<std::string>{"residue", "step"} : std::vector<std::string>{"step"};
  rows["residue"] = {whole_a.residue(), whole_b.residue(), residues(*a.trace), residues(*b.trace)};
  rows["step"] = {whole_a.step, whole_b.step, whole_steps(*a.trace), whole_steps(*b.trace)};
  order.insert(order.end(), whole.begin(), whole.end());
  Grid grid{.name = which.name,
            .title = fmt::format("{} and {}, by {}", a.title, b.title, which.by),
            .columns = {whole_pass_named(text_column("part", "Part"), pass_of(*a.trace)),
                        {a.title + "_s", a.title, Unit::kSeconds, false},
                        {b.title + "_s", b.title, Unit::kSeconds, false},
                        {"saved_s", "Saved", Unit::kSeconds, false},
                        {"of_all_saved", "Of all saved", Unit::kFraction, false},
                        {"speedup", "Speed-up", Unit::kRatio, false},
                        optional_column(1, {"speedup_low", "Low", Unit::kRatio, false}),
                        optional_column(1, {"speedup_high", "High", Unit::kRatio, false})},
            .rows = {},
            .notes = {speedup_note(*a.trace, *b.trace)}};
  const double all_saved = rows["step"].saved();
  // Where parts change by more than the step does, because gains and losses cancel, shares would say nothing.
  const bool has_shares = std::all_of(order.begin(), order.end(), [&](const std::string& part) {
    return std::abs(rows[part].saved()) <= std::abs(all_saved);
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
    if (has_shares && all_saved != 0) row[4] = times.saved() / all_saved;
    const std::vector<Json> cells = speedup_cells(times);
    std::copy(cells.begin(), cells.end(), row.begin() + 5);
  }
  if (!has_shares) grid.notes.emplace_back("No shares: parts change by more than the whole does.");
  if (added > 0) {
    grid.notes.push_back(
        fmt::format("The parts that only {} has take {}; the {} saves that much less than the rows above "
                    "it save together.",
                    b.title, format_seconds(added), pass_of(*a.trace)));
  }
  return grid;
}

}  // namespace

std::string profile_conclusion(const StepTrace& trace) {
  const double step = totals_of(trace).step;
  std::vector<LaunchSum> sums = sum_launches(trace, class_of);
  std::stable_sort(sums.begin(), sums.end(), [](const LaunchSum& a, const LaunchSum& b) { return a.total > b.total; });
  std::vector<std::string> parts;
  for (const LaunchSum& sum : sums) {
    if (sum.total < kWorthNaming * step) continue;
    parts.push_back(fmt::format("{} {:.1f} %{}{}", sum.key, 100 * sum.total / step,
                                parts.empty() ? " of the " + pass_of(trace) : "", against_bound(sum)));
  }
  return fmt::format("{}{}", fmt::join(parts, "; "), bounds_text(trace));
}

std::string disturbance(const StepTrace& trace) {
  if (!is_disturbed(trace)) return "";
  return fmt::format(
      "disturbed: traced steps took {:.2f} times as long on average as the median untraced one beside them, so that "
      "times "
      "and shares are rough; profile again on a quieter machine, or with more --traced-steps. ",
      *traced_over_untraced(trace));
}

namespace {

// Softmax and the two products around it in forward, by traced step.
struct SoftmaxAndProducts {
  LaunchTest is_softmax, is_product;
  std::vector<double> softmax, products;  // seconds

  explicit SoftmaxAndProducts(const StepTrace& trace)
      : is_softmax(in_attention(kSoftmaxClass)),
        is_product(in_attention(kProductClass)),
        softmax(seconds_by_step(trace, is_softmax)),
        products(seconds_by_step(trace, is_product)) {}

  bool is_known() const { return !softmax.empty() && median(softmax) > 0 && median(products) > 0; }
  // The median of the steps, because launches are so short that one pause of the machine would decide a mean.
  double ratio() const { return median(softmax) / median(products); }

 private:
  static LaunchTest in_attention(std::string_view work_class) {
    return [work_class](const TraceLaunch& launch) {
      return !launch.range.empty() && launch.phase == "forward" && launch.work_class == work_class;
    };
  }
};

}  // namespace

std::optional<double> softmax_time_over_products(const StepTrace& trace) {
  const SoftmaxAndProducts times(trace);
  return times.is_known() ? std::optional(times.ratio()) : std::nullopt;
}

std::string softmax_against_products(const StepTrace& trace) {
  const SoftmaxAndProducts times(trace);
  if (!times.is_known()) return "";
  const size_t steps = times.softmax.size();
  const double softmax_flops = sum_launches(trace, class_of, times.is_softmax).front().flops;
  const double products_flops = sum_launches(trace, class_of, times.is_product).front().flops;
  std::string text = fmt::format(
      "forward{}: softmax takes {} as long as the two products ({} against {}), for {} of their FLOPs ({} against {})",
      steps > 1 ? fmt::format(", median of {} traced steps", steps) : "", multiple_text(times.ratio()),
      format_seconds(median(times.softmax)), format_seconds(median(times.products)),
      multiple_text(softmax_flops / products_flops), format_flops(softmax_flops), format_flops(products_flops));
  const bool is_measured = !trace.untraced.empty();
  if (is_measured && static_cast<int64_t>(steps) < kFewestForInterval)
    text += fmt::format("; known roughly from so few steps (--traced-steps {})", kFewestForInterval);
  return text;
}

PointReport profile_report(const Record& record, const StepTrace& trace, const ProfileQuery& query) {
  PointReport report{.name = record.name, .lines = {}, .grids = {}};
  const StepTotals totals = totals_of(trace);
  report.lines.push_back(disturbance(trace) + profile_conclusion(trace));
  if (!trace.untraced.empty() && !is_predicted(record))
    report.verdict = is_disturbed(trace) ? "disturbed" : "undisturbed";
  for (std::string& line : tracing_cost(trace, totals)) report.lines.push_back(std::move(line));
  for (std::string& line : device_use_lines(trace)) report.lines.push_back(std::move(line));
  report.grids.push_back(phases_grid(record, trace, totals));
  for (Grid& grid : view_tables(trace, query)) report.grids.push_back(std::move(grid));
  if (query.view == ProfileView::kAttention) {
    if (std::string sentence = softmax_against_products(trace); !sentence.empty())
      report.grids.back().notes.push_back(std::move(sentence));
  }
  return report;
}

std::vector<Grid> compare_profiles(const ComparedProfile& a, const ComparedProfile& b, ProfileView view) {
  std::vector<Grid> grids;
  for (const ComparisonRows& one : kComparisons) {
    const bool is_of_summary = one.view == ProfileView::kClasses || one.view == ProfileView::kLayers;
    if (view == one.view || (view == ProfileView::kSummary && is_of_summary)) grids.push_back(comparison(one, a, b));
  }
  return grids;
}

Grid cast_shares(const std::vector<CastComparison>& pairs) {
  Grid grid{.name = "casts",
            .title = "what casts between number types take, and what is left",
            .columns = {whole_column(text_column("point", "Point")),
                        {"casts_s", "Casts", Unit::kSeconds},
                        {"cast_share", "Of the whole", Unit::kFraction},
                        {"from_s", "", Unit::kSeconds},
                        {"to_s", "", Unit::kSeconds},
                        {"speedup", "Speed-up", Unit::kRatio}},
            .rows = {},
            .notes = {}};
  for (const CastComparison& pair : pairs) {
    grid.columns[3].title = pair.from.title;
    grid.columns[4].title = pair.to.title;
    double casts = 0;
    for (const LaunchSum& sum : sum_launches(*pair.to.trace, class_of)) casts += sum.key == kCastClass ? sum.total : 0;
    const double before = median(whole_steps(*pair.from.trace));
    const double after = median(whole_steps(*pair.to.trace));
    const double whole = totals_of(*pair.to.trace).step;
    grid.rows.push_back({pair.name, casts, whole > 0 ? Json(casts / whole) : Json(nullptr), before, after,
                         after > 0 ? Json(before / after) : Json(nullptr)});
  }
  return grid;
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
  const bool is_same = std::all_of(kernels.begin(), kernels.end(), [&](const auto& one) { return one == kernels[0]; });
  if (!is_same) {
    for (size_t i = 0; i < shares.size(); ++i) shares[i] = fmt::format("{} with {}", kernels[i], shares[i]);
  }
  std::string sentence = is_same ? fmt::format("The same kernel takes most time in {}: {}, {}",
                                               fmt::join(titles, " and "), kernels[0], fmt::join(shares, ", "))
                                 : fmt::format("Not the same kernel takes most time: {}", fmt::join(shares, ", "));
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
