// Rows of plans, and predictions held against what was measured.
#include "report/plan_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/units.h"
#include "report/memory/peak_grid.h"
#include "report/point_names.h"

namespace laptime {
namespace {

Json time_of(const Record& record, const std::string& key) {
  const auto found = record.prediction.time.find(key);
  return found == record.prediction.time.end() ? Json(nullptr) : Json(found->second);
}

std::string pass_of(const Record& record) { return record.config.json().value("pass", "step"); }

std::string fit_text(const Record& record) {
  if (record.status == Status::kOk) return "yes";
  if (record.status != Status::kOutOfMemory || !record.bytes_requested || !record.bytes_available) {
    if (record.reason.empty()) return std::string(name_of(record.status));
    return fmt::format("{}: {}", name_of(record.status), record.reason);
  }
  return fmt::format("{} too many", format_bytes(*record.bytes_requested - *record.bytes_available));
}

void drop_empty_columns(Grid& grid) {
  for (size_t column = grid.columns.size(); column-- > 0;) {
    const bool is_empty = std::all_of(grid.rows.begin(), grid.rows.end(), [&](const std::vector<Json>& row) {
      return row[column].is_null() || row[column] == "";
    });
    if (!is_empty) continue;
    grid.columns.erase(grid.columns.begin() + static_cast<std::ptrdiff_t>(column));
    for (std::vector<Json>& row : grid.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

std::string until_colon(const std::string& text) { return text.substr(0, text.find(':')); }

// The words of a name as a list, which a line can be broken at.
std::string spoken_words(std::string words) {
  for (size_t at = words.find('/'); at != std::string::npos; at = words.find('/', at)) words.replace(at, 1, ", ");
  return words;
}

std::vector<std::string> names_of(const std::vector<PlannedPoint>& points) {
  std::vector<std::string> names;
  names.reserve(points.size());
  for (const PlannedPoint& point : points) names.push_back(point.record.name);
  return names;
}

// `kept`: without recomputation, where `largest` recomputes.
std::string largest_text(const char* what, const std::optional<int64_t>& largest, const std::optional<int64_t>& kept) {
  if (!largest) return "";
  if (*largest == 0) return fmt::format("; no {} is small enough", what);
  return fmt::format("; largest {} that fits: {}{}", what, *largest,
                     !kept        ? ""
                     : *kept == 0 ? ", without recomputation none"
                                  : fmt::format(", without recomputation {}", *kept));
}

// " (--recompute auto: block)", where a point that recomputes as much as it needs needs some.
std::string recompute_text(const Record& record) {
  const std::string& fitted = record.memory.recompute;
  const bool is_chosen = record.config.text("recompute") == "auto" && !fitted.empty() && fitted != "none";
  return is_chosen ? fmt::format(" (--recompute auto: {})", fitted) : "";
}

// "; --mode compile is faster: 1.500 GiB at the peak, step 2.000 s".
std::string compiled_text(const PlannedPoint& point) {
  if (!point.compiled) return "";
  const Record& compiled = *point.compiled;
  std::vector<std::string> figures;
  if (compiled.memory.predicted_peak_bytes)
    figures.push_back(fmt::format("{} at the peak", format_bytes(*compiled.memory.predicted_peak_bytes)));
  if (const Json time = time_of(compiled, pass_of(compiled)); time.is_number())
    figures.push_back(fmt::format("{} {}", pass_of(compiled), format_seconds(time.get<double>())));
  return fmt::format("; --mode compile {}: {}", point.record.status == Status::kOk ? "is faster" : "fits",
                     fmt::join(figures, ", "));
}

// The answers about one point.
std::string answer_of(const PlannedPoint& point) {
  const Record& record = point.record;
  if (record.status != Status::kOk && record.status != Status::kOutOfMemory) return fit_text(record);
  const std::optional<int64_t> peak = record.memory.predicted_peak_bytes;
  std::string text = record.status == Status::kOk ? "it fits" : fmt::format("it does not fit, {}", fit_text(record));
  if (peak) {
    text += fmt::format(
        ": {} at the peak{}{}", format_bytes(*peak), recompute_text(record),
        record.status == Status::kOk && record.bytes_available ? ", of the " + usable_bytes_text(record) : "");
  }
  if (!point.fitting_recompute.empty()) {
    text += point.fitting_recompute == "nothing fits"
                ? "; no --recompute makes it fit"
                : fmt::format("; it fits with --recompute {}", point.fitting_recompute);
  }
  if (const Json time = time_of(record, pass_of(record)); time.is_number())
    text += fmt::format("; {} predicted to take {}", pass_of(record), format_seconds(time.get<double>()));
  return text + compiled_text(point) + largest_text("batch", point.largest_batch, point.largest_batch_kept) +
         largest_text("context", point.largest_context, point.largest_context_kept);
}

bool is_disturbed(const Prediction& prediction) {
  constexpr double kWorthSaying = 0.005;  // of the predicted time
  return prediction.disturbed_share.value_or(0) > kWorthSaying;
}

// disturbed_sentence without its period, of a prediction that is disturbed.
std::string disturbed_clause(const Prediction& prediction) {
  return fmt::format(
      "The machine was disturbed when the launches of {:.0f} % of the predicted time were measured: {}; laptime "
      "calibrate measures them again",
      100 * *prediction.disturbed_share, prediction.disturbance);
}

// disturbed_sentence of the point with the largest disturbed share, with its name where there are several points; empty
// where none was disturbed.
std::string disturbed_note(const std::vector<PlannedPoint>& points) {
  const auto most = std::max_element(points.begin(), points.end(), [](const PlannedPoint& a, const PlannedPoint& b) {
    return a.record.prediction.disturbed_share.value_or(0) < b.record.prediction.disturbed_share.value_or(0);
  });
  if (most == points.end()) return "";
  const std::string text = disturbed_sentence(most->record.prediction);
  return text.empty() || points.size() == 1 ? text : fmt::format("{}: {}", most->record.name, text);
}

// One line of "predicted | measured | error".
struct Compared {
  std::string what;
  double predicted = 0;
  double measured = 0;
};

std::vector<Compared> compared_times(const Record& record) {
  std::vector<Compared> rows;
  for (const auto& [key, seconds] : record.prediction.time) {
    if (const auto found = record.time.find(key); found != record.time.end())
      rows.push_back({key, seconds, found->second.median});
  }
  // The whole pass last.
  std::stable_partition(rows.begin(), rows.end(), [&](const Compared& row) { return row.what != pass_of(record); });
  return rows;
}

std::vector<Compared> compared_classes(const Record& record) {
  std::vector<Compared> rows;
  for (const ClassShare& measured : record.classes) {
    const auto same = [&](const ClassShare& share) {
      return share.phase == measured.phase && share.work_class == measured.work_class;
    };
    const auto found = std::find_if(record.prediction.classes.begin(), record.prediction.classes.end(), same);
    if (found == record.prediction.classes.end()) continue;
    rows.push_back({fmt::format("{} {}", measured.phase, measured.work_class), found->seconds, measured.seconds});
  }
  return rows;
}

}  // namespace

std::string basis_text(const Prediction& prediction) {
  if (prediction.from.empty()) return "no launch was measured; run laptime calibrate";
  if (prediction.newest.empty()) return prediction.from;
  return fmt::format("{}, {:.0f} % of the same shapes{}", prediction.from, 100 * prediction.measured_share.value_or(0),
                     is_disturbed(prediction)
                         ? fmt::format(", {:.0f} % on a disturbed machine", 100 * *prediction.disturbed_share)
                         : "");
}

std::string disturbed_sentence(const Prediction& prediction) {
  return is_disturbed(prediction) ? disturbed_clause(prediction) + "." : "";
}

Grid plan_grid(const std::vector<PlannedPoint>& points) {
  Grid grid{.name = "plan",
            .title = "",
            .columns = {whole_column(text_column("point", "Point")),
                        {"batch", "Batch"},
                        optional_column(3, text_column("device", "Device")),
                        {"predicted_s", "Predicted", Unit::kSeconds},
                        optional_column(3, {"low_s", "90 % low", Unit::kSeconds}),
                        optional_column(3, {"high_s", "90 % high", Unit::kSeconds}),
                        optional_column(5, {"forward_s", "Forward", Unit::kSeconds}),
                        optional_column(5, {"backward_s", "Backward", Unit::kSeconds}),
                        optional_column(5, {"optimizer_s", "Optimizer", Unit::kSeconds}),
                        bytes_column("peak_bytes", "Peak"),
                        text_column("fits", "Fits"),
                        text_column("fitting_recompute", "With --recompute"),
                        optional_column(1, {"compile_s", "Compile", Unit::kSeconds}),
                        optional_column(1, bytes_column("compile_peak_bytes", "Compile peak")),
                        {"largest_batch", "Max batch"},
                        {"largest_context", "Max context"},
                        {"largest_batch_kept", "Max batch, no recompute"},
                        {"largest_context_kept", "Max context, no recompute"},
                        optional_column(2, bytes_column("eager_bytes", "Framework, eager")),
                        optional_column(4, text_column("basis", "Predicted from"))},
            .rows = {},
            .notes = {}};
  for (const PlannedPoint& point : points) {
    const Record& record = point.record;
    const Json& config = record.config.json();
    const Record compiled = point.compiled.value_or(Record());
    grid.rows.push_back({record.name,
                         config.value("batch_size", Json()),
                         config.value("device", ""),
                         time_of(record, pass_of(record)),
                         or_null(record.prediction.low),
                         or_null(record.prediction.high),
                         time_of(record, "forward"),
                         time_of(record, "backward"),
                         time_of(record, "optimizer"),
                         or_null(record.memory.predicted_peak_bytes),
                         fit_text(record),
                         point.fitting_recompute,
                         time_of(compiled, pass_of(record)),
                         or_null(compiled.memory.predicted_peak_bytes),
                         or_null(point.largest_batch),
                         or_null(point.largest_context),
                         or_null(point.largest_batch_kept),
                         or_null(point.largest_context_kept),
                         or_null(point.eager_bytes),
                         basis_text(record.prediction)});
  }
  const std::string common = common_words(names_of(points));
  if (!common.empty()) {
    grid.title = "Plans: " + spoken_words(common);
    grid.columns.front().shown = [common](const Json& name) { return without_words(name.get<std::string>(), common); };
  }
  // Why a point cannot run is too long for a cell; people find it below the table.
  const auto fits =
      std::find_if(grid.columns.begin(), grid.columns.end(), [](const auto& c) { return c.key == "fits"; });
  fits->shown = [](const Json& text) { return until_colon(text.get<std::string>()); };
  for (const PlannedPoint& point : points) {
    const std::string text = fit_text(point.record);
    if (until_colon(text) != text)
      grid.notes.push_back(fmt::format("{}: {}", without_words(point.record.name, common), text));
  }
  if (std::any_of(points.begin(), points.end(), [](const PlannedPoint& point) { return point.compiled.has_value(); }))
    grid.notes.emplace_back("Compile: the same with --mode compile, where that fits or is faster.");
  if (std::string note = disturbed_note(points); !note.empty()) grid.notes.push_back(std::move(note));
  drop_empty_columns(grid);
  return grid;
}

std::optional<Grid> fitting_grid(const std::vector<PlannedPoint>& points) {
  PeakGrid peaks;
  for (const PlannedPoint& point : points) {
    if (const auto bytes = point.record.memory.predicted_peak_bytes) peaks.add(point.record, *bytes, false);
  }
  return peaks.grid();
}

std::string plan_answer(const std::vector<PlannedPoint>& points) {
  if (points.size() == 1) return answer_of(points.front());
  const std::string common = common_words(names_of(points));
  constexpr size_t kNamed = 4;
  std::vector<std::string> others;
  for (const PlannedPoint& point : points) {
    if (point.record.status == Status::kOk) continue;
    others.push_back(
        fmt::format("{} ({})", without_words(point.record.name, common), until_colon(fit_text(point.record))));
  }
  if (others.empty()) return fmt::format("all {} points fit", points.size());
  const size_t count = others.size();
  others.resize(std::min(count, kNamed));
  return fmt::format("{} of {} points fit; not: {}{}", points.size() - count, points.size(), fmt::join(others, ", "),
                     count > kNamed ? fmt::format(" and {} more", count - kNamed) : "");
}

std::string prediction_sentence(const Record& record) {
  const Prediction& prediction = record.prediction;
  const auto whole = prediction.time.find(pass_of(record));
  if (whole == prediction.time.end())
    return "time: not predicted, because no launch of this device was measured; run laptime calibrate";
  std::string text =
      fmt::format("{}: {} predicted for {} launches, from {}{}", pass_of(record), format_seconds(whole->second),
                  prediction.launches.value_or(0), basis_text(prediction),
                  prediction.newest.empty() ? "" : fmt::format(" (the newest of {})", prediction.newest));
  if (prediction.low && prediction.high) {
    text +=
        fmt::format("; {} to {} by the errors of {} earlier predictions here (90 %)", format_seconds(*prediction.low),
                    format_seconds(*prediction.high), prediction.earlier.value_or(0));
  }
  return text;
}

std::optional<Grid> prediction_grid(const Record& record) {
  const std::vector<Compared> times = compared_times(record);
  if (times.empty()) return std::nullopt;
  Grid grid{.name = "prediction",
            .title = "predicted before the run, and measured",
            .columns = {text_column("part", "Part"),
                        {"predicted_s", "Predicted", Unit::kSeconds},
                        {"measured_s", "Measured", Unit::kSeconds},
                        {"error", "Error, of measured", Unit::kFraction}},
            .rows = {},
            .notes = {}};
  const auto add = [&](const Compared& row) {
    grid.rows.push_back(
        {row.what, row.predicted, row.measured, row.measured > 0 ? Json(row.predicted / row.measured - 1) : Json()});
  };
  for (const Compared& row : compared_classes(record)) add(row);
  for (const Compared& row : times) add(row);
  const MemoryUse& memory = record.memory;
  if (memory.predicted_peak_bytes && memory.peak_bytes) {
    grid.notes.push_back(fmt::format("peak memory: {} predicted, {} held", format_bytes(*memory.predicted_peak_bytes),
                                     format_bytes(*memory.peak_bytes)));
  }
  return grid;
}

std::string predicted_against_measured(double predicted, double measured) {
  return fmt::format("predicted {}, measured {}: {:+.1f} % of the measured time", format_seconds(predicted),
                     format_seconds(measured), 100 * (predicted / measured - 1));
}

std::string prediction_error_sentence(const Record& record) {
  const std::vector<Compared> times = compared_times(record);
  if (times.empty()) return "";
  const Compared& whole = times.back();
  std::string text = predicted_against_measured(whole.predicted, whole.measured);
  std::vector<Compared> parts = compared_classes(record);
  if (parts.empty()) parts.assign(times.begin(), times.end() - 1);
  std::stable_sort(parts.begin(), parts.end(), [](const Compared& a, const Compared& b) {
    return std::abs(a.predicted - a.measured) > std::abs(b.predicted - b.measured);
  });
  constexpr size_t kNamed = 2;
  for (size_t i = 0; i < std::min(kNamed, parts.size()); ++i) {
    const double part = parts[i].predicted - parts[i].measured;
    text += fmt::format("{} {} {:+.1f} %", i == 0 ? "; of which" : ",", parts[i].what, 100 * part / whole.measured);
  }
  const double alike = 1 - record.prediction.measured_share.value_or(1);
  if (alike > 0.005) text += fmt::format("; {:.0f} % of the prediction is from other sizes", 100 * alike);
  if (is_disturbed(record.prediction)) text += ". " + disturbed_clause(record.prediction);
  return text;
}

}  // namespace laptime
