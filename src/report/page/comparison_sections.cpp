// Measured times against what was predicted, and against what other people published.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/units.h"
#include "record/metrics.h"
#include "report/page/page_sections.h"
#include "report/plan_table.h"
#include "report/published/published.h"

namespace laptime {
namespace {

std::string work_of(const PublishedFigure& figure) {
  const std::string context = figure.context_length ? fmt::format(" ctx:{}", *figure.context_length) : "";
  return fmt::format("{} {}{} edition:{}", figure.pass, figure.model, context, figure.edition);
}

// How the arithmetic of a record is known.
std::string certainty_of(const Record& record) {
  if (is_predicted(record)) return "predicted";
  if (system_of(record).empty()) return "proven";
  return record.math_mode.empty() ? "not known" : "stated";
}

std::string software_of(const Record& record) { return system_of(record).empty() ? "laptime" : record.binary.version; }

}  // namespace

PageSection prediction_section(const PageView& view) {
  PageSection section{.id = "prediction", .title = "Predicted against measured"};
  Grid grid{
      .name = "predictions",
      .title = "Predicted before the run, and measured",
      .columns = {text_column("point", "Point"),
                  {"predicted_s", "Predicted", Unit::kSeconds},
                  {"measured_s", "Measured", Unit::kSeconds},
                  {.key = "error",
                   .title = "Error",
                   .unit = Unit::kFraction,
                   .shown = [](const Json& error) { return fmt::format("{:+.1f} %", 100 * error.get<double>()); }},
                  bytes_column("predicted_bytes", "Predicted memory"),
                  bytes_column("held_bytes", "Memory held"),
                  text_column("basis", "Predicted from")},
      .rows = {},
      .notes = {}};
  size_t points = 0;
  double most = 0;
  for (const Record* const record : view.timed()) {
    const auto predicted = record->prediction.time.find(record->config.text("pass"));
    if (is_predicted(*record) || predicted == record->prediction.time.end() || predicted->second <= 0) continue;
    if (++points > kMostBars) continue;
    const double measured = record->main_time()->median;
    most = std::max({most, measured, predicted->second});
    const MemoryUse& memory = record->memory;
    grid.rows.push_back({view.name(*record), predicted->second, measured, predicted->second / measured - 1,
                         or_null(memory.predicted_peak_bytes), or_null(memory.peak_bytes),
                         basis_text(record->prediction)});
    constexpr size_t kSentences = 6;
    if (points <= kSentences)
      section.lines.push_back(fmt::format("{}: {}.", view.name(*record), prediction_error_sentence(*record)));
  }
  if (grid.rows.empty()) return section;
  note_left_out(grid, kMostBars, points);
  section.figures.push_back(
      {.title = "Predicted and measured time",
       .summary =
           "A ring is the time that was predicted before the run, a dot the measured median. To the right (above "
           "on a narrow screen) stands by how much the prediction was longer (+) or shorter (-).",
       .chart = {{"kind", "pairs"},
                 {"label", "point"},
                 {"a", "predicted_s"},
                 {"b", "measured_s"},
                 {"text", "error"},
                 {"names", {"predicted", "measured"}},
                 {"axis", axis_of(most, Unit::kSeconds)},
                 {"axis_title", "time"}},
       .table = page_table(grid)});
  return section;
}

PageSection published_section(const PageView& view) {
  PageSection section{.id = "published", .title = "Times that other people published"};
  Grid grid{
      .name = "published",
      .title = "Published and measured here",
      .columns = {text_column("work", "Work"),
                  text_column("hardware", "Hardware"),
                  text_column("mode", "Mode"),
                  text_column("arithmetic", "Arithmetic"),
                  text_column("certainty", "Arithmetic is"),
                  {"time_s", "Time", Unit::kSeconds},
                  {"std_s", "Std", Unit::kSeconds},
                  text_column("software", "Software"),
                  text_column("source", "Source"),
                  text_column("note", "Note"),
                  text_column("where", "Where")},
      .rows = {},
      .notes = {
          "Arithmetic is proven where the names of the kernels show it, stated where only the source says so, and "
          "doubtful where the throughput or the source speaks against it."}};
  std::set<std::string> works;
  for (const Record* const record : view.timed()) {
    for (const PublishedFigure& figure : published_figures()) {
      if (is_of_same_model(figure, *record) && record->time.contains(figure.pass)) works.insert(work_of(figure));
    }
  }
  double most = 0;
  const auto add = [&](std::vector<Json> row) {
    if (row[5].is_number()) most = std::max(most, row[5].get<double>());
    grid.rows.push_back(std::move(row));
  };
  std::set<std::string> shown;
  const auto add_published = [&](const PublishedFigure& figure) {
    const std::string work = work_of(figure);
    const std::string row = fmt::format("{}\n{}\n{}\n{}\n{}", work, figure.source, figure.mode, figure.arithmetic,
                                        figure.seconds.value_or(0));
    if (!shown.insert(row).second) return;
    add({work, figure.hardware, figure.mode, figure.arithmetic, figure.certainty,
         figure.seconds ? Json(*figure.seconds) : Json("out of memory"), or_null(figure.std), figure.software,
         figure.source, figure.note, "published"});
  };
  for (const Record* const record : view.timed()) {
    for (const PublishedFigure& figure : published_figures()) {
      const std::string work = work_of(figure);
      if (!works.contains(work) || !is_of_same_model(figure, *record)) continue;
      const auto own = record->time.find(figure.pass);
      const std::string here = fmt::format("{}\n{}", work, view.name(*record));
      if (own != record->time.end() && shown.insert(here).second) {
        add({work, is_predicted(*record) ? record->config.text("device") : "here: " + view.name(*record),
             record->config.text("mode"), record->math_mode, certainty_of(*record), own->second.median,
             or_null(own->second.std), software_of(*record), "this page", "",
             is_predicted(*record) ? "predicted here" : "here"});
      }
      add_published(figure);
    }
  }
  if (works.empty()) {
    for (const PublishedFigure& figure : published_figures()) {
      if (figure.pass == "step") add_published(figure);
    }
    section.lines.emplace_back(
        "No record here is of a model, context and batch whose time someone published. These are the times of whole "
        "steps that other people measured on their machines.");
  } else {
    section.lines.emplace_back(
        "Figures of other people for the same model, context, batch and pass, on other machines.");
  }
  section.lines.emplace_back(
      "Compare arithmetic before times: several sources call float32 what their kernels show to be TF32.");
  section.figures.push_back(
      {.title = works.empty() ? "Times of whole steps" : "Time of the same work",
       .summary = works.empty()
                      ? "Logarithmic axis. Each mark is a published time, with its hardware below where there is "
                        "room; the table has all."
                      : "Logarithmic axis. A filled diamond was measured here, a hollow one is predicted; the "
                        "diamonds of a line are the modes and number types of this page. The other marks are "
                        "published times, with their hardware below where there is room; the table has all.",
       .chart = {{"kind", "dots"},
                 {"label", "work"},
                 {"value", "time_s"},
                 {"where", "where"},
                 {"part", "arithmetic"},
                 {"text", "hardware"},
                 {"axis", axis_of(most, Unit::kSeconds)},
                 {"axis_title", "time"}},
       .table = page_table(grid),
       .is_open = false});
  return section;
}

}  // namespace laptime
