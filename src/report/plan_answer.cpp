// Lines and tables of plans.
#include "report/plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/words.h"
#include "report/memory_answer.h"
#include "report/point_names.h"
#include "report/profile_answer.h"
#include "report/words.h"

namespace laptime {
namespace {

std::string fit_words(const Record& record) {
  if (record.status == Status::kOk) return "yes";
  if (record.status != Status::kOutOfMemory || !record.bytes_requested || !record.bytes_available)
    return std::string(name_of(record.status));
  return fmt::format("{} too many", brief_bytes(*record.bytes_requested - *record.bytes_available));
}

// "optimizer state 43 %, saved activations 34 %, parameters 21 %": the three largest.
std::string share_words(const std::vector<Finding>& findings) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> parts;
  for (const Finding& finding : findings) {
    if (finding.kind == "memory_share" && parts.size() < kNamed)
      parts.push_back(
          fmt::format("{} {}", category_words(finding.subject), whole_percent_text(finding.number("share"))));
  }
  return joined(parts, ", ");
}

std::optional<ProfileView> profile_view(PlanView view) {
  switch (view) {
    case PlanView::kSummary: return ProfileView::kSummary;
    case PlanView::kKernels: return ProfileView::kKernels;
    case PlanView::kOps: return ProfileView::kOps;
    case PlanView::kClasses: return ProfileView::kClasses;
    case PlanView::kLayers: return ProfileView::kLayers;
    case PlanView::kAttention: return ProfileView::kAttention;
    case PlanView::kMemory: return std::nullopt;
    case PlanView::kAll: return ProfileView::kAll;
  }
  return std::nullopt;
}

// The phases of a step on one line: "forward 74 ms   backward 156 ms   optimizer 31 ms   matmul 67 % of the time".
std::vector<std::string> phase_parts(const Finding& time, const std::vector<Finding>& findings) {
  std::vector<std::string> parts;
  for (const char* phase : {"forward", "backward", "optimizer"}) {
    const std::string key = fmt::format("{}_s", phase);
    if (time.has(key)) parts.push_back(fmt::format("{} {}", phase, brief_seconds(time.number(key))));
  }
  if (const Finding* const top = find(findings, "class_share"))
    parts.push_back(fmt::format("{} {} of the time", top->subject, percent_text(top->number("share"))));
  return parts;
}

void draw_filled(PointAnswer& answer, std::vector<std::string> parts, bool is_indented) {
  if (parts.empty()) return;
  answer.draw([parts = std::move(parts), is_indented](const TextStyle& style) {
    std::string text;
    for (const std::string& line : filled(parts, style.width))
      text += terminal_text(is_indented || !text.empty() ? line : line.substr(2), style.unicode) + "\n";
    return text;
  });
}

Table plan_table(const std::vector<PlannedPoint>& points) {
  const auto seconds_of = [](std::string key, std::string title, int drop = 0) {
    return TableColumn{.key = std::move(key), .title = std::move(title), .unit = Unit::kSeconds, .drop = drop};
  };
  const auto for_data = [](std::string key, Unit unit = Unit::kNone) {
    return TableColumn{.key = std::move(key), .unit = unit, .for_people = false};
  };
  std::set<std::string> passes;
  std::vector<std::string> names;
  for (const PlannedPoint& point : points) {
    passes.insert(pass_name(point.record));
    names.push_back(point.record.name);
  }
  Table table{.name = "plan",
              .columns = {text_of_rows("point", "point"),
                          for_data("batch"),
                          for_data("device"),
                          seconds_of("predicted_s", passes.size() == 1 ? *passes.begin() : "time"),
                          {.key = "low_s", .unit = Unit::kSeconds, .for_people = false},
                          {.key = "high_s", .unit = Unit::kSeconds, .for_people = false},
                          for_data("forward_s", Unit::kSeconds),
                          for_data("backward_s", Unit::kSeconds),
                          for_data("optimizer_s", Unit::kSeconds),
                          {.key = "tokens_per_second", .title = "tokens/s", .unit = Unit::kTokensPerSecond, .drop = 2},
                          {.key = "peak_bytes", .title = "peak", .unit = Unit::kBytes},
                          text_of_rows("fits", "fits"),
                          text_of_rows("fitting_recompute", "with --recompute", 1),
                          seconds_of("compile_s", "compile", 3),
                          {.key = "compile_peak_bytes", .title = "peak", .unit = Unit::kBytes, .drop = 3},
                          {.key = "largest_batch", .title = "max batch", .drop = 1},
                          {.key = "largest_context", .title = "max ctx", .drop = 1},
                          {.key = "largest_batch_kept", .title = "max batch, no recompute", .drop = 4},
                          {.key = "largest_context_kept", .title = "max ctx, no recompute", .drop = 4},
                          {.key = "eager_bytes", .title = "framework", .unit = Unit::kBytes, .drop = 2},
                          for_data("basis")}};
  const std::string common = common_words(names);
  for (const PlannedPoint& point : points) {
    const Record& record = point.record;
    const std::optional<double> seconds = predicted_seconds(record, pass_name(record));
    const Record compiled = point.compiled.value_or(Record());
    const auto config_value = [&](const char* key) {
      const Json* const value = record.config.json().find(key);
      return value == nullptr ? Json() : *value;
    };
    const auto rate = seconds ? tokens_per_second(record, *seconds) : std::nullopt;
    table.add({{record.name, spoken_name(record.name, common)},
               config_value("batch_size"),
               config_value("device"),
               seconds,
               record.prediction.low,
               record.prediction.high,
               predicted_seconds(record, "forward"),
               predicted_seconds(record, "backward"),
               predicted_seconds(record, "optimizer"),
               rate,
               record.memory.predicted_peak_bytes,
               fit_words(record),
               point.fitting_recompute.empty() ? Json(nullptr) : Json(point.fitting_recompute),
               predicted_seconds(compiled, pass_name(record)),
               compiled.memory.predicted_peak_bytes,
               point.largest_batch,
               point.largest_context,
               point.largest_batch_kept,
               point.largest_context_kept,
               point.eager_bytes,
               basis_words(record.prediction)});
  }
  for (const PlannedPoint& point : points) {
    if (point.record.status != Status::kOk && point.record.status != Status::kOutOfMemory)
      table.notes.push_back(fmt::format("{}: {}", spoken_name(point.record.name, common), point.record.reason));
  }
  return table;
}

std::string what_fits(const std::vector<PlannedPoint>& points) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> names;
  names.reserve(points.size());
  std::vector<std::string> others;
  for (const PlannedPoint& point : points) names.push_back(point.record.name);
  const std::string common = common_words(names);
  for (const PlannedPoint& point : points) {
    if (point.record.status != Status::kOk) others.push_back(spoken_name(point.record.name, common));
  }
  const std::string usable = [&] {
    std::set<std::string> limits;
    for (const PlannedPoint& point : points) {
      const std::vector<Finding> findings = plan_findings(point, {});
      if (findings.front().has("available_bytes")) limits.insert(usable_words(findings.front()));
    }
    return limits.size() == 1 ? " into " + *limits.begin() : std::string();
  }();
  if (others.empty()) return fmt::format("all {} points fit{}", points.size(), usable);
  const size_t count = others.size();
  others.resize(std::min(count, kNamed));
  return fmt::format("{} of {} points fit{}; not: {}{}", points.size() - count, points.size(), usable,
                     joined(others, ", "), count > kNamed ? fmt::format(" and {} more", count - kNamed) : "");
}

}  // namespace

std::string basis_words(const Prediction& prediction) {
  if (prediction.from.empty()) return "no launch was measured; run laptime calibrate";
  if (prediction.newest.empty()) return prediction.from;
  return fmt::format("{}, {} of the same shapes", prediction.from,
                     whole_percent_text(prediction.measured_share.value_or(0)));
}

std::string disturbed_prediction_line(const Prediction& prediction) {
  constexpr double kWorthSaying = 0.005;  // of the predicted time
  const double share = prediction.disturbed_share.value_or(0);
  if (!(share > kWorthSaying)) return "";
  return fmt::format("! {} of the predicted time is from launches measured on a disturbed machine",
                     whole_percent_text(share));
}

PointAnswer plan_answer(const PlannedPoint& point, const std::optional<StepTrace>& trace, const PlanQuery& query) {
  const Record& record = point.record;
  PointAnswer answer{.name = record.name,
                     .status = std::string(name_of(record.status)),
                     .reason = record.reason,
                     .findings = plan_findings(point, query.budget)};
  if (record.status != Status::kOk && record.status != Status::kOutOfMemory) {
    answer.say(record.reason.empty() ? answer.status : fmt::format("{}: {}", answer.status, record.reason));
    answer.keep(plan_table({point}));
    return answer;
  }
  const std::vector<Finding> plan = answer.findings;
  std::vector<Finding> of_trace;
  if (trace) {
    of_trace = memory_findings(record, *trace);
    if (!trace->steps.empty()) {
      for (Finding& finding : trace_findings(record, *trace)) of_trace.push_back(std::move(finding));
    }
    answer.findings.insert(answer.findings.end(), of_trace.begin(), of_trace.end());
  }
  const std::string shares = share_words(of_trace);
  answer.say(words(*find(plan, "fit")) + (shares.empty() ? "" : fmt::format("; {}", shares)));
  const Finding* const time = find(plan, "predicted_time");
  if (time != nullptr) {
    std::vector<std::string> parts{words(*time)};
    if (time->has("tokens_per_second"))
      parts.push_back(value_text(time->number("tokens_per_second"), Unit::kTokensPerSecond) + " tokens/s");
    if (const Finding* const training = find(plan, "training_time")) parts.push_back(words(*training));
    draw_filled(answer, std::move(parts), /*is_indented=*/false);
    draw_filled(answer, phase_parts(*time, of_trace), /*is_indented=*/true);
  } else {
    answer.say("time not predicted: no launch of this device was measured (laptime calibrate)");
  }
  for (const char* kind : {"largest", "compile_mode", "framework"}) {
    if (const Finding* const finding = find(plan, kind)) answer.say(words(*finding));
  }
  answer.say(point_line(record) + (time != nullptr && time->text("is_bound") != "true"
                                       ? fmt::format(" · from {}", basis_words(record.prediction))
                                       : ""));
  answer.keep(plan_table({point}));
  const bool is_summary = query.view == PlanView::kSummary;
  const auto add = [&](Table table) { is_summary ? answer.keep(std::move(table)) : answer.show(std::move(table)); };
  if (trace && !trace->steps.empty() && profile_view(query.view)) {
    const PointAnswer profile = profile_answer(record, *trace, {.view = *profile_view(query.view)});
    for (const AnswerPart& part : profile.parts) {
      if (!part.table.columns.empty()) part.table.name == "phases" ? answer.keep(part.table) : add(part.table);
    }
  }
  if (trace && (is_summary || query.view == PlanView::kMemory || query.view == PlanView::kAll)) {
    for (const MemoryView view : {MemoryView::kPhases, MemoryView::kAccounts}) {
      for (Table& table : memory_tables(record, *trace, {.view = view})) {
        const std::string name = "memory_" + table.name;  // both reports have a table of phases
        const bool is_there = std::any_of(answer.parts.begin(), answer.parts.end(),
                                          [&](const AnswerPart& part) { return part.table.name == name; });
        table.name = name;
        if (!is_there) add(std::move(table));
      }
    }
  }
  if (query.verbose) {
    for (const Finding& finding : answer.findings) {
      for (const std::string_view kind : {"launch_bound", "published_runs", "rates", "pass_bound", "phase_peak"}) {
        if (finding.kind == kind) answer.say("  " + words(finding));
      }
    }
  }
  answer.say(disturbed_prediction_line(record.prediction));
  return answer;
}

static std::vector<std::string> training_lines(const std::vector<PlannedPoint>& points, const TrainingBudget& budget) {
  std::vector<std::string> names;
  for (const PlannedPoint& point : points) names.push_back(point.record.name);
  const std::string common = common_words(names);
  std::vector<std::string> lines;
  for (const PlannedPoint& point : points) {
    const std::vector<Finding> findings = plan_findings(point, budget);
    if (const Finding* const training = find(findings, "training_time"))
      lines.push_back(fmt::format("{}: {}", spoken_name(point.record.name, common), words(*training)));
  }
  return lines;
}

PointAnswer plan_answer(const std::vector<PlannedPoint>& points, const PlanQuery& query) {
  PointAnswer answer{.name = "plan"};
  std::vector<const Record*> records;
  std::set<std::pair<double, double>> ratios;
  for (const PlannedPoint& point : points) {
    const std::vector<Finding> findings = plan_findings(point, query.budget);
    answer.findings.insert(answer.findings.end(), findings.begin(), findings.end());
    if (const Finding* const published = find(findings, "published_runs"))
      ratios.insert({published->number("low"), published->number("high")});
    if (point.record.memory.predicted_peak_bytes) records.push_back(&point.record);
  }
  answer.say(what_fits(points));
  std::optional<Table> by_pass = peaks_by_pass(records);
  if (by_pass) query.grid ? answer.show(*by_pass) : answer.keep(*by_pass);
  if (!query.grid || !by_pass) answer.show(plan_table(points));
  if (query.compares_training) answer.say(training_lines(points, query.budget));
  if (!ratios.empty() && !query.grid) {
    double low = ratios.begin()->first;
    double high = low;
    for (const auto& [from, to] : ratios) {
      low = std::min(low, from);
      high = std::max(high, to);
    }
    answer.say(fmt::format("! times are at best; published runs took {} to {} times as long", fixed_text(low, 1),
                           fixed_text(high, 1)));
  }
  return answer;
}

std::optional<Table> prediction_table(const Record& record) {
  const std::vector<PredictedPart> parts = predicted_parts(record);
  if (parts.empty()) return std::nullopt;
  Table table{.name = "prediction",
              .columns = {text_of_rows("part", "part"),
                          {.key = "predicted_s", .title = "predicted", .unit = Unit::kSeconds},
                          {.key = "measured_s", .title = "measured", .unit = Unit::kSeconds},
                          {.key = "error", .title = "error", .unit = Unit::kFraction}}};
  for (const PredictedPart& part : parts) table.add({part.part, part.predicted, part.measured, part.error()});
  return table;
}

std::string prediction_words(const Record& record) {
  std::vector<PredictedPart> parts = predicted_parts(record);
  if (parts.empty()) return "";
  const PredictedPart whole = parts.back();
  std::string text = fmt::format("predicted {}, measured {}: {}", brief_seconds(whole.predicted),
                                 brief_seconds(whole.measured), change_text(whole.error()));
  parts.pop_back();
  if (parts.empty()) return text;
  const auto most = std::max_element(parts.begin(), parts.end(), [](const PredictedPart& a, const PredictedPart& b) {
    return std::abs(a.predicted - a.measured) < std::abs(b.predicted - b.measured);
  });
  return text + fmt::format("; most of it {} {}", most->part,
                            change_text((most->predicted - most->measured) / whole.measured));
}

}  // namespace laptime
