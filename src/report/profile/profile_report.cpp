// The sentences above a profile, its phases, and profiles side by side.
#include "report/profile/profile_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/units.h"
#include "base/words.h"
#include "distribution/bootstrap.h"
#include "distribution/median.h"
#include "report/profile/sum_columns.h"
#include "report/profile/views.h"

namespace laptime {
namespace {

constexpr std::string_view kSoftmaxClass = "softmax";
constexpr std::string_view kProductClass = "matmul";
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

// What tracing costs: by the marks, and as measured against the untraced steps beside it.
std::vector<std::string> tracing_cost(const StepTrace& trace, const StepTotals& totals) {
  std::vector<std::string> lines;
  const auto launches = static_cast<double>(trace.launch_count());
  if (!trace.untraced.empty()) {
    std::vector<double> traced;
    for (const TracedStep& step : trace.steps) traced.push_back(step.total);
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
        fmt::format("tracing takes {} launches x {} for a mark = {}, {:.3f} % of the step; a mean launch "
                    "takes {}",
                    trace.launch_count(), format_seconds(*trace.mark), format_seconds(marks), 100 * marks / totals.step,
                    format_seconds(totals.launches / launches)));
  }
  return lines;
}

Grid phases_grid(const Record& record, const StepTrace& trace, const StepTotals& totals) {
  std::vector<LaunchSum> sums =
      sum_launches(trace, [](const TraceLaunch& launch) { return std::string(launch.phase); });
  Grid grid{.name = "phases",
            .title = record.verdict.rating == kPredicted ? "phases of a step, predicted"
                                                         : "phases of a step, mean of the traced steps",
            .columns = {{"phase", "Phase", Unit::kNone, true},
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

// Seconds of one part in two profiles: the means over the traced steps, none where a profile has no launch of it, and
// those of each step.
struct TwoTimes {
  std::optional<double> a, b;
  std::vector<double> steps_a{}, steps_b{};
  double saved() const { return a.value_or(0) - b.value_or(0); }
};

std::vector<double> whole_steps(const StepTrace& trace) {
  std::vector<double> steps;
  for (const TracedStep& step : trace.steps) steps.push_back(step.total);
  return steps;
}

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

Grid comparison(const std::string& name, const std::string& title, const ComparedProfile& a, const ComparedProfile& b,
                const LaunchKey& key) {
  std::vector<std::string> order;
  std::map<std::string, TwoTimes> rows;
  const auto add = [&](const StepTrace& trace, std::optional<double> TwoTimes::*side,
                       std::vector<double> TwoTimes::*steps) {
    for (const LaunchSum& sum : sum_launches(trace, key)) {
      if (!rows.contains(sum.key)) order.push_back(sum.key);
      rows[sum.key].*side = sum.total;
      rows[sum.key].*steps = seconds_by_step(trace, [&](const TraceLaunch& launch) { return key(launch) == sum.key; });
    }
  };
  add(*a.trace, &TwoTimes::a, &TwoTimes::steps_a);
  add(*b.trace, &TwoTimes::b, &TwoTimes::steps_b);
  const StepTotals whole_a = totals_of(*a.trace);
  const StepTotals whole_b = totals_of(*b.trace);
  std::stable_sort(order.begin(), order.end(),
                   [&](const std::string& x, const std::string& y) { return rows[x].saved() > rows[y].saved(); });
  rows["residue"] = {whole_a.residue(), whole_b.residue(), residues(*a.trace), residues(*b.trace)};
  rows["step"] = {whole_a.step, whole_b.step, whole_steps(*a.trace), whole_steps(*b.trace)};
  order.insert(order.end(), {"residue", "step"});
  Grid grid{.name = name,
            .title = title,
            .columns = {{"part", "Part", Unit::kNone, true},
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
  if (!has_shares) grid.notes.emplace_back("No shares: parts change by more than the step does.");
  if (added > 0) {
    grid.notes.push_back(fmt::format("{} has parts that {} has not: {}, by which Saved of the step is less.", b.title,
                                     a.title, format_seconds(added)));
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
    parts.push_back(fmt::format("{} {:.1f} %{}{}", sum.key, 100 * sum.total / step, parts.empty() ? " of the step" : "",
                                against_bound(sum)));
  }
  return fmt::format("{}{}", fmt::join(parts, "; "), bounds_text(trace));
}

std::string softmax_against_products(const StepTrace& trace) {
  const auto in_forward_attention = [](std::string_view work_class) -> LaunchTest {
    return [work_class](const TraceLaunch& launch) {
      return !launch.range.empty() && launch.phase == "forward" && launch.work_class == work_class;
    };
  };
  const LaunchTest is_softmax = in_forward_attention(kSoftmaxClass);
  const LaunchTest is_product = in_forward_attention(kProductClass);
  const std::vector<double> softmax = seconds_by_step(trace, is_softmax);
  const std::vector<double> products = seconds_by_step(trace, is_product);
  if (softmax.empty() || median(softmax) <= 0 || median(products) <= 0) return "";
  // The median of the steps, because launches are so short that one pause of the machine would decide a mean.
  const size_t steps = softmax.size();
  const double softmax_flops = sum_launches(trace, class_of, is_softmax).front().flops;
  const double products_flops = sum_launches(trace, class_of, is_product).front().flops;
  std::string text = fmt::format(
      "forward{}: softmax takes {} as long as the two products ({} against {}), for {} of their FLOPs ({} against {})",
      steps > 1 ? fmt::format(", median of {} traced steps", steps) : "",
      multiple_text(median(softmax) / median(products)), format_seconds(median(softmax)),
      format_seconds(median(products)), multiple_text(softmax_flops / products_flops), format_flops(softmax_flops),
      format_flops(products_flops));
  const bool is_measured = !trace.untraced.empty();
  if (is_measured && static_cast<int64_t>(steps) < kFewestForInterval)
    text += fmt::format("; known roughly from so few steps (--traced-steps {})", kFewestForInterval);
  return text;
}

PointReport profile_report(const Record& record, const StepTrace& trace, const ProfileQuery& query) {
  PointReport report{.name = record.name, .lines = {}, .grids = {}};
  const StepTotals totals = totals_of(trace);
  report.lines.push_back(profile_conclusion(trace));
  for (std::string& line : tracing_cost(trace, totals)) report.lines.push_back(std::move(line));
  report.grids.push_back(phases_grid(record, trace, totals));
  for (Grid& grid : view_tables(trace, query)) report.grids.push_back(std::move(grid));
  if (query.view == ProfileView::kAttention) {
    if (std::string sentence = softmax_against_products(trace); !sentence.empty())
      report.grids.back().notes.push_back(std::move(sentence));
  }
  return report;
}

std::vector<Grid> compare_profiles(const ComparedProfile& a, const ComparedProfile& b) {
  return {
      comparison("compared_classes", fmt::format("{} and {}, by phase and class", a.title, b.title), a, b, class_key),
      comparison("compared_parts", fmt::format("{} and {}, by phase and part of the model", a.title, b.title), a, b,
                 part_key)};
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
