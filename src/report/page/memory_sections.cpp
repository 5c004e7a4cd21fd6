// What a step needs in memory: over its launches, by category, and by context length.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/units.h"
#include "report/memory/ledger.h"
#include "report/memory/memory_grids.h"
#include "report/memory/memory_report.h"
#include "report/memory/peak_grid.h"
#include "report/memory/saved.h"
#include "report/model_name.h"
#include "report/page/page_sections.h"
#include "report/palette.h"
#include "report/percents.h"

namespace laptime {
namespace {

constexpr size_t kMostColumns = 400;  // of a timeline
constexpr std::string_view kContextTag = "ctx:";

std::string key_of_bytes(MemoryCategory category) { return fmt::format("{}_bytes", key_of(category)); }

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

// Bytes of the peak by category, from the ledger of a trace or from the roles that a record states.
struct Peak {
  const Record* record = nullptr;
  std::string name;
  int64_t bytes = 0;
  bool held = false;
  std::map<std::string, int64_t> parts{};  // by key: "parameters_bytes"
  std::string where{};                     // "in backward, by matmul in layers.0.ffn"; empty without a trace
};

constexpr std::string_view kActivations = "activations_bytes";  // saved and temporary, where they are not told apart
constexpr std::string_view kOtherBytes = "other_bytes";

std::string key_of_role(const std::string& role) {
  constexpr std::array<std::pair<std::string_view, MemoryCategory>, 5> kRoles{
      {{"parameter", MemoryCategory::kParameters},
       {"optimizer_state", MemoryCategory::kOptimizerState},
       {"gradient", MemoryCategory::kGradients},
       {"autocast_copy", MemoryCategory::kAutocastCopies},
       {"workspace", MemoryCategory::kWorkspace}}};
  if (role == "activation") return std::string(kActivations);
  const auto found = std::find_if(kRoles.begin(), kRoles.end(), [&](const auto& one) { return one.first == role; });
  return found == kRoles.end() ? std::string(kOtherBytes) : key_of_bytes(found->second);
}

Peak peak_of(const PageView& view, const Record& record) {
  Peak peak{.record = &record, .name = view.name(record), .held = record.memory.peak_bytes && was_held(record)};
  const MemoryUse& memory = record.memory;
  peak.bytes = memory.predicted_peak_bytes.value_or(memory.peak_bytes.value_or(record.bytes_requested.value_or(0)));
  const auto traced = std::find_if(view.traced().begin(), view.traced().end(),
                                   [&](const TracedPoint& point) { return point.name == peak.name; });
  if (traced != view.traced().end()) {
    const MemoryLedger ledger(*traced->trace);
    for (size_t i = 0; i < kMemoryCategoryCount; ++i)
      peak.parts[key_of_bytes(category_at(i))] += ledger.peak()[category_at(i)];
    peak.bytes = ledger.planned();
    peak.where = fmt::format("in {}, by {}", traced->trace->launch(ledger.peak_launch()).phase,
                             launch_text(*traced->trace, ledger.peak_launch()));
  } else {
    for (const auto& [role, bytes] : memory.parts) peak.parts[key_of_role(role)] += bytes;
  }
  int64_t named = 0;
  for (const auto& [key, bytes] : peak.parts) named += bytes;
  if (!peak.parts.empty() && peak.bytes > named) peak.parts[std::string(kOtherBytes)] += peak.bytes - named;
  return peak;
}

// Everything that bytes can be held for, as pictures stack it.
std::vector<ChartPart> memory_parts() {
  std::vector<ChartPart> parts;
  for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
    const MemoryCategory category = category_at(i);
    parts.push_back({key_of_bytes(category), std::string(title_of(category)), look_of(category)});
  }
  parts.push_back({std::string(kActivations), "activations", look_of_all_activations()});
  parts.push_back({std::string(kOtherBytes), "other and gaps", look_of_gaps()});
  return parts;
}

int64_t bytes_of(const Peak& peak, const ChartPart& part) {
  const auto found = peak.parts.find(part.key);
  return found == peak.parts.end() ? 0 : found->second;
}

int64_t largest_of(const std::vector<Peak>& peaks, const ChartPart& part) {
  int64_t largest = 0;
  for (const Peak& peak : peaks) largest = std::max(largest, bytes_of(peak, part));
  return largest;
}

// Those that some peak has.
std::vector<ChartPart> parts_of(const std::vector<Peak>& peaks) {
  std::vector<ChartPart> parts = memory_parts();
  std::erase_if(parts, [&](const ChartPart& part) { return largest_of(peaks, part) == 0; });
  return parts;
}

// What a chart leaves out because it would not be seen: "Too little to be seen: workspace (at most 12.0 KiB)."; empty
// for nothing.
class Unseen {
 public:
  // `bytes`: the most that a part has. Whether it is left out where the whole axis has `axis` bytes.
  bool leaves_out(std::string_view title, int64_t bytes, int64_t axis) {
    constexpr double kLeastSeen = 0.004;  // of the axis
    if (static_cast<double>(bytes) >= kLeastSeen * static_cast<double>(axis)) return false;
    parts_.push_back(fmt::format("{} (at most {})", title, format_bytes(bytes)));
    return true;
  }
  std::string sentence() const {
    return parts_.empty() ? "" : fmt::format(" Too little to be seen: {}.", fmt::join(parts_, ", "));
  }

 private:
  std::vector<std::string> parts_;
};

std::vector<int64_t> percents_of(const Peak& peak, const std::vector<ChartPart>& parts) {
  std::vector<int64_t> bytes;
  bytes.reserve(parts.size());
  for (const ChartPart& part : parts) bytes.push_back(bytes_of(peak, part));
  return whole_percents(bytes);
}

std::string state_of(const Peak& peak) {
  if (peak.record->status == Status::kOutOfMemory) return "out of memory";
  return peak.held ? "held" : "predicted";
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
      if (is_drawn) of_bar.push_back({format_bytes(bytes_of(peak, parts[i])), fmt::format("{} %", percents[i])});
    }
    std::vector<Json> row{peak.name, peak.bytes};
    for (const ChartPart& part : parts)
      row.push_back(peak.parts.contains(part.key) ? Json(bytes_of(peak, part)) : Json());
    const std::string state = state_of(peak);
    some_not_held = some_not_held || state != "held";
    row.emplace_back(state);
    row.emplace_back(fmt::format("{}", fmt::join(shares, ", ")));
    row.emplace_back(fmt::format("{}{}{}", format_bytes(peak.bytes), peak.where.empty() ? "" : " " + peak.where,
                                 state == "held" ? "" : fmt::format(" ({})", state)));
    grid.rows.push_back(std::move(row));
  }
  if (peaks.size() < all) grid.notes.push_back(fmt::format("The first {} of {} points.", peaks.size(), all));
  std::string summary =
      "What memory is held for at the moment of a step when most is held. That most stands to the right of the bar "
      "(above it on a narrow screen), with the phase and the op of that moment where they are known. The parts of the "
      "bar have their bytes and shares, which add up to 100 %.";
  if (some_not_held)
    summary += " Where (predicted) or (out of memory) follows it, the step did not run, and it is what the plan needs.";
  return {.title = "Most memory held in a step, by category",
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

// The name of a point without its context. A chart joins points of equal text by a line.
std::string without_context(const std::string& name) {
  std::string kept;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find(' ', begin), name.size());
    const std::string word = name.substr(begin, end - begin);
    if (!word.starts_with(kContextTag)) kept += (kept.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return kept.empty() ? "peak" : kept;
}

struct ContextLine {
  std::string name;
  std::vector<std::pair<int64_t, const Peak*>> peaks;  // by context, ascending
};

std::vector<ContextLine> context_lines(const std::vector<Peak>& peaks) {
  std::vector<ContextLine> lines;
  for (const Peak& peak : peaks) {
    const std::optional<int64_t> context = config_number(*peak.record, "context_length");
    if (!context) continue;
    const std::string name = without_context(peak.name);
    auto found = std::find_if(lines.begin(), lines.end(), [&](const ContextLine& line) { return line.name == name; });
    if (found == lines.end()) found = lines.insert(lines.end(), ContextLine{name, {}});
    found->peaks.emplace_back(*context, &peak);
  }
  std::erase_if(lines, [](const ContextLine& line) { return line.peaks.size() < 2; });
  for (ContextLine& line : lines) {
    std::stable_sort(line.peaks.begin(), line.peaks.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  return lines;
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

PageFigure context_figure(std::string title, std::string summary, const Grid& grid, Json looks, Json limit) {
  double most = 1;
  for (const std::vector<Json>& row : grid.rows) most = std::max(most, row[2].get<double>());
  return {.title = std::move(title),
          .summary = std::move(summary),
          .chart = {{"kind", "loglog"},
                    {"series", "series"},
                    {"x", "context"},
                    {"y", "bytes"},
                    {"state", "state"},
                    {"looks", std::move(looks)},
                    {"limit", std::move(limit)},
                    {"axis", axis_of(most, Unit::kBytes)},
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

void add_context_figures(const PageView& view, const std::vector<Peak>& peaks, PageSection& section) {
  const std::vector<ContextLine> lines = context_lines(peaks);
  if (lines.empty()) return;
  Grid grid = context_grid();
  Json looks = Json::object();
  const size_t shown = std::min(lines.size(), kMostSeries);
  for (size_t i = 0; i < shown; ++i) {
    const JsonObject& config = lines[i].peaks.front().second->record->config;
    looks[lines[i].name] =
        line_look(look_of_number_type(config.text("dtype")).color, i, pattern_of_mode(config.text("mode")));
    for (const auto& [context, peak] : lines[i].peaks)
      grid.rows.push_back({lines[i].name, context, peak->bytes, state_of(*peak)});
  }
  std::string summary =
      "Both axes are logarithmic. The colour of a line is its number type, dashes are compile mode; a cross is a point "
      "that does not fit.";
  if (shown < lines.size()) summary += fmt::format(" {} of {} lines are drawn.", shown, lines.size());
  section.figures.push_back(
      context_figure("Peak by context length", std::move(summary), grid, std::move(looks), limit_of(view)));
  const auto most = std::max_element(lines.begin(), lines.end(), [](const ContextLine& a, const ContextLine& b) {
    return std::pair(a.peaks.size(), rank_of_pass(*a.peaks.front().second->record)) <
           std::pair(b.peaks.size(), rank_of_pass(*b.peaks.front().second->record));
  });
  Grid parts = context_grid();
  Json part_looks = Json::object();
  const std::vector<ChartPart> held = parts_of(peaks);
  int64_t most_bytes = 0;
  for (const auto& [context, peak] : most->peaks) most_bytes = std::max(most_bytes, peak->bytes);
  Unseen unseen;
  for (size_t i = 0; i < held.size(); ++i) {
    int64_t largest = 0;
    for (const auto& [context, peak] : most->peaks) largest = std::max(largest, bytes_of(*peak, held[i]));
    if (largest == 0 || unseen.leaves_out(held[i].name, largest, most_bytes)) continue;
    part_looks[held[i].name] = line_look(held[i].look.color, held[i].look.pattern, i);
    for (const auto& [context, peak] : most->peaks) {
      if (const int64_t bytes = bytes_of(*peak, held[i]); bytes > 0)
        parts.rows.push_back({held[i].name, context, bytes, state_of(*peak)});
    }
  }
  if (parts.rows.empty()) return;
  section.figures.push_back(
      context_figure(fmt::format("Categories by context length: {}", most->name),
                     "What grows with the context and what does not. Both axes are logarithmic." + unseen.sentence(),
                     parts, std::move(part_looks), Json()));
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
    section.figures.push_back({.title = point.name,
                               .summary = peak_sentence(*point.record, *point.trace) + unseen.sentence(),
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
  std::vector<Peak> peaks;
  for (const Record* const record : view.points()) {
    Peak peak = peak_of(view, *record);
    if (peak.bytes > 0) peaks.push_back(std::move(peak));
  }
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
