// Adds up the bounds of launches, and shows them in a sentence and a chart.
#include "report/page/pass_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/launch_sums.h"
#include "base/units.h"
#include "record/metrics.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/palette.h"
#include "report/profile/profile_report.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// "Of their bound the passes reach 61 % (inference ctx:64) to 93 % (step ctx:256)."
std::string reading_of(const std::vector<std::pair<double, std::string>>& reached) {
  const auto [least, most] = std::minmax_element(reached.begin(), reached.end());
  return fmt::format("Of their bound the passes reach {} ({}) to {} ({}).", percent_text(least->first), least->second,
                     percent_text(most->first), most->second);
}

}  // namespace

std::optional<PassBound> bound_of_pass(const TracedPoint& point) {
  const StepTrace& trace = *point.trace;
  const TimeStats* const time = point.record->main_time();
  if (!trace.peak_flops || !trace.bandwidth || time == nullptr || time->count == 0 || time->median <= 0)
    return std::nullopt;
  return bound_of_pass(trace);
}

std::string bound_sentence(const TracedPoint& point) {
  const std::optional<PassBound> bound = bound_of_pass(point);
  if (!bound) return "";
  const Record& record = *point.record;
  const StepTrace& trace = *point.trace;
  return fmt::format(
      "At the {} ({}/s) and the {} ({}B/s), whichever takes longer for each launch, the {} would take {}: it runs "
      "at {} of that bound. {} of the bound is arithmetic, the rest memory.",
      bounding_peak_name(record), format_flops(*trace.peak_flops), bandwidth_name(record),
      format_count(*trace.bandwidth), pass_of(trace), format_seconds(bound->seconds()),
      percent_text(bound->seconds() / record.main_time()->median), percent_text(bound->arithmetic / bound->seconds()));
}

std::optional<PageFigure> bounds_figure(const std::vector<TracedPoint>& points) {
  Grid grid{.name = "bounds",
            .title = "Bounds of passes",
            .columns = {text_column("point", "Point"),
                        {"arithmetic_s", "Arithmetic", Unit::kSeconds},
                        {"memory_s", "Memory", Unit::kSeconds},
                        {"median_s", "Median of the pass", Unit::kSeconds},
                        {"ci_low_s", "95 % from", Unit::kSeconds},
                        {"ci_high_s", "to", Unit::kSeconds},
                        {"of_bound", "Of bound", Unit::kFraction},
                        text_column("text", "median, of bound")},
            .rows = {},
            .notes = {}};
  double most = 0;
  size_t bounded = 0;
  std::vector<std::pair<double, std::string>> reached;
  for (const TracedPoint& point : points) {
    const std::optional<PassBound> bound = bound_of_pass(point);
    if (!bound || ++bounded > kMostBars) continue;
    const TimeStats& time = *point.record->main_time();
    const bool predicted = is_predicted(*point.record);
    const double share = bound->seconds() / time.median;
    reached.emplace_back(share, point.name);
    most = std::max({most, time.median, bound->seconds()});
    grid.rows.push_back({point.name, bound->arithmetic, bound->memory, time.median,
                         predicted ? Json() : or_null(time.ci_low), predicted ? Json() : or_null(time.ci_high), share,
                         fmt::format("{}, {} of its bound", format_seconds(time.median), percent_text(share))});
  }
  if (grid.rows.size() < 2) return std::nullopt;
  note_left_out(grid, grid.rows.size(), bounded);
  return PageFigure{
      .title = "Time of each pass beside its bound",
      .reading = reading_of(reached),
      .summary =
          "A bar is the time that all launches of a pass would take if each took what its FLOPs take at the peak "
          "of its arithmetic or its bytes at the bandwidth of memory, whichever is longer. The upright tick is the "
          "median of the pass; what lies between the end of a bar and its tick is lost. A tick before the end of a "
          "bar means that operands come from caches, or that the peak was measured while the machine was slower." +
          left_out_sentence(grid.rows.size(), bounded),
      .chart = {{"kind", "bars"},
                {"label", "point"},
                {"parts", parts_json({{"arithmetic_s", "bound by arithmetic", look_of_bound("compute")},
                                      {"memory_s", "bound by memory", look_of_bound("memory")}})},
                {"total", "median_s"},
                {"total_name", "median of the pass, with its 95 % interval"},
                {"low", "ci_low_s"},
                {"high", "ci_high_s"},
                {"text", "text"},
                {"axis", axis_of(most, Unit::kSeconds)},
                {"axis_title", "time"}},
      .table = page_table(grid)};
}

}  // namespace laptime
