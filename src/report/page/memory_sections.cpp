// What a step needs in memory: over its launches, by category, and by context length.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "analysis/memory_growth.h"
#include "analysis/memory_ledger.h"
#include "analysis/memory_tensors.h"
#include "base/units.h"
#include "report/memory/memory_grids.h"
#include "report/memory/memory_report.h"
#include "report/memory/peak_grid.h"
#include "report/model_name.h"
#include "report/page/memory_peaks.h"
#include "report/page/page_sections.h"
#include "report/palette.h"
#include "table/value_text.h"

namespace laptime {
namespace {

constexpr size_t kMostColumns = 400;  // of a timeline

// Those of the model and context of the headline first; then forward above a step, float32 above bfloat16.
std::vector<TracedPoint> in_order_of_panels(const PageView& view) {
  std::vector<TracedPoint> points = view.traced();
  const auto work = [](const Record& record) {
    return std::pair(model_text(record), config_number(record, "context_length").value_or(0));
  };
  const auto rank = [&](const TracedPoint& point) {
    const Record& record = *point.record;
    const bool is_other = view.headline() == nullptr || work(record) != work(*view.headline());
    return std::tuple(is_other, work(record), record.config.text("mode") != "eager", rank_of_pass(record),
                      record.config.text("dtype") != "float32");
  };
  std::stable_sort(points.begin(), points.end(),
                   [&](const TracedPoint& a, const TracedPoint& b) { return rank(a) < rank(b); });
  return points;
}

Grid timeline_of(const StepTrace& trace, const MemoryLedger& ledger) {
  Grid grid = timeline_grid(trace, ledger);
  grid.picture = nullptr;
  const std::vector<size_t> kept = ledger.most_held(kMostColumns);
  if (kept.size() == grid.rows.size()) return grid;
  std::vector<std::vector<Json>> rows;
  rows.reserve(kept.size());
  for (const size_t launch : kept) rows.push_back(std::move(grid.rows[launch]));
  grid.notes.push_back(
      fmt::format("{} of {} launches: of each stretch the one that holds most.", rows.size(), grid.rows.size()));
  grid.rows = std::move(rows);
  return grid;
}

std::vector<int64_t> percents_of(const Peak& peak, const std::vector<ChartPart>& parts) {
  std::vector<int64_t> bytes;
  bytes.reserve(parts.size());
  for (const ChartPart& part : parts) bytes.push_back(peak[part]);
  return whole_percents(bytes);
}

// "step bfloat16 eager needs most, 273.5 MiB; inference float32 least, 71.5 MiB."
std::string range_of_peaks(const std::vector<Peak>& peaks) {
  const auto [least, most] =
      std::minmax_element(peaks.begin(), peaks.end(), [](const Peak& a, const Peak& b) { return a.bytes < b.bytes; });
  if (least == most) return fmt::format("{} needs {}.", most->name, format_bytes(most->bytes));
  return fmt::format("{} needs most, {}; {} least, {}.", most->name, format_bytes(most->bytes), least->name,
                     format_bytes(least->bytes));
}

PageFigure categories_figure(const std::vector<Peak>& peaks, size_t all) {
  const std::vector<ChartPart> parts = parts_of(peaks);
  Grid grid{.name = "peaks",
            .title = "Peaks",
            .columns = {text_column("point", "Point"), bytes_column("peak_bytes", "peak")},
            .rows = {},
            .notes = {}};
  std::vector<ChartPart> drawn;
  int64_t most = 0;
  for (const Peak& peak : peaks) most = std::max(most, peak.bytes);
  Unseen unseen;
  for (const ChartPart& part : parts) {
    grid.columns.push_back(bytes_column(part.key, part.name));
    if (!unseen.leaves_out(part.name, largest_of(peaks, part), most)) drawn.push_back(part);
  }
  grid.columns.push_back(text_column("state", "state"));
  grid.columns.push_back(text_column("shares", "shares of the peak"));
  grid.columns.push_back(text_column("text", "peak in words"));
  bool some_not_held = false;
  Json labels = Json::array();  // of each bar, those of its drawn parts
  for (const Peak& peak : peaks) {
    const std::vector<int64_t> percents = percents_of(peak, parts);
    std::vector<std::string> shares;
    Json& of_bar = labels.emplace_back(Json::array());
    for (size_t i = 0; i < parts.size(); ++i) {
      if (percents[i] > 0) shares.push_back(fmt::format("{} {} %", parts[i].name, percents[i]));
      const bool is_drawn =
          std::any_of(drawn.begin(), drawn.end(), [&](const ChartPart& one) { return one.key == parts[i].key; });
      if (is_drawn) of_bar.push_back({format_bytes(peak[parts[i]]), fmt::format("{} %", percents[i])});
    }
    std::vector<Json> row{peak.name, peak.bytes};
    for (const ChartPart& part : parts) row.push_back(peak.parts.contains(part.key) ? Json(peak[part]) : Json());
    const std::string state = peak.state();
    some_not_held = some_not_held || state != "held";
    row.emplace_back(state);
    row.emplace_back(fmt::format("{}", fmt::join(shares, ", ")));
    row.emplace_back(fmt::format("{}{}{}", format_bytes(peak.bytes), peak.where.empty() ? "" : " " + peak.where,
                                 state == "held" ? "" : fmt::format(" ({})", state)));
    grid.rows.push_back(std::move(row));
  }
  if (peaks.size() < all) grid.notes.push_back(fmt::format("The first {} of {} points.", peaks.size(), all));
  std::string summary =
      "A bar is the moment of a pass at which most is held; that most stands to the right of the bar (above it on a "
      "narrow screen), with the phase and the op of that moment where they are known. The parts of a bar have their "
      "bytes and shares, which add up to 100 %.";
  if (some_not_held)
    summary += " Where (predicted) or (out of memory) follows it, the step did not run, and it is what the plan needs.";
  return {.title = "Most memory held at once, by what it is held for",
          .reading = range_of_peaks(peaks),
          .summary = summary + unseen.sentence() + left_out_sentence(peaks.size(), all),
          .chart = {{"kind", "bars"},
                    {"label", "point"},
                    {"parts", parts_json(drawn)},
                    {"labels", std::move(labels)},
                    {"total", "peak_bytes"},
                    {"text", "text"},
                    {"axis", axis_of(static_cast<double>(most), Unit::kBytes)},
                    {"axis_title", "memory"}},
          .table = page_table(grid)};
}

Grid context_grid() {
  return {.name = "contexts",
          .title = "Memory by context length",
          .columns = {text_column("series", "Series"),
                      {"context", "Context"},
                      bytes_column("bytes", "Bytes"),
                      text_column("state", "state")},
          .rows = {},
          .notes = {}};
}

// How a line over context lengths looks: its colour, the shape of its marks and its dashes.
Json line_look(std::string_view color, size_t shape, size_t dashes) {
  return {{"color", color}, {"pattern", shape}, {"dashes", dashes}};
}

enum class LinesOf : uint8_t { kPeaks, kParts };

// The most contexts that one of the lines has.
size_t most_contexts(const Grid& grid) {
  std::map<std::string, size_t> contexts;
  size_t most = 0;
  for (const std::vector<Json>& row : grid.rows) most = std::max(most, ++contexts[row[0].get<std::string>()]);
  return most;
}

// Both axes begin at 0 where that leaves every peak in sight, so that a straight line is what it looks like. A part may
// be small beside the others.
PageFigure context_figure(LinesOf lines, std::string title, std::string reading, const std::string& summary,
                          const Grid& grid, Json looks, Json limit) {
  constexpr double kFarApart = 8;  // the largest over the smallest
  std::pair<double, double> bytes{grid.rows.front()[2].get<double>(), 0};
  std::pair<double, double> contexts{grid.rows.front()[1].get<double>(), 0};
  for (const std::vector<Json>& row : grid.rows) {
    bytes = {std::min(bytes.first, row[2].get<double>()), std::max(bytes.second, row[2].get<double>())};
    contexts = {std::min(contexts.first, row[1].get<double>()), std::max(contexts.second, row[1].get<double>())};
  }
  const bool is_logarithmic = (lines == LinesOf::kPeaks && bytes.second > kFarApart * bytes.first) ||
                              contexts.second > kFarApart * contexts.first;
  constexpr std::string_view kLevel = "Both axes begin at 0: a level line does not grow with the context";
  std::string axes;
  if (is_logarithmic) {
    axes = "Both axes are logarithmic: the steeper a line, the higher the power of the context with which it grows.";
  } else if (most_contexts(grid) > 2) {
    axes = fmt::format("{}, a straight one grows steadily, and one that bends upwards grows faster than the context.",
                       kLevel);
  } else {
    axes = fmt::format("{}.", kLevel);
  }
  if (most_contexts(grid) == 2) axes += " A line between two contexts says nothing about other contexts.";
  return {.title = std::move(title),
          .reading = std::move(reading),
          .summary = axes + summary,
          .chart = {{"kind", "contexts"},
                    {"series", "series"},
                    {"x", "context"},
                    {"y", "bytes"},
                    {"state", "state"},
                    {"looks", std::move(looks)},
                    {"limit", std::move(limit)},
                    {"logarithmic", is_logarithmic},
                    {"axis", axis_of(bytes.second, Unit::kBytes)},
                    {"x_title", "context length, tokens"},
                    {"y_title", "memory"}},
          .table = page_table(grid)};
}

// The least memory that a point might use; null where none says.
Json limit_of(const PageView& view) {
  std::optional<int64_t> limit;
  for (const Record* const record : view.points()) {
    if (record->bytes_available) limit = std::min(limit.value_or(*record->bytes_available), *record->bytes_available);
  }
  return limit ? Json{{"bytes", *limit}, {"text", usable_bytes_text(*limit)}} : Json();
}

// What of each peak grows with the context, where traces tell it.
PageFigure growth_figure(const std::vector<ContextLine>& lines) {
  Grid grid{
      .name = "growth",
      .title = "Growth of each peak",
      .columns = {text_column("series", "Points"),
                  {"from_context", "Shorter context"},
                  {"to_context", "Longer context"},
                  bytes_column("from_bytes", "Peak at the shorter"),
                  bytes_column("to_bytes", "Peak at the longer"),
                  bytes_column("square_bytes", "Grows with the square"),
                  bytes_column("linear_bytes", "Grows in proportion"),
                  bytes_column("constant_bytes", "Does not grow"),
                  text_column("square_op", "Op of most of the square")},
      .rows = {},
      .notes = {"The parts are those of the peak at the longer context, told by how each buffer of the step grows; "
                "they leave out the gaps between buffers."}};
  constexpr double kWorthNaming = 0.01;  // of the peak
  int64_t most_square = 0;
  std::string reading = "Next to nothing of these peaks grows with the square of the context.";
  for (const ContextLine& line : lines) {
    const auto& [shorter, before] = line.peaks.front();
    const auto& [longer, after] = line.peaks.back();
    if (before->trace == nullptr || after->trace == nullptr) continue;
    const std::optional<MemoryGrowth> growth = memory_growth(*before->trace, shorter, *after->trace, longer);
    if (!growth) continue;
    const double share = static_cast<double>(growth->square) / static_cast<double>(growth->total());
    if (growth->square > most_square && share >= kWorthNaming) {
      most_square = growth->square;
      reading = fmt::format("Most that grows with the square of the context is in {}: {} of {} at context {}.",
                            line.name, format_bytes(growth->square), format_bytes(after->bytes), longer);
    }
    grid.rows.push_back({line.name, shorter, longer, before->bytes, after->bytes, growth->square, growth->linear,
                         growth->constant, growth->square_op});
  }
  return {.title = "What of each peak grows with the context",
          .reading = std::move(reading),
          .table = page_table(grid),
          .is_open = true};
}

void add_context_figures(const PageView& view, const std::vector<Peak>& peaks, PageSection& section) {
  const std::vector<ContextLine> lines = context_lines(view, peaks);
  if (lines.empty()) return;
  Grid grid = context_grid();
  Json looks = Json::object();
  const size_t shown = std::min(lines.size(), kMostSeries);
  for (size_t i = 0; i < shown; ++i) {
    const JsonObject& config = lines[i].peaks.front().second->record->config;
    looks[lines[i].name] =
        line_look(look_of_number_type(config.text("dtype")).color, i, pattern_of_mode(config.text("mode")));
    for (const auto& [context, peak] : lines[i].peaks)
      grid.rows.push_back({lines[i].name, context, peak->bytes, peak->state()});
  }
  PageFigure growth = growth_figure(lines);
  std::string summary = growth.table.rows.empty() ? "" : " The table below tells what grows.";
  summary += " The colour of a line is its number type, dashes are compile mode; a cross is a point that does not fit.";
  if (shown < lines.size()) summary += fmt::format(" {} of {} lines are drawn.", shown, lines.size());
  section.figures.push_back(context_figure(LinesOf::kPeaks, "Peak memory against context length",
                                           growth_sentence(lines.front()), summary, grid, std::move(looks),
                                           limit_of(view)));
  if (!growth.table.rows.empty()) section.figures.push_back(std::move(growth));
  // Of the points with most contexts and the most complete pass those whose peak grows most.
  const auto most = std::max_element(lines.begin(), lines.end(), [](const ContextLine& a, const ContextLine& b) {
    const auto rank = [](const ContextLine& line) {
      const Peak& last = *line.peaks.back().second;
      return std::tuple(line.peaks.size(), rank_of_pass(*last.record), last.bytes - line.peaks.front().second->bytes);
    };
    return rank(a) < rank(b);
  });
  Grid parts = context_grid();
  Json part_looks = Json::object();
  const std::vector<ChartPart> held = parts_of(peaks);
  int64_t most_bytes = 0;
  for (const auto& [context, peak] : most->peaks) most_bytes = std::max(most_bytes, peak->bytes);
  Unseen unseen;
  std::vector<std::string> grown;
  for (size_t i = 0; i < held.size(); ++i) {
    int64_t largest = 0;
    for (const auto& [context, peak] : most->peaks) largest = std::max(largest, (*peak)[held[i]]);
    if (largest == 0 || unseen.leaves_out(held[i].name, largest, most_bytes)) continue;
    const int64_t before = (*most->peaks.front().second)[held[i]];
    const int64_t after = (*most->peaks.back().second)[held[i]];
    if (after > before) grown.push_back(fmt::format("{} by {}", held[i].name, format_bytes(after - before)));
    part_looks[held[i].name] = line_look(held[i].look.color, held[i].look.pattern, i);
    for (const auto& [context, peak] : most->peaks) {
      if (const int64_t bytes = (*peak)[held[i]]; bytes > 0)
        parts.rows.push_back({held[i].name, context, bytes, peak->state()});
    }
  }
  if (parts.rows.empty()) return;
  std::string reading = grown.empty() ? fmt::format("No category of the peak grows from context {} to {}.",
                                                    most->peaks.front().first, most->peaks.back().first)
                                      : fmt::format("What grows from context {} to {}: {}.", most->peaks.front().first,
                                                    most->peaks.back().first, fmt::join(grown, ", "));
  section.figures.push_back(
      context_figure(LinesOf::kParts, fmt::format("Peak of {} by category against context length", most->name),
                     std::move(reading), unseen.sentence(), parts, std::move(part_looks), Json()));
}

}  // namespace

PageSection timeline_section(const PageView& view) {
  PageSection section{.id = "timeline", .title = "Memory over a step"};
  const std::vector<TracedPoint> points = in_order_of_panels(view);
  const size_t shown = std::min(points.size(), kMostPanels);
  int64_t most = 0;
  for (size_t i = 0; i < shown; ++i) most = std::max(most, MemoryLedger(*points[i].trace).peak().total());
  for (size_t i = 0; i < shown; ++i) {
    const TracedPoint& point = points[i];
    const MemoryLedger ledger(*point.trace);
    std::vector<ChartPart> drawn;
    Unseen unseen;
    for (size_t k = 0; k < kMemoryCategoryCount; ++k) {
      const MemoryCategory category = category_at(k);
      int64_t largest = 0;
      for (size_t launch = 0; launch < ledger.launches(); ++launch)
        largest = std::max(largest, ledger.held(launch)[category]);
      if (largest > 0 && !unseen.leaves_out(title_of(category), largest, most)) drawn.push_back(memory_parts()[k]);
    }
    Json phases = Json::array();
    for (const Section& phase : ledger.sections())
      phases.push_back({{"title", phase.title}, {"first", phase.first}, {"last", phase.last}});
    section.figures.push_back(
        {.title = point.name,
         .reading = peak_sentence(*point.record, *point.trace),
         .summary = "Memory while each launch of the step runs, by what it is held for." + unseen.sentence(),
         .chart = {{"kind", "areas"},
                   {"x", "launch"},
                   {"parts", parts_json(drawn)},
                   {"phases", std::move(phases)},
                   {"peak",
                    {{"x", ledger.peak_launch()},
                     {"bytes", ledger.peak().total()},
                     {"text", format_bytes(ledger.planned())}}},
                   {"most", most},
                   {"axis", axis_of(static_cast<double>(most), Unit::kBytes)},
                   {"x_title", "kernel launches in order"},
                   {"axis_title", "memory"}},
         .table = page_table(timeline_of(*point.trace, ledger))});
  }
  if (shown > 0)
    section.lines.emplace_back(
        "All panels have one scale. The launches of a step, each one run of a kernel, follow one another from left to "
        "right.");
  if (shown < points.size())
    section.lines.push_back(fmt::format("The first {} of {} points with a plan.", shown, points.size()));
  return section;
}

PageSection memory_section(const PageView& view) {
  PageSection section{.id = "memory", .title = "What it needs in memory"};
  const std::vector<Peak> peaks = peaks_of(view);
  if (peaks.empty()) return section;
  const std::vector<Peak> first(peaks.begin(),
                                peaks.begin() + static_cast<std::ptrdiff_t>(std::min(peaks.size(), kMostBars)));
  section.figures.push_back(categories_figure(first, peaks.size()));
  add_context_figures(view, peaks, section);
  if (!view.traced().empty()) {
    const TracedPoint& point = view.traced().front();
    const MemoryLedger ledger(*point.trace);
    std::vector<Grid> grids{phases_grid(*point.record, *point.trace, ledger)};
    for (Grid& grid : saved_grids(saved_bytes_of(*point.trace))) grids.push_back(std::move(grid));
    grids.push_back(largest_grid(*point.trace, ledger, 10));
    for (const Grid& grid : grids)
      section.figures.push_back({.title = fmt::format("{}: {}", point.name, grid.title), .table = page_table(grid)});
  }
  return section;
}

}  // namespace laptime
