// Lines and tables of plans, and of the launch costs that predictions are made from.
#include "report/plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/words.h"
#include "distribution/median.h"
#include "report/memory_answer.h"
#include "report/names.h"
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

// The view of a profile with the same name.
std::optional<ProfileView> profile_view(PlanView view) {
  for (const Choice<ProfileView>& choice : choices_of(ProfileView{})) {
    if (choice.name == name_of(view)) return choice.value;
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

// The words that the names of all points have.
std::string common_words_of(const std::vector<PlannedPoint>& points) {
  std::vector<std::string> names;
  names.reserve(points.size());
  for (const PlannedPoint& point : points) names.push_back(point.record.name);
  return common_words(names);
}

Table plan_table(const std::vector<PlannedPoint>& points) {
  std::set<std::string> passes;
  for (const PlannedPoint& point : points) passes.insert(pass_name(point.record));
  const std::string common = common_words_of(points);
  Table table{.name = "plan",
              .columns = columns_from(fmt::format(
                  "<point=point; batch; device; predicted_s={}; low_s; high_s; forward_s; backward_s; optimizer_s; "
                  "tokens_per_second=tokens/s@2; peak_bytes=peak; <fits=fits; <fitting_recompute=with --recompute@1; "
                  "compile_s=compile@3; compile_peak_bytes=peak@3; largest_batch=max batch@1; "
                  "largest_context=max ctx@1; largest_batch_kept=max batch, no recompute@4; "
                  "largest_context_kept=max ctx, no recompute@4; eager_bytes=framework@2; basis",
                  passes.size() == 1 ? *passes.begin() : "time"))};
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
  std::vector<std::string> others;
  const std::string common = common_words_of(points);
  for (const PlannedPoint& point : points) {
    if (point.record.status != Status::kOk) others.push_back(spoken_name(point.record.name, common));
  }
  std::set<std::string> limits;
  for (const PlannedPoint& point : points) {
    const std::vector<Finding> findings = plan_findings(point, {});
    if (findings.front().has("available_bytes")) limits.insert(usable_words(findings.front()));
  }
  const std::string usable = limits.size() == 1 ? " into " + *limits.begin() : "";
  if (others.empty()) return fmt::format("all {} points fit{}", points.size(), usable);
  const size_t count = others.size();
  others.resize(std::min(count, kNamed));
  return fmt::format("{} of {} points fit{}; not: {}{}", points.size() - count, points.size(), usable,
                     joined(others, ", "), count > kNamed ? fmt::format(" and {} more", count - kNamed) : "");
}

struct Kind {
  std::vector<double> flops_per_second;
  std::vector<double> bytes_per_second;
  double shortest = 0;
  double longest = 0;
  std::string newest;
};

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

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
  const bool is_planned = record.status == Status::kOk || record.status == Status::kOutOfMemory;
  PointAnswer answer = is_planned ? answer_about(record) : answer_without_result(record);
  answer.findings = plan_findings(point, query.budget);
  if (!is_planned) {
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
    parts.push_back(words_of(plan, "training_time"));
    draw_filled(answer, std::move(parts), /*is_indented=*/false);
    draw_filled(answer, phase_parts(*time, of_trace), /*is_indented=*/true);
  } else {
    answer.say("time not predicted: no launch of this device was measured (laptime calibrate)");
  }
  for (const char* kind : {"largest", "compile_mode", "framework"}) answer.say(words_of(plan, kind));
  const std::string published = words_of(plan, "published_figures");
  answer.say(point_line(record) + (time != nullptr && time->text("is_bound") != "true"
                                       ? " · from " + (published.empty() ? basis_words(record.prediction) : published)
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
  if (query.verbose) answer.say_findings({"launch_bound", "published_runs", "rates", "pass_bound", "phase_peak"});
  answer.say(disturbed_prediction_line(record.prediction));
  return answer;
}

// A bar of bytes for each point with its time, and the first that fits.
static void draw_curve(const std::vector<PlannedPoint>& points, PointAnswer& answer) {
  const std::string common = common_words_of(points);
  const auto name_of_point = [&](const PlannedPoint& point) { return spoken_name(point.record.name, common); };
  std::vector<Bar> bars;
  for (const PlannedPoint& point : points) {
    const int64_t bytes = point.record.memory.predicted_peak_bytes.value_or(0);
    const std::optional<double> seconds = predicted_seconds(point.record, pass_name(point.record));
    bars.push_back({.label = name_of_point(point),
                    .number = brief_bytes(bytes),
                    .value = static_cast<double>(bytes),
                    .after = seconds ? brief_seconds(*seconds) : ""});
  }
  const auto first =
      std::ranges::find_if(points, [](const PlannedPoint& one) { return one.record.status == Status::kOk; });
  if (first != points.begin() && first != points.end())
    answer.say(fmt::format("fits first with {}", name_of_point(*first)));
  constexpr size_t kWidest = 40;
  answer.draw([bars](const TextStyle& style) { return bars_text(bars, kWidest, style); });
}

static std::vector<std::string> training_lines(const std::vector<PlannedPoint>& points, const TrainingBudget& budget) {
  const std::string common = common_words_of(points);
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
  std::optional<Interval> ratios;  // of published runs to their bounds
  for (const PlannedPoint& point : points) {
    const std::vector<Finding> findings = plan_findings(point, query.budget);
    answer.findings.insert(answer.findings.end(), findings.begin(), findings.end());
    if (const Finding* const published = find(findings, "published_runs")) {
      const Interval of_point{published->number("low"), published->number("high")};
      ratios = {std::min(of_point.low, ratios.value_or(of_point).low),
                std::max(of_point.high, ratios.value_or(of_point).high)};
    }
    if (point.record.memory.predicted_peak_bytes) records.push_back(&point.record);
  }
  answer.say(what_fits(points));
  std::optional<Table> by_pass = peaks_by_pass(records);
  if (by_pass) query.grid ? answer.show(*by_pass) : answer.keep(*by_pass);
  if (!query.grid || !by_pass) answer.show(plan_table(points));
  if (query.draws_curve) draw_curve(points, answer);
  if (query.compares_training) answer.say(training_lines(points, query.budget));
  if (ratios && !query.grid)
    answer.say(fmt::format("! times are at best; published runs took {} to {} times as long",
                           fixed_text(ratios->low, 1), fixed_text(ratios->high, 1)));
  return answer;
}

std::optional<Table> prediction_table(const Record& record) {
  const std::vector<PredictedPart> parts = predicted_parts(record);
  if (parts.empty()) return std::nullopt;
  Table table{.name = "prediction",
              .columns = columns_from("<part=part; predicted_s=predicted; measured_s=measured; error=error")};
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

Table launch_costs_table(std::span<const LaunchCost> costs) {
  std::map<std::pair<std::string, int64_t>, Kind> kinds;
  for (const LaunchCost& cost : costs) {
    if (cost.seconds <= 0) continue;
    Kind& kind = kinds[{cost.kind, cost.threads}];
    kind.shortest = kind.flops_per_second.empty() ? cost.seconds : std::min(kind.shortest, cost.seconds);
    kind.longest = std::max(kind.longest, cost.seconds);
    kind.flops_per_second.push_back(cost.flops / cost.seconds);
    kind.bytes_per_second.push_back(static_cast<double>(cost.bytes) / cost.seconds);
    kind.newest = std::max(kind.newest, cost.created);
  }
  Table table{.name = "launch_costs",
              .columns = columns_from(
                  "<kind=kind; threads=threads@1; shapes=shapes; shortest_s=shortest; longest_s=longest; "
                  "median_flops_per_second=median FLOP/s@3; best_flops_per_second=best FLOP/s@2; "
                  "median_bytes_per_second=median bytes/s@4; best_bytes_per_second=best bytes/s@2; <newest=newest@5")};
  std::vector<std::pair<double, std::vector<TableCell>>> rows;
  rows.reserve(kinds.size());
  for (const auto& [key, kind] : kinds) {
    rows.push_back({kind.longest,
                    {key.first, key.second, kind.flops_per_second.size(), kind.shortest, kind.longest,
                     median(kind.flops_per_second), largest(kind.flops_per_second), median(kind.bytes_per_second),
                     largest(kind.bytes_per_second), kind.newest}});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [longest, row] : rows) table.add(std::move(row));
  return table;
}

}  // namespace laptime
