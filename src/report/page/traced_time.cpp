// Compares means of traced steps with the medians of samples, and with the untraced steps run in turn with them.
#include "report/page/traced_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "analysis/launch_sums.h"
#include "base/units.h"
#include "distribution/median.h"
#include "record/metrics.h"
#include "report/page/page_words.h"
#include "report/profile/profile_report.h"
#include "report/speedup.h"

namespace laptime {
namespace {

struct RatioRange {
  double low = 0;
  double high = 0;
  const TracedPoint* lowest = nullptr;
  const TracedPoint* highest = nullptr;

  void add(double value, const TracedPoint& point) {
    if (lowest == nullptr || value < low) {
      low = value;
      lowest = &point;
    }
    if (highest == nullptr || value > high) {
      high = value;
      highest = &point;
    }
  }
};

// What a mark after each launch adds to a step, by the untraced steps run in turn with the traced ones.
double cost_of_marks(const StepTrace& trace) { return median(whole_steps(trace)) / median(trace.untraced) - 1; }

std::string percents(const RatioRange& range) {
  const auto text = [](double fraction) { return fmt::format("{:+.1f} %", 100 * fraction); };
  return range.lowest == range.highest ? text(range.low) : fmt::format("{} to {}", text(range.low), text(range.high));
}

}  // namespace

bool differs_much(double traced, double measured) { return std::abs(traced / measured - 1) > kDisturbed; }

std::string against_measured(double traced, double measured) {
  const double ratio = traced / measured;
  const std::string time = format_seconds(measured);
  if (!differs_much(traced, measured)) {
    return fmt::format("{:+.1f} % from the {} measured without marks", 100 * (ratio - 1), time);
  }
  return fmt::format("{:.2f} times the {} measured without marks: trust its shares rather than its times", ratio, time);
}

std::string phases_doubt(const Record& record, const StepTrace& trace) {
  constexpr double kWorthNaming = 0.01;  // of the step
  if (is_predicted(record) || trace.steps.empty()) return "";
  const double step = totals_of(trace).step;
  std::vector<std::string> phases;
  for (const LaunchSum& sum :
       sum_launches(trace, [](const TraceLaunch& launch) { return std::string(launch.phase); })) {
    const TimeStats* const time = time_of_part(record, sum.key);
    if (time == nullptr || time->count == 0 || time->median <= 0) continue;
    if (std::max(sum.total, time->median) < kWorthNaming * step || !differs_much(sum.total, time->median)) continue;
    phases.push_back(fmt::format("{} took {} in these steps and {} in the measured ones", sum.key,
                                 format_seconds(sum.total), format_seconds(time->median)));
  }
  if (phases.empty()) return "";
  return fmt::format("{}, so that {} rates are rough", fmt::join(phases, "; "), phases.size() == 1 ? "its" : "their");
}

std::string traced_times_sentence(const std::vector<TracedPoint>& points) {
  RatioRange ratios;
  RatioRange marks;
  for (const TracedPoint& point : points) {
    const TimeStats* const time = point.record->main_time();
    if (is_predicted(*point.record) || time == nullptr || time->count == 0 || time->median <= 0) continue;
    ratios.add(totals_of(*point.trace).step / time->median, point);
    if (!point.trace->untraced.empty()) marks.add(cost_of_marks(*point.trace), point);
  }
  if (ratios.lowest == nullptr) return "";
  std::string text =
      "Times here are means of traced steps, which have a mark after each launch (one run of a kernel) and follow the "
      "samples; the measured times of the page are medians of samples without these marks. ";
  text += ratios.lowest == ratios.highest
              ? fmt::format("The traced step takes {:.2f} times its measured median", ratios.low)
              : fmt::format("Traced steps take {:.2f} ({}) to {:.2f} times ({}) their measured median", ratios.low,
                            ratios.lowest->name, ratios.high, ratios.highest->name);
  if (marks.lowest != nullptr) {
    text += fmt::format(
        "; the marks change a step by {}, as untraced steps run in turn with the traced ones show, and the rest is the "
        "machine, which was faster or slower by then",
        percents(marks));
  }
  if (differs_much(ratios.low, 1) || differs_much(ratios.high, 1))
    text += ". Where they differ much, trust the shares rather than the times";
  return text + ".";
}

std::string trace_doubt(const TracedPoint& point) {
  const TimeStats* const time = point.record->main_time();
  if (is_predicted(*point.record) || time == nullptr || time->count == 0 || time->median <= 0) return "";
  if (const double traced = totals_of(*point.trace).step; differs_much(traced, time->median))
    return fmt::format("traced steps took {:.2f} times the measured median", traced / time->median);
  const std::string verdict = verdict_against_comparing(*point.record);
  return verdict.empty() ? "" : "the verdict is " + verdict;
}

}  // namespace laptime
