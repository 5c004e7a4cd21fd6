// The sentences above a profile, and its phases.
#include "report/profile/profile_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/units.h"
#include "base/words.h"
#include "distribution/bootstrap.h"
#include "distribution/median.h"
#include "record/metrics.h"
#include "report/profile/device_use.h"
#include "report/profile/sum_columns.h"
#include "report/profile/views.h"
#include "table/value_text.h"

namespace laptime {
namespace {

constexpr double kWorthNaming = 0.02;  // of the step: classes with less are not in the conclusion

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

// "3.000 MiB for 492.0 kFLOP (0.16 FLOP per byte), bound by memory": why work can be slow for its FLOPs.
std::string traffic_text(const LaunchSum& sum) {
  const double intensity = sum.bytes > 0 ? sum.flops / sum.bytes : 0;
  const std::string bound = sum.bound();
  return fmt::format("{} for {} ({} FLOP per byte){}", format_bytes(static_cast<int64_t>(sum.bytes)),
                     format_flops(sum.flops),
                     intensity < 10 ? fmt::format("{:.2g}", intensity) : fmt::format("{:.0f}", intensity),
                     bound.empty() ? "" : ", bound by " + bound);
}

// "; here: peak of matrix products 1.018 TFLOP/s, bandwidth of memory 52.78 GB/s", those that are known.
std::string bounds_text(const StepTrace& trace) {
  std::vector<std::string> bounds;
  if (trace.peak_flops) bounds.push_back(fmt::format("peak of matrix products {}/s", format_flops(*trace.peak_flops)));
  if (trace.bandwidth) bounds.push_back(fmt::format("bandwidth of memory {}B/s", format_count(*trace.bandwidth)));
  if (bounds.empty()) return "";
  return fmt::format("; {}: {}", is_measured(trace) ? "here" : "predicted with", fmt::join(bounds, ", "));
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

// How much of a predicted step its launches need by the rates that it is predicted with; the rest starts them.
std::string share_of_starts(const StepTrace& trace, const StepTotals& totals) {
  double floor = 0;
  for (size_t i = 0; i < trace.launch_count(); ++i)
    floor += least_seconds(trace.launch(i), trace.peak_flops, trace.bandwidth);
  if (floor <= 0 || totals.step <= 0) return "";
  return fmt::format("at these rates the launches need {}; the rest, {:.1f} % of the {}, starts {} of them",
                     format_seconds(floor), 100 * (1 - floor / totals.step), pass_of(trace), trace.launch_count());
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
    lines.push_back(sum_against_step(seconds_by_step(trace), trace.untraced));
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

Grid phases_grid(const Record& record, const StepTrace& trace, const StepTotals& totals) {
  std::vector<LaunchSum> sums =
      sum_launches(trace, [](const TraceLaunch& launch) { return std::string(launch.phase); });
  const std::string pass = pass_of(trace);
  Grid grid{.name = "phases",
            .title = fmt::format("phases of a {}, {}", pass,
                                 record.verdict.rating == kPredicted ? "predicted"
                                 : pass == "step"                    ? "mean of the traced steps"
                                                                     : "mean of the traced ones"),
            .columns = {with_pass_name(text_column("phase", "Phase"), pass),
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

bool selects_none(const StepTrace& trace, const LaunchTest& test) {
  if (!test || trace.launch_count() == 0) return false;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    if (test(trace.launch(i))) return false;
  }
  return true;
}

// "; values of class here: matmul, softmax": what a selection can ask one column for.
std::string values_text(const StepTrace& trace, const std::string& column) {
  constexpr size_t kMost = 12;
  std::vector<std::string> values;
  size_t more = 0;
  std::set<std::string> seen;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    const Json value = launch_column(trace.launch(i), column);
    if (value.is_null() || value == "" || !seen.insert(plain_text(value)).second) continue;
    if (values.size() < kMost) {
      values.push_back(plain_text(value));
    } else {
      ++more;
    }
  }
  if (values.empty()) return fmt::format("; no launch here has a {}", column);
  return fmt::format("; values of {} here: {}{}", column, fmt::join(values, ", "),
                     more == 0 ? "" : fmt::format(" and {} more", more));
}

// "no launch matches 'class = matmull'; values of class here: matmul, softmax".
std::string no_launch_sentence(const StepTrace& trace, const ProfileQuery& query) {
  std::string text = "no launch matches " + (query.selection.empty() ? "the selection" : query.selection);
  for (const std::string& column :
       std::set<std::string>(query.selection_columns.begin(), query.selection_columns.end()))
    text += values_text(trace, column);
  return text;
}

}  // namespace

bool splits(ProfileView view, ProfileBy by) {
  const bool has_own_rows = view == ProfileView::kClasses || view == ProfileView::kAttention;
  switch (by) {
    case ProfileBy::kName:
    case ProfileBy::kPhase: return true;
    case ProfileBy::kShape: return !has_own_rows && view != ProfileView::kLayers;
    case ProfileBy::kLayer: return view != ProfileView::kAttention;
  }
  return true;
}

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
      "times and shares are rough; profile again on a quieter machine, or with more --traced-steps. ",
      *traced_over_untraced(trace));
}

std::string softmax_against_products(const StepTrace& trace) {
  const std::optional<SoftmaxAndProducts> both = softmax_and_products(trace);
  if (!both) return "";
  const size_t steps = both->softmax.size();
  std::string text = fmt::format(
      "forward{}: softmax takes {} as long as the two products ({} against {}), for {} of their FLOPs ({} against {})",
      steps > 1 && is_measured(trace) ? fmt::format(", median of {} traced steps", steps) : "",
      multiple_text(both->time_ratio()), format_seconds(median(both->softmax)), format_seconds(median(both->products)),
      multiple_text(both->flops_ratio()), format_flops(both->softmax_work.flops),
      format_flops(both->products_work.flops));
  text += fmt::format("; softmax moves {}; the products move {}", traffic_text(both->softmax_work),
                      traffic_text(both->products_work));
  if (is_measured(trace) && static_cast<int64_t>(steps) < kFewestForInterval)
    text += fmt::format("; known roughly from so few steps (--traced-steps {})", kFewestForInterval);
  return text;
}

PointReport profile_report(const Record& record, const StepTrace& trace, const ProfileQuery& query) {
  PointReport report{.name = record.name, .lines = {}, .grids = {}};
  const StepTotals totals = totals_of(trace);
  report.lines.push_back(disturbance(trace) + profile_conclusion(trace));
  if (!trace.untraced.empty() && !is_predicted(record))
    report.verdict = is_disturbed(trace) ? "disturbed" : "undisturbed";
  if (!is_predicted(record)) {
    for (std::string& line : tracing_cost(trace, totals)) report.lines.push_back(std::move(line));
  } else if (std::string starts = share_of_starts(trace, totals); !starts.empty()) {
    report.lines.push_back(std::move(starts));
  }
  for (std::string& line : device_use_lines(trace)) report.lines.push_back(std::move(line));
  report.grids.push_back(phases_grid(record, trace, totals));
  if (selects_none(trace, query.test)) {
    report.lines.insert(report.lines.begin(), no_launch_sentence(trace, query));
    return report;
  }
  for (Grid& grid : view_tables(trace, query)) {
    if (!grid.rows.empty()) {
      report.grids.push_back(std::move(grid));
    } else {
      report.lines.insert(report.lines.begin(), grid.notes.begin(), grid.notes.end());
    }
  }
  if (query.view == ProfileView::kAttention && report.grids.back().name == "attention") {
    if (std::string sentence = softmax_against_products(trace); !sentence.empty()) {
      report.grids.back().notes.push_back(std::move(sentence));
      report.grids.back().notes.push_back(fmt::format(
          "The sentence adds up the forward rows of class {} and those of class {}{}.", kSoftmaxClass, kProductClass,
          trace.steps.size() > 1 && is_measured(trace) ? "; times of the table are means" : ""));
    }
  }
  return report;
}

}  // namespace laptime
