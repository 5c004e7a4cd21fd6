// Derives findings about time from the launches of a trace.
#include "analysis/trace_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/json.h"
#include "distribution/median.h"

namespace laptime {
namespace {

constexpr double kLaunchBound = 0.1;  // a step is launch-bound if the device idles for at least this share of the step

void add_class_shares(const StepTrace& trace, double step, std::vector<Finding>& findings) {
  for (const LaunchSum& sum : largest_first(sum_launches(trace, class_of))) {
    Json values{{"total_s", sum.total}, {"share", step > 0 ? sum.total / step : 0}};
    if (const auto of_bound = sum.of_roofline()) {
      values["of_bound"] = *of_bound;
      values["bound"] = sum.bound();
      values["in_cache"] = sum.bound() == "memory" && 2 * sum.uncached_bytes < sum.bytes;
    }
    add(findings, "class_share", sum.key, std::move(values));
  }
}

void add_phase_times(const StepTrace& trace, double step, std::vector<Finding>& findings) {
  for (const LaunchSum& sum : sum_launches(trace, phase_of)) {
    Json values{{"total_s", sum.total}, {"share", step > 0 ? sum.total / step : 0}, {"launches", sum.calls}};
    const std::vector<LaunchSum> classes = largest_first(
        sum_launches(trace, class_of, [&](const TraceLaunch& launch) { return launch.phase == sum.key; }));
    values["class"] = classes.front().key;
    values["class_share"] = sum.total > 0 ? classes.front().total / sum.total : 0;
    if (const auto of_bound = sum.of_roofline()) values["of_bound"] = *of_bound;
    add(findings, "phase_time", sum.key, std::move(values));
  }
}

void add_tracing(const StepTrace& trace, const StepTotals& totals, std::vector<Finding>& findings) {
  const auto launches = static_cast<double>(trace.launch_count());
  if (trace.untraced.empty()) return;
  const double without = median(trace.untraced);
  if (trace.mark) {
    const std::vector<double> traced = whole_steps(trace);
    const double with = median(traced);
    Json tracing{{"traced_s", with}, {"untraced_s", without}, {"ratio", with / without}};
    add_interval(tracing, "ratio", bootstrap_ratio_interval(traced, trace.untraced));
    tracing["traced_steps"] = trace.steps.size();
    tracing["untraced_steps"] = trace.untraced.size();
    if (const auto mean = traced_over_untraced(trace)) tracing["mean_ratio"] = *mean;
    tracing["is_disturbed"] = is_disturbed(trace);
    add(findings, "tracing", "", std::move(tracing));
  }
  const std::vector<double> sums = seconds_by_step(trace);
  Json sum{{"launches_s", median(sums)}, {"untraced_s", without}, {"ratio", median(sums) / without}};
  add_interval(sum, "ratio", bootstrap_ratio_interval(sums, trace.untraced));
  add(findings, "launch_sum", "", std::move(sum));
  if (trace.mark && *trace.mark > 0) {
    add(findings, "marks", "",
        {{"mark_s", *trace.mark}, {"launches", trace.launch_count()}, {"share", launches * *trace.mark / totals.step}});
  }
}

void add_device(const StepTrace& trace, std::vector<Finding>& findings) {
  const DeviceUse& device = trace.device;
  if (trace.untraced.empty()) return;
  const double step = median(trace.untraced);
  if (trace.datasheet_flops && trace.datasheet_bandwidth) {
    const double floor = least_seconds(trace, trace.datasheet_flops, trace.datasheet_bandwidth);
    add(findings, "data_sheet_floor", "",
        {{"floor_s", floor},
         {"share", floor / step},
         {"peak_flops_per_second", *trace.datasheet_flops},
         {"bandwidth_bytes_per_second", *trace.datasheet_bandwidth}});
  }
  if (device.busy.empty() && device.recorded.empty()) return;
  const bool has_records = !device.busy.empty();
  std::optional<double> idle;  // without activity records, a step replayed as a graph shows how long the device is busy
  if (has_records || device.usually_recorded == 0)
    idle = std::max(0.0, 1 - median(has_records ? device.busy : device.recorded) / step);
  add(findings, "device_idle", "",
      {{"share", or_null(idle)},
       {"is_launch_bound", idle ? Json(*idle >= kLaunchBound) : Json(nullptr)},
       {"kernels", has_records ? device.kernels : static_cast<int64_t>(trace.launch_count())},
       {"copies", device.copies},
       {"graph_s", device.recorded.empty() ? Json(nullptr) : Json(median(device.recorded))},
       {"is_graph", device.usually_recorded != 0},
       {"records", device.records},
       {"missing", device.missing},
       {"watched_steps", device.busy.size()}});
}

// Takes the times from the record, not from launches of class communication: such a launch includes the start of
// communication, and communication overlaps other launches.
void add_communication(const CommunicationUse& use, std::vector<Finding>& findings) {
  if (!use.bytes || !use.launches || !use.exposed || use.seconds.value_or(0) <= 0) return;
  add(findings, "communication", "",
      {{"total_s", *use.seconds},
       {"exposed_s", *use.exposed},
       {"exposed_share", *use.exposed / *use.seconds},
       {"bytes", *use.bytes},
       {"launches", *use.launches}});
}

// Compares softmax in attention with the two products around it, in forward. Times are means over the steps, as in the
// tables of a profile.
void add_softmax(const StepTrace& trace, std::vector<Finding>& findings) {
  const std::vector<LaunchSum> sums = sum_launches(
      trace, class_of, [](const TraceLaunch& launch) { return !launch.range.empty() && launch.phase == "forward"; });
  const auto softmax = std::ranges::find(sums, kSoftmaxClass, &LaunchSum::key);
  const auto products = std::ranges::find(sums, kProductClass, &LaunchSum::key);
  if (trace.steps.empty() || softmax == sums.end() || products == sums.end()) return;
  if (softmax->total <= 0 || products->total <= 0) return;
  Json values{{"time_ratio", softmax->total / products->total}, {"flops_ratio", softmax->flops / products->flops}};
  for (const auto& [name, sum] :
       {std::pair<std::string, const LaunchSum&>{"softmax", *softmax}, {"products", *products}}) {
    values[name + "_s"] = sum.total;
    values[name + "_flops"] = sum.flops;
    values[name + "_bytes"] = static_cast<int64_t>(sum.bytes);
    values[name + "_bound"] = sum.bound();
  }
  values["steps"] = trace.steps.size();
  const bool is_rough = is_measured(trace) && std::ssize(trace.steps) < kFewestForInterval;
  findings.push_back({.kind = "softmax_against_products",
                      .values = std::move(values),
                      .trust = is_rough ? FindingTrust::kRough : FindingTrust::kMeasured});
}

std::vector<double> residues(const StepTrace& trace) {
  std::vector<double> steps = whole_steps(trace);
  const std::vector<double> launches = seconds_by_step(trace);
  for (size_t i = 0; i < steps.size(); ++i) steps[i] -= launches[i];
  return steps;
}

double mean_of_steps(const std::vector<double>& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
}

// Compares one part. `a` and `b`: seconds in each traced step; empty if a profile lacks the part.
ComparedPart compared(const std::string& part, const std::vector<double>& a, const std::vector<double>& b,
                      bool are_measured) {
  ComparedPart row{.part = part, .a = {}, .b = {}, .ratio = {}, .interval = {}};
  if (!a.empty()) row.a = mean_of_steps(a);
  if (!b.empty()) row.b = mean_of_steps(b);
  if (!row.a || !row.b || *row.a <= 0 || *row.b == 0) return row;
  row.ratio = *row.a / *row.b;
  if (are_measured) row.interval = bootstrap_ratio_interval(a, b, Average::kMean);
  return row;
}

}  // namespace

std::optional<PassBound> bound_of_pass(const StepTrace& trace) {
  if (!trace.peak_flops || !trace.bandwidth) return std::nullopt;
  PassBound bound;
  for (const LaunchSum& sum :
       sum_launches(trace, [](const TraceLaunch& launch) { return std::string(launch.signature); })) {
    (sum.bound() == "compute" ? bound.arithmetic : bound.memory) += sum.floor;
  }
  return bound.seconds() > 0 ? std::optional(bound) : std::nullopt;
}

std::vector<Finding> trace_findings(const Record& record, const StepTrace& trace) {
  const StepTotals totals = totals_of(trace);
  std::vector<Finding> findings;
  add(findings, "pass_time", pass_of(trace),
      {{"total_s", totals.step}, {"residue_s", totals.residue()}, {"launches", trace.launch_count()}});
  add_class_shares(trace, totals.step, findings);
  add_phase_times(trace, totals.step, findings);
  if (trace.peak_flops || trace.bandwidth) {
    Json values{{"peak_flops_per_second", or_null(trace.peak_flops)},
                {"bandwidth_bytes_per_second", or_null(trace.bandwidth)}};
    if (is_predicted(record)) values["from"] = record.prediction.from;
    add(findings, "rates", "", std::move(values));
  }
  if (const auto bound = bound_of_pass(trace)) {
    add(findings, "pass_bound", pass_of(trace),
        {{"arithmetic_s", bound->arithmetic},
         {"memory_s", bound->memory},
         {"of_bound", totals.step > 0 ? Json(bound->seconds() / totals.step) : Json()}});
  }
  const bool predicted = is_predicted(record);
  if (!predicted) {
    add_tracing(trace, totals, findings);
  } else if (const double floor = least_seconds(trace, trace.peak_flops, trace.bandwidth);
             record.prediction.from == "data sheet" && floor > 0 && totals.step > 0) {
    add(findings, "launch_starts", pass_of(trace),
        {{"floor_s", floor}, {"share", 1 - floor / totals.step}, {"launches", trace.launch_count()}});
  }
  add_device(trace, findings);
  add_communication(record.communication, findings);
  add_softmax(trace, findings);
  for (Finding& finding : findings) {
    if (predicted) finding.trust = FindingTrust::kPredicted;
    if (!predicted && is_disturbed(trace)) finding.trust = FindingTrust::kRough;
  }
  return findings;
}

std::optional<Finding> top_kernel(const std::string& pass, const StepTrace& trace) {
  const std::vector<LaunchSum> sums = sum_launches(trace, kernel_of);
  const double whole = totals_of(trace).step;
  if (sums.empty() || whole <= 0) return std::nullopt;
  const LaunchSum top = largest_first(sums).front();
  Json values{{"kernel", top.key}, {"total_s", top.total}, {"share", top.total / whole}, {"calls", top.calls}};
  for (const LaunchSum& sum : sum_launches(trace, class_of)) {
    if (sum.key != kProductClass) continue;
    values["products_share"] = sum.total / whole;
    values["products_calls"] = sum.calls;
  }
  return Finding{.kind = "top_kernel", .subject = pass, .values = std::move(values)};
}

std::vector<ComparedPart> compared_parts(const StepTrace& a, const StepTrace& b, const LaunchKey& key,
                                         const LaunchTest& test) {
  const bool are_measured = is_measured(a) && is_measured(b);
  std::vector<LaunchSum> of_b = sum_launches(b, key, test);
  std::vector<ComparedPart> parts;
  for (const LaunchSum& sum : sum_launches(a, key, test)) {
    const auto match = std::ranges::find(of_b, sum.key, &LaunchSum::key);
    const bool has_match = match != of_b.end();
    parts.push_back(compared(sum.key, sum.by_step, has_match ? match->by_step : std::vector<double>(), are_measured));
    if (has_match) of_b.erase(match);
  }
  for (const LaunchSum& sum : of_b) parts.push_back(compared(sum.key, {}, sum.by_step, are_measured));
  std::ranges::stable_sort(parts, std::greater{}, &ComparedPart::saved);
  ComparedPart whole = compared("step", whole_steps(a), whole_steps(b), are_measured);
  ComparedPart residue = compared("residue", residues(a), residues(b), are_measured);
  // The launches of a predicted step add up to the step, except for rounding.
  const auto is_rounding = [](std::optional<double> part, std::optional<double> step) {
    constexpr double kRounding = 1e-9;
    return std::abs(part.value_or(0)) <= kRounding * step.value_or(0);
  };
  const bool has_residue = !is_rounding(residue.a, whole.a) || !is_rounding(residue.b, whole.b);
  if (!test && has_residue) parts.push_back(std::move(residue));
  parts.push_back(std::move(whole));
  return parts;
}

Finding cast_cost(const ComparedProfile& a, const ComparedProfile& b) {
  const auto casts_of = [](const StepTrace& trace) {
    return mean_of_steps(
        seconds_by_step(trace, [](const TraceLaunch& launch) { return launch.work_class == kCastClass; }));
  };
  const bool is_turned = casts_of(*a.trace) > casts_of(*b.trace);
  const ComparedProfile& from = is_turned ? b : a;
  const ComparedProfile& to = is_turned ? a : b;
  const double casts = casts_of(*to.trace);
  const bool are_measured = is_measured(*a.trace) && is_measured(*b.trace);
  const ComparedPart whole = compared("step", whole_steps(*from.trace), whole_steps(*to.trace), are_measured);
  Json values{{"from", from.title},
              {"to", to.title},
              {"casts_s", casts},
              {"cast_share", whole.b && *whole.b > 0 ? Json(casts / *whole.b) : Json(nullptr)},
              {"from_s", or_null(whole.a)},
              {"to_s", or_null(whole.b)},
              {"speedup", or_null(whole.ratio)}};
  add_interval(values, "speedup", whole.interval);
  return {.kind = "cast_cost", .subject = to.point, .values = std::move(values)};
}

}  // namespace laptime
