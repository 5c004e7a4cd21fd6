// Measured times against what was predicted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "base/words.h"
#include "distribution/median.h"
#include "record/metrics.h"
#include "report/page/page_sections.h"
#include "report/plan_table.h"

namespace laptime {

namespace {

// Why points are missing; empty for none.
std::string without_prediction(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  constexpr size_t kNamed = 3;
  const bool is_one = names.size() == 1;
  const size_t named = std::min(names.size(), kNamed);
  return fmt::format(
      " {} {} no prediction, because no launch of {} steps had been timed on this machine before the run: {}{}.",
      counted(names.size(), "point"), is_one ? "has" : "have", is_one ? "its" : "their",
      fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      names.size() > named ? fmt::format(" and {} more", names.size() - named) : "");
}

// By distance from the measured time, as a fraction of it, the largest first.
std::string prediction_summary(const std::vector<std::pair<double, const Record*>>& by_error) {
  std::vector<double> errors;
  errors.reserve(by_error.size());
  for (const auto& [error, record] : by_error) errors.push_back(error);
  if (errors.size() == 1) return fmt::format("The prediction is {:.1f} % off the measured time.", 100 * errors.front());
  return fmt::format("Half of {} are within {:.1f} % of the measured time; the farthest is {:.1f} % off.",
                     counted(errors.size(), "prediction"), 100 * median(errors), 100 * errors.front());
}

}  // namespace

PageSection prediction_section(const PageView& view) {
  PageSection section{.id = "prediction", .title = "Predicted against measured"};
  Grid grid{.name = "predictions",
            .title = "Predicted before the run, and measured",
            .columns = {text_column("point", "Point"),
                        {"predicted_s", "Predicted", Unit::kSeconds},
                        {"measured_s", "Measured", Unit::kSeconds},
                        {.key = "error",
                         .title = "Error of the prediction",
                         .unit = Unit::kFraction,
                         .shown =
                             [](const Json& error) {
                               return fmt::format("{:+.1f} % of the measured time", 100 * error.get<double>());
                             }},
                        bytes_column("predicted_bytes", "Predicted memory"),
                        bytes_column("held_bytes", "Memory held"),
                        text_column("basis", "Predicted from")},
            .rows = {},
            .notes = {}};
  size_t points = 0;
  double most = 0;
  std::vector<std::string> without;
  std::vector<std::pair<double, const Record*>> by_error;
  for (const Record* const record : view.timed()) {
    if (is_predicted(*record)) continue;
    const auto predicted = record->prediction.time.find(record->config.text("pass"));
    if (predicted == record->prediction.time.end() || predicted->second <= 0) {
      without.push_back(view.name(*record));
      continue;
    }
    if (++points > kMostBars) continue;
    const double measured = record->main_time()->median;
    most = std::max({most, measured, predicted->second});
    const MemoryUse& memory = record->memory;
    grid.rows.push_back({view.name(*record), predicted->second, measured, predicted->second / measured - 1,
                         or_null(memory.predicted_peak_bytes), or_null(memory.peak_bytes),
                         basis_text(record->prediction)});
    by_error.emplace_back(std::abs(predicted->second / measured - 1), record);
  }
  if (grid.rows.empty()) return section;
  note_left_out(grid, kMostBars, points);
  std::stable_sort(by_error.begin(), by_error.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const std::string reading = prediction_summary(by_error);
  constexpr size_t kSentences = 6;
  if (by_error.size() > kSentences) {
    section.lines.push_back(fmt::format("The {} predictions that are farthest off:", kSentences));
    by_error.resize(kSentences);
  }
  for (const auto& [error, record] : by_error)
    section.lines.push_back(fmt::format("{}: {}.", view.name(*record), prediction_error_sentence(*record)));
  std::string summary =
      "A ring is the time that was predicted before the run, a dot the measured median. Beside or above them stands by "
      "how much the prediction was longer (+) or shorter (-), as a share of the measured time. A prediction adds up "
      "the launches of the step: the times of launches of the same shapes, where this "
      "machine has measured them, and times scaled from other sizes of the same op, where it has not; the table says "
      "for how much of the time the shapes were the same.";
  summary += left_out_sentence(std::min(points, kMostBars), points) + without_prediction(without);
  section.figures.push_back({.title = "Time that was predicted before the run, and the measured median",
                             .reading = reading,
                             .summary = std::move(summary),
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

}  // namespace laptime
