// Sums launches, reads their columns, and computes their minimum times.
#include "analysis/launch_sums.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/ranges.h"
#include "base/words.h"

namespace laptime {
namespace {

struct LaunchColumn {
  std::string_view name;
  Json (*read)(const TraceLaunch& launch);
};

constexpr std::array kColumns{
    LaunchColumn{"phase", [](const TraceLaunch& l) { return Json(l.phase); }},
    LaunchColumn{"scope", [](const TraceLaunch& l) { return Json(l.scope); }},
    LaunchColumn{"layer", [](const TraceLaunch& l) { return l.layer < 0 ? Json(nullptr) : Json(l.layer); }},
    LaunchColumn{"part", [](const TraceLaunch& l) { return Json(l.part); }},
    LaunchColumn{"range", [](const TraceLaunch& l) { return Json(l.range); }},
    LaunchColumn{"op", [](const TraceLaunch& l) { return Json(l.op); }},
    LaunchColumn{"class", [](const TraceLaunch& l) { return Json(l.work_class); }},
    LaunchColumn{"kernel", [](const TraceLaunch& l) { return Json(l.kernel); }},
    LaunchColumn{"name", [](const TraceLaunch& l) { return Json(kernel_of(l)); }},
    LaunchColumn{"signature", [](const TraceLaunch& l) { return Json(l.signature); }},
    LaunchColumn{"flops", [](const TraceLaunch& l) { return Json(l.flops); }},
    LaunchColumn{"bytes", [](const TraceLaunch& l) { return Json(l.bytes); }},
    LaunchColumn{"recomputed", [](const TraceLaunch& l) { return Json(l.recomputed); }}};

double compute_seconds(const TraceLaunch& launch, const std::optional<double>& flops) {
  return flops && launch.work_class != kCommunicationClass ? launch.flops / *flops : 0;
}
double memory_seconds(const TraceLaunch& launch, const std::optional<double>& bandwidth) {
  return bandwidth && launch.work_class != kCommunicationClass ? static_cast<double>(launch.bytes) / *bandwidth : 0;
}

}  // namespace

std::string part_key(const TraceLaunch& launch) {
  const std::string part(launch.part);
  if (launch.layer < 0) return fmt::format("{} {}", launch.phase, part);
  return fmt::format("{} layers.*{}{}", launch.phase, part.empty() ? "" : ".", part);
}

std::string class_key(const TraceLaunch& launch) { return fmt::format("{} {}", launch.phase, launch.work_class); }

std::string class_of(const TraceLaunch& launch) { return std::string(launch.work_class); }
std::string phase_of(const TraceLaunch& launch) { return std::string(launch.phase); }
std::string kernel_of(const TraceLaunch& launch) { return fmt::format("{}:{}", launch.op, launch.kernel); }

std::vector<std::string_view> launch_columns() { return mapped(kColumns, &LaunchColumn::name); }

Json launch_column(const TraceLaunch& launch, std::string_view column) {
  for (const LaunchColumn& one : kColumns) {
    if (std::ranges::equal(one.name, column, {}, {}, lower)) return one.read(launch);
  }
  const std::vector<std::string_view> known = launch_columns();
  throw Error::format("filter: a launch has no column {}{} (columns: {})", quote(column), did_you_mean(column, known),
                      joined(known, ", "));
}

std::optional<double> LaunchSum::of_roofline() const {
  if (floor <= 0 || total <= 0) return std::nullopt;
  return floor / total;
}

std::string LaunchSum::bound() const {
  if (compute_floor <= 0 && memory_floor <= 0) return "";
  return compute_floor > memory_floor ? "compute" : "memory";
}

double least_seconds(const StepTrace& trace, const std::optional<double>& flops,
                     const std::optional<double>& bandwidth) {
  double seconds = 0;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    const TraceLaunch launch = trace.launch(i);
    seconds += std::max(compute_seconds(launch, flops), memory_seconds(launch, bandwidth));
  }
  return seconds;
}

std::vector<LaunchSum> sum_launches(const StepTrace& trace, const LaunchKey& key, const LaunchTest& test) {
  std::vector<LaunchSum> sums;
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < trace.launch_count(); ++i) {
    const TraceLaunch launch = trace.launch(i);
    if (test && !test(launch)) continue;
    const std::string name = key(launch);
    const auto [known, is_new] = index.emplace(name, sums.size());
    if (is_new) sums.push_back({.key = name, .first = launch, .by_step = std::vector<double>(trace.steps.size())});
    LaunchSum& sum = sums[known->second];
    const double compute = compute_seconds(launch, trace.peak_flops);
    const double memory = memory_seconds(launch, trace.bandwidth);
    const auto bytes = static_cast<double>(launch.bytes);
    ++sum.calls;
    sum.total += trace.mean_seconds(i);
    sum.flops += launch.flops;
    sum.bytes += bytes;
    if (trace.cache_bytes && launch.bytes > *trace.cache_bytes) sum.uncached_bytes += bytes;
    sum.compute_floor += compute;
    sum.memory_floor += memory;
    sum.floor += std::max(compute, memory);
    for (size_t step = 0; step < trace.steps.size(); ++step) {
      sum.instances.push_back(static_cast<double>(trace.steps[step].launches[i]) * 1e-9);
      sum.by_step[step] += sum.instances.back();
    }
  }
  return sums;
}

std::vector<LaunchSum> largest_first(std::vector<LaunchSum> sums) {
  std::ranges::stable_sort(sums, std::greater{}, &LaunchSum::total);
  return sums;
}

std::vector<double> seconds_by_step(const StepTrace& trace, const LaunchTest& test) {
  const auto together = [](const TraceLaunch&) { return std::string(); };
  const std::vector<LaunchSum> sums = sum_launches(trace, together, test);
  return sums.empty() ? std::vector<double>(trace.steps.size()) : sums.front().by_step;
}

std::vector<double> whole_steps(const StepTrace& trace) { return mapped(trace.steps, &TracedStep::total); }

std::string pass_of(const StepTrace& trace) {
  std::set<std::string_view> phases;
  for (size_t i = 0; i < trace.launch_count(); ++i) phases.insert(trace.launch(i).phase);
  const bool has_forward = phases.erase("forward") > 0;
  const bool has_backward = phases.erase("backward") > 0;
  if (!phases.empty() || !(has_forward || has_backward)) return "step";
  if (has_forward && has_backward) return "forward and backward pass";
  return has_forward ? "forward pass" : "backward pass";
}

StepTotals totals_of(const StepTrace& trace) {
  StepTotals totals;
  for (const TracedStep& step : trace.steps) {
    totals.step += step.total;
    totals.launches +=
        static_cast<double>(std::accumulate(step.launches.begin(), step.launches.end(), int64_t{0})) * 1e-9;
  }
  const double count = std::max(1.0, static_cast<double>(trace.steps.size()));
  totals.step /= count;
  totals.launches /= count;
  return totals;
}

}  // namespace laptime
