// Lines and tables for plans, and for the launch costs from which predictions are made.
#include "report/plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/words.h"
#include "distribution/median.h"
#include "report/columns.h"
#include "report/memory_answer.h"
#include "report/names.h"
#include "report/profile_answer.h"
#include "report/words.h"

namespace laptime {
namespace {

TableCell fit_cell(const Record& record) {
  if (record.status == Status::kOk) {
    const std::string recompute = unasked_recompute(record);
    return {"yes", recompute.empty() ? "" : "yes, recompute: " + recompute};
  }
  if (record.status != Status::kOutOfMemory || !record.bytes_requested || !record.bytes_available)
    return std::string(name_of(record.status));
  return fmt::format("{} too much", brief_bytes(*record.bytes_requested - *record.bytes_available));
}

// "optimizer state 43 %, saved activations 34 %, parameters 21 %": the three largest shares.
std::string share_words(const std::vector<Finding>& findings) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> parts;
  for (const Finding& finding : findings) {
    if (finding.kind != "memory_share" || parts.size() == kNamed) continue;
    parts.push_back(fmt::format("{} {}", spaced(finding.subject), whole_percent_text(finding.number("share"))));
  }
  return joined(parts, ", ");
}

std::optional<ProfileView> profile_view(PlanView view) {
  const auto choices = choices_of(ProfileView{});
  const auto found = std::ranges::find(choices, name_of(view), &Choice<ProfileView>::name);
  return found == choices.end() ? std::nullopt : std::optional(found->value);
}

// The phases of a step on one line: "forward 74 ms   backward 156 ms   optimizer 31 ms   matmul 67 % of the time". If
// the pass is a single phase, the share is of that phase.
std::vector<std::string> phase_parts(const Finding& time, const std::vector<Finding>& findings) {
  std::vector<std::string> parts;
  for (const char* phase : {"forward", "backward", "optimizer"}) {
    const std::string key = fmt::format("{}_s", phase);
    if (time.has(key)) parts.push_back(fmt::format("{} {}", phase, brief_seconds(time.number(key))));
  }
  const auto is_of_pass = [&](const Finding& one) { return one.kind == "phase_time" && one.subject == time.subject; };
  if (const auto phase = std::ranges::find_if(findings, is_of_pass); phase != findings.end()) {
    parts.push_back(
        fmt::format("{} {} of {}", phase->text("class"), percent_text(phase->number("class_share")), phase->subject));
  } else if (const Finding* const top = find(findings, "class_share")) {
    parts.push_back(fmt::format("{} {} of the time", top->subject, percent_text(top->number("share"))));
  }
  return parts;
}

struct PlanRow {
  const PlannedPoint& point;
  std::vector<Finding> findings;
  std::string name{};  // short name: how the point differs from the others
};

std::vector<PlanRow> rows_of(const std::vector<PlannedPoint>& points, const TrainingBudget& budget) {
  const std::string common = common_words(points, [](const PlannedPoint& point) { return point.record.name; });
  return mapped(points, [&](const PlannedPoint& point) {
    return PlanRow{point, plan_findings(point, budget), spoken_name(point.record.name, common)};
  });
}

Table plan_table(const std::vector<PlanRow>& rows) {
  std::set<std::string> passes;
  for (const PlanRow& row : rows) passes.insert(pass_name(row.point.record));
  Table table{.name = "plan",
              .columns = columns_from(fmt::format(
                  "<point=point; batch; device; predicted_s={}; low_s; high_s; forward_s; backward_s; optimizer_s; "
                  "tokens_per_second=tokens/s@2; peak_bytes=peak; <fits=fits; <fitting_recompute=with --recompute@1; "
                  "compile_s=compile@3; compile_peak_bytes=peak@3; largest_batch=max batch@1; "
                  "largest_context=max ctx@1; largest_batch_kept=max batch, no recompute@4; "
                  "largest_context_kept=max ctx, no recompute@4; basis",
                  passes.size() == 1 ? *passes.begin() : "time"))};
  for (const auto& [point, findings, name] : rows) {
    const Record& record = point.record;
    const std::string pass = pass_name(record);
    const std::optional<double> seconds = predicted_seconds(record, pass);
    const Record compiled = point.compiled.value_or(Record());
    table.add({{record.name, name},
               value_of(record, "batch_size"),
               value_of(record, "device"),
               seconds,
               record.prediction.low,
               record.prediction.high,
               predicted_seconds(record, "forward"),
               predicted_seconds(record, "backward"),
               predicted_seconds(record, "optimizer"),
               seconds ? tokens_per_second(record, *seconds) : std::nullopt,
               record.memory.predicted_peak_bytes,
               fit_cell(record),
               point.fitting_recompute.empty() ? Json(nullptr) : Json(point.fitting_recompute),
               predicted_seconds(compiled, pass),
               compiled.memory.predicted_peak_bytes,
               point.largest_batch,
               point.largest_context,
               point.largest_batch_kept,
               point.largest_context_kept,
               basis_words(record.prediction)});
    if (record.status != Status::kOk && record.status != Status::kOutOfMemory)
      table.notes.push_back(fmt::format("{}: {}", name, record.reason));
  }
  return table;
}

// "medium, large, xl and 2 more"
std::string some_of(std::vector<std::string> names) {
  constexpr size_t kNamed = 3;
  const size_t count = names.size();
  names.resize(std::min(count, kNamed));
  return joined(names, ", ") + (count > kNamed ? fmt::format(" and {} more", count - kNamed) : "");
}

// "3 of 5 points fit into 76.0 GiB; not: medium; no plan: large".
std::string what_fits(const std::vector<PlanRow>& rows) {
  std::vector<std::string> too_large;
  std::vector<std::string> without_plan;
  std::set<std::string> limits;
  for (const PlanRow& row : rows) {
    const Status status = row.point.record.status;
    if (status == Status::kOutOfMemory) too_large.push_back(row.name);
    if (status != Status::kOk && status != Status::kOutOfMemory) without_plan.push_back(row.name);
    if (row.findings.front().has("available_bytes")) limits.insert(usable_words(row.findings.front()));
  }
  const std::string usable = limits.size() == 1 ? " into " + *limits.begin() : "";
  const size_t others = too_large.size() + without_plan.size();
  if (others == 0) return fmt::format("all {} points fit{}", rows.size(), usable);
  std::string text = fmt::format("{} of {} points fit{}", rows.size() - others, rows.size(), usable);
  if (!too_large.empty()) text += "; not: " + some_of(std::move(too_large));
  if (!without_plan.empty()) text += "; no plan: " + some_of(std::move(without_plan));
  return text;
}

void draw_curve(const std::vector<PlanRow>& rows, PointAnswer& answer) {
  constexpr size_t kWidest = 40;
  std::vector<Bar> bars;
  for (const auto& [point, findings, name] : rows) {
    const int64_t bytes = point.record.memory.predicted_peak_bytes.value_or(0);
    const std::optional<double> seconds = predicted_seconds(point.record, pass_name(point.record));
    bars.push_back({name, brief_bytes(bytes), static_cast<double>(bytes), seconds ? brief_seconds(*seconds) : ""});
  }
  const auto first = std::ranges::find(rows, Status::kOk, [](const PlanRow& row) { return row.point.record.status; });
  if (first != rows.begin() && first != rows.end()) answer.say(fmt::format("first point that fits: {}", first->name));
  answer.draw([bars](const TextStyle& style) { return bars_text(bars, kWidest, style); });
}

// "! times assume peak rates; published runs took 0.9 to 7.7 times as long"; empty if no point has published runs.
std::string published_line(const std::vector<Finding>& findings) {
  std::optional<Interval> ratios;
  for (const Finding& finding : findings) {
    if (finding.kind != "published_runs") continue;
    const Interval one{finding.number("low"), finding.number("high")};
    ratios = {std::min(one.low, ratios.value_or(one).low), std::max(one.high, ratios.value_or(one).high)};
  }
  if (!ratios) return "";
  return fmt::format("! times assume peak rates; published runs took {} to {} times as long",
                     fixed_text(ratios->low, 1), fixed_text(ratios->high, 1));
}

double largest(const std::vector<double>& values) { return *std::ranges::max_element(values); }

}  // namespace

std::string basis_words(const Prediction& prediction) {
  if (prediction.from.empty()) return "no launch times are known; run laptime calibrate";
  if (prediction.newest.empty()) return prediction.from;
  return fmt::format("{}, {} of the time from launches of the same shapes", prediction.from,
                     whole_percent_text(prediction.measured_share.value_or(0)));
}

std::string disturbed_prediction_line(const Prediction& prediction) {
  constexpr double kWorthSaying = 0.005;  // as a fraction of the predicted time
  const double share = prediction.disturbed_share.value_or(0);
  if (!(share > kWorthSaying)) return "";
  return fmt::format(
      "! {} of the predicted time is from launches timed on a busy machine; run laptime calibrate when it is idle",
      whole_percent_text(share));
}

PointAnswer plan_answer(const PlannedPoint& point, const std::optional<StepTrace>& trace, const PlanQuery& query) {
  const Record& record = point.record;
  const bool is_planned = record.status == Status::kOk || record.status == Status::kOutOfMemory;
  PointAnswer answer = is_planned ? answer_about(record) : answer_without_result(record);
  const PlanRow row{point, plan_findings(point, query.budget), spoken_name(record.name)};
  const std::vector<Finding>& plan = row.findings;
  answer.findings = plan;
  if (!is_planned) {
    answer.keep(plan_table({row}));
    return answer;
  }
  std::vector<Finding> of_trace;
  const bool has_parts = trace && !record.memory.parts.empty();  // the trace also explains the memory
  if (has_parts) of_trace = memory_findings(record, *trace);
  if (trace && !trace->steps.empty()) std::ranges::move(trace_findings(record, *trace), std::back_inserter(of_trace));
  answer.findings.insert(answer.findings.end(), of_trace.begin(), of_trace.end());
  answer.say(joined_nonempty({words(*find(plan, "fit")), share_words(of_trace)}, "; "));
  const Finding* const time = find(plan, "predicted_time");
  if (time != nullptr) {
    std::vector<std::string> parts{words(*time)};
    if (time->has("tokens_per_second"))
      parts.push_back(value_text(time->number("tokens_per_second"), Unit::kTokensPerSecond) + " tokens/s");
    parts.push_back(words_of(plan, "training_time"));
    answer.fill(std::move(parts), /*is_indented=*/false);
    answer.fill(phase_parts(*time, of_trace));
  } else {
    answer.say("time not predicted: no launch times for this device; run laptime calibrate");
  }
  for (const char* kind : {"largest", "compile_mode"}) answer.say(words_of(plan, kind));
  const std::string measured = words_of(plan, "measured_times");
  answer.say(point_line(record) + (time != nullptr && time->text("is_bound") != "true"
                                       ? " · from " + (measured.empty() ? basis_words(record.prediction) : measured)
                                       : ""));
  answer.keep(plan_table({row}));
  const bool is_summary = query.view == PlanView::kSummary;
  const auto add = [&](Table table) { is_summary ? answer.keep(std::move(table)) : answer.show(std::move(table)); };
  if (trace && !trace->steps.empty() && profile_view(query.view)) {
    const PointAnswer profile = profile_answer(record, *trace, {.view = *profile_view(query.view)});
    for (const AnswerPart& part : profile.parts) {
      if (!part.table.columns.empty()) part.table.name == "phases" ? answer.keep(part.table) : add(part.table);
    }
  }
  if (has_parts && (is_summary || query.view == PlanView::kMemory || query.view == PlanView::kAll)) {
    std::vector<Table> tables = memory_tables(record, *trace, {.view = MemoryView::kPhases});
    tables.push_back(memory_tables(record, *trace, {.view = MemoryView::kAccounts}).back());
    for (Table& table : tables) {
      table.name = "memory_" + table.name;  // the profile also has a table named "phases"
      add(std::move(table));
    }
  }
  if (query.verbose) answer.say_findings({"launch_bound", "published_runs", "rates", "pass_bound", "phase_peak"});
  answer.say(disturbed_prediction_line(record.prediction));
  return answer;
}

PointAnswer plan_answer(const std::vector<PlannedPoint>& points, const PlanQuery& query) {
  PointAnswer answer{.name = "plan"};
  const std::vector<PlanRow> rows = rows_of(points, query.budget);
  std::vector<const Record*> records;
  for (const PlanRow& row : rows) {
    answer.findings.insert(answer.findings.end(), row.findings.begin(), row.findings.end());
    if (row.point.record.memory.predicted_peak_bytes) records.push_back(&row.point.record);
  }
  answer.say(what_fits(rows));
  std::optional<Table> by_pass = peaks_by_pass(records);
  if (by_pass) query.grid ? answer.show(*by_pass) : answer.keep(*by_pass);
  if (!query.grid || !by_pass) answer.show(plan_table(rows));
  if (query.draws_curve) draw_curve(rows, answer);
  for (const PlanRow& row : rows) {
    const Finding* const training = find(row.findings, "training_time");
    if (query.compares_training && training != nullptr) answer.say(fmt::format("{}: {}", row.name, words(*training)));
  }
  if (!query.grid) answer.say(published_line(answer.findings));
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
  const auto most = std::ranges::max_element(
      parts, {}, [](const PredictedPart& part) { return std::abs(part.predicted - part.measured); });
  return text + fmt::format("; largest part: {} {}", most->part,
                            change_text((most->predicted - most->measured) / whole.measured));
}

Table launch_costs_table(std::span<const LaunchCost> costs) {
  std::map<std::pair<std::string, int64_t>, std::vector<const LaunchCost*>> kinds;
  for (const LaunchCost& cost : costs) {
    if (cost.seconds > 0) kinds[{cost.kind, cost.threads}].push_back(&cost);
  }
  Table table{.name = "launch_costs",
              .columns = columns_from(
                  "<kind=kind; threads=threads@1; shapes=shapes; shortest_s=shortest; longest_s=longest; "
                  "median_flops_per_second=median FLOP/s@3; best_flops_per_second=best FLOP/s@2; "
                  "median_bytes_per_second=median bytes/s@4; best_bytes_per_second=best bytes/s@2; <newest=newest@5")};
  for (const auto& [key, of_kind] : kinds) {
    const auto per_second = [](const LaunchCost* cost, auto work) { return static_cast<double>(work) / cost->seconds; };
    const std::vector<double> seconds = mapped(of_kind, &LaunchCost::seconds);
    const std::vector<double> flops = mapped(of_kind, [&](const auto* cost) { return per_second(cost, cost->flops); });
    const std::vector<double> bytes = mapped(of_kind, [&](const auto* cost) { return per_second(cost, cost->bytes); });
    table.add({key.first, key.second, of_kind.size(), *std::ranges::min_element(seconds), largest(seconds),
               median(flops), largest(flops), median(bytes), largest(bytes),
               (*std::ranges::max_element(of_kind, {}, &LaunchCost::created))->created});
  }
  constexpr size_t kLongest = 4;
  std::ranges::stable_sort(table.rows, std::greater{},
                           [](const TableRow& row) { return row.cells[kLongest].value.get<double>(); });
  return table;
}

}  // namespace laptime
