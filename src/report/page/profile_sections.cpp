// Where the time of a step goes: classes of work, kernels, and ops under the roofline.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "report/page/page_sections.h"
#include "report/palette.h"
#include "report/profile/profile_report.h"
#include "report/profile/roofline.h"
#include "report/profile/views.h"

namespace laptime {
namespace {

// Seconds of each class in each phase: as the record states them, else of its trace.
std::vector<ClassShare> classes_of(const Record& record, const std::vector<TracedPoint>& profiled) {
  if (!record.classes.empty()) return record.classes;
  const auto found =
      std::find_if(profiled.begin(), profiled.end(), [&](const TracedPoint& point) { return point.record == &record; });
  std::vector<ClassShare> classes;
  if (found == profiled.end()) return classes;
  for (const std::vector<Json>& row : class_bars(*found->trace, {}).rows)
    classes.push_back(
        {row[0].get<std::string>(), row[1].get<std::string>(), row[2].get<double>(), row[3].get<double>()});
  return classes;
}

Json class_palette() {
  Json colors = Json::object();
  for (const NamedColor& color : class_colors()) colors[std::string(color.name)] = color.color;
  return colors;
}

PageFigure table_figure(std::string title, std::string summary, const Grid& grid, bool is_open) {
  return {.title = std::move(title),
          .summary = std::move(summary),
          .chart = nullptr,
          .table = page_table(grid),
          .is_open = is_open};
}

// Two profiled points that differ in nothing but their mode; none if there is no such pair.
std::optional<std::pair<TracedPoint, TracedPoint>> eager_and_compile(const std::vector<TracedPoint>& profiled) {
  const auto other_words = [](const Record& record) {
    Json config = record.config.json();
    for (const char* key : {"mode", "warmup", "steps"}) config.erase(key);
    return config.dump();
  };
  for (const TracedPoint& eager : profiled) {
    if (eager.record->config.text("mode") != "eager") continue;
    for (const TracedPoint& compiled : profiled) {
      const bool is_other = compiled.record->config.text("mode") == "compile";
      if (is_other && other_words(*eager.record) == other_words(*compiled.record)) return std::pair(eager, compiled);
    }
  }
  return std::nullopt;
}

constexpr int64_t kKernelRows = 20;
constexpr size_t kMostRooflines = 4;  // one plot for each of number type and mode

}  // namespace

PageSection classes_section(const PageView& view) {
  PageSection section{.id = "classes", .title = "Where the time goes: classes of work"};
  const std::vector<TracedPoint> profiled = view.profiled();
  Grid grid{.name = "classes",
            .title = "Time by class of work",
            .columns = {text_column("point", "Point"),
                        text_column("phase", "Phase"),
                        text_column("class", "Class"),
                        {"seconds_s", "Time", Unit::kSeconds},
                        {"share", "Share of the phase", Unit::kFraction}},
            .rows = {},
            .notes = {"Mean time per step."}};
  size_t points = 0;
  Json texts = Json::array();  // the time of each bar
  for (const Record* const record : view.timed()) {
    const std::vector<ClassShare> classes = classes_of(*record, profiled);
    if (classes.empty() || ++points > kMostSeries) continue;
    std::map<std::string, double> phases;
    std::vector<std::string> order;
    for (const ClassShare& one : classes) {
      if (!phases.contains(one.phase)) order.push_back(one.phase);
      phases[one.phase] += one.seconds;
    }
    for (const std::string& phase : order) texts.push_back(format_seconds(phases[phase]));
    for (const ClassShare& one : classes) {
      const double whole = phases[one.phase];
      grid.rows.push_back(
          {view.name(*record), one.phase, one.work_class, one.seconds, whole > 0 ? Json(one.seconds / whole) : Json()});
    }
  }
  if (grid.rows.empty()) return section;
  note_left_out(grid, kMostSeries, points);
  section.figures.push_back({.title = "Share of each class of work in each phase",
                             .summary =
                                 "Each bar is one phase of one point; its parts are the shares of its time, the time "
                                 "itself stands behind the bar.",
                             .chart = {{"kind", "shares"},
                                       {"labels", {"point", "phase"}},
                                       {"part", "class"},
                                       {"value", "share"},
                                       {"texts", std::move(texts)},
                                       {"colors", class_palette()},
                                       {"axis_title", "share of the phase, %"}},
                             .table = page_table(grid)});
  return section;
}

PageSection kernels_section(const PageView& view) {
  PageSection section{.id = "kernels", .title = "Where the time goes: kernels"};
  const std::vector<TracedPoint> profiled = view.profiled();
  for (size_t i = 0; i < std::min(profiled.size(), kMostPanels); ++i) {
    const TracedPoint& point = profiled[i];
    const ProfileQuery query{.view = ProfileView::kKernels, .top = kKernelRows};
    const PointReport report = profile_report(*point.record, *point.trace, query);
    for (size_t line = 0; line < report.lines.size(); ++line) {
      if (i == 0 || line == 0) section.lines.push_back(fmt::format("{}: {}.", point.name, report.lines[line]));
    }
    PageFigure kernels = table_figure(fmt::format("Kernels of {}, per step", point.name),
                                      "The columns are those of nsys stats.", report.grids.back(), i == 0);
    kernels.table.notes = {};
    if (const Grid& grid = report.grids.back(); !grid.notes.empty())
      kernels.summary += " Kernels with less time are left out; laptime profile --view kernels --top 0 has them.";
    section.figures.push_back(std::move(kernels));
    if (i > 0) continue;
    for (const ProfileView other : {ProfileView::kAttention, ProfileView::kLayers}) {
      for (const Grid& grid : view_tables(*point.trace, {.view = other})) {
        if (!grid.rows.empty())
          section.figures.push_back(table_figure(fmt::format("{}: {}", point.name, grid.title), "", grid, false));
      }
    }
  }
  if (const auto pair = eager_and_compile(profiled)) {
    const auto& [eager, compiled] = *pair;
    for (const Grid& grid : compare_profiles({"eager", eager.trace}, {"compile", compiled.trace}))
      section.figures.push_back(table_figure(fmt::format("{}: {}", compiled.name, grid.title), "", grid, false));
  }
  return section;
}

PageSection roofline_section(const PageView& view) {
  PageSection section{.id = "roofline", .title = "What bounds it: the roofline"};
  for (const TracedPoint& point : view.profiled()) {
    const StepTrace& trace = *point.trace;
    const std::vector<RooflineDot> dots = roofline_dots(trace);
    if (dots.empty() || !trace.peak_flops || !trace.bandwidth) continue;
    if (section.figures.size() == kMostRooflines) break;
    Grid grid{.name = "roofline",
              .title = "Ops under the roofline",
              .columns = {text_column("phase", "Phase"),
                          text_column("op", "Op"),
                          text_column("class", "Class"),
                          {"flop_per_byte", "FLOP per byte"},
                          {"flops_per_second", "Rate", Unit::kFlopsPerSecond},
                          {"seconds_s", "Time per step", Unit::kSeconds},
                          {"of_bound", "Of bound", Unit::kFraction}},
              .rows = {},
              .notes = {"Of bound: the rate over what the roofline allows; above 100 % operands come from caches."}};
    for (const RooflineDot& dot : dots) {
      const double bound = std::min(*trace.peak_flops, dot.intensity * *trace.bandwidth);
      grid.rows.push_back({dot.phase, dot.op, dot.work_class, dot.intensity, dot.rate, dot.seconds, dot.rate / bound});
    }
    section.figures.push_back(
        {.title = fmt::format("Ops of {} under the roofline", point.name),
         .summary = fmt::format(
             "A dot is an op in one phase, its area the time that it takes. Dots left of the ridge at {:.3g} "
             "FLOP per byte wait for memory ({}B/s), those right of it for arithmetic ({}/s).",
             *trace.peak_flops / *trace.bandwidth, format_count(*trace.bandwidth), format_flops(*trace.peak_flops)),
         .chart = {{"kind", "roofline"},
                   {"x", "flop_per_byte"},
                   {"y", "flops_per_second"},
                   {"size", "seconds_s"},
                   {"label", {"phase", "op"}},
                   {"part", "class"},
                   {"colors", class_palette()},
                   {"peak", *trace.peak_flops},
                   {"bandwidth", *trace.bandwidth},
                   {"axis", axis_of(*trace.peak_flops, Unit::kFlopsPerSecond)},
                   {"peak_text", fmt::format("peak of products {}/s", format_flops(*trace.peak_flops))},
                   {"bandwidth_text", fmt::format("memory {}B/s", format_count(*trace.bandwidth))}},
         .table = page_table(grid)});
  }
  return section;
}

}  // namespace laptime
