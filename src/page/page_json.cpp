// Writes points, traces and published times as JSON.
#include "page/page_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "analysis/memory_tensors.h"
#include "base/json.h"
#include "page/sentences.h"
#include "record/metrics.h"
#include "report/published.h"

namespace laptime {
namespace {

// Keeps only as many digits as a chart can show, so that the JSON stays short.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

Json numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(number(value));
  return json;
}

// A prediction has no samples, so it has only a time.
Json time_json(const Record& record, const TimeStats& time) {
  if (is_predicted(record)) return {{"median_s", number(time.median)}};
  return {{"median_s", number(time.median)},   {"ci_low_s", number(time.ci_low)},
          {"ci_high_s", number(time.ci_high)}, {"mean_s", number(time.mean)},
          {"std_s", number(time.std)},         {"min_s", number(time.min)},
          {"max_s", number(time.max)},         {"samples", time.count}};
}

// The point's values on the axes of the page.
Json values_json(const PagePoints& points, const PagePoint& point) {
  Json values = Json::object();
  for (const PageAxis& axis : points.axes()) {
    if (const auto value = point.values.find(axis.key); value != point.values.end()) values[axis.key] = value->second;
  }
  return values;
}

// The phases timed within the pass, in the order of a step.
Json phases_json(const Record& record) {
  Json phases = Json::array();
  std::vector<std::string> names{"inference", "forward", "backward", "optimizer"};
  for (const PhaseShare& phase : record.phases) {  // phases of another program's step, such as "data"
    if (std::find(names.begin(), names.end(), phase.phase) == names.end()) names.push_back(phase.phase);
  }
  for (const std::string& phase : names) {
    const auto found = record.time.find(phase);
    if (found == record.time.end() || found->second.count == 0) continue;
    Json json = time_json(record, found->second);
    json["phase"] = phase;
    phases.push_back(std::move(json));
  }
  return phases;
}

std::optional<double> predicted_seconds(const Record& record) {
  const auto predicted = record.prediction.time.find(record.config.text("pass"));
  if (is_predicted(record) || predicted == record.prediction.time.end() || predicted->second <= 0) return std::nullopt;
  return predicted->second;
}

Json peak_parts_json(const Record& record, const TraceSums* sums) {
  Json parts = Json::object();
  for (const auto& [name, bytes] : peak_parts(record, sums)) parts[name] = bytes;
  return parts;
}

Json peak_bytes_json(const Record& record, const TraceSums* sums) {
  const std::optional<int64_t> bytes = peak_bytes(record, sums);
  return bytes ? Json(*bytes) : Json(nullptr);
}

Json memory_json(const TraceSums& sums, size_t columns) {
  const MemoryLedger& ledger = sums.ledger;
  const StepTrace& trace = *sums.point->trace;
  std::vector<size_t> launches = ledger.most_held(std::min(columns, ledger.launches()));
  Json held = Json::object();
  for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
    Json bytes = Json::array();
    bool is_held = false;
    for (const size_t launch : launches) {
      bytes.push_back(ledger.held(launch)[category_at(i)]);
      is_held = is_held || ledger.held(launch)[category_at(i)] > 0;
    }
    if (is_held) held[std::string(title_of(category_at(i)))] = std::move(bytes);
  }
  Json sections = Json::array();
  for (const Section& section : ledger.sections())
    sections.push_back({{"title", section.title}, {"first", section.first}, {"last", section.last}});
  constexpr size_t kLargest = 10;
  Json largest = Json::array();
  for (const LargeTensors& tensors : largest_tensors(trace, ledger.peak_launch(), kLargest)) {
    largest.push_back({{"tensor", title_of(tensors)},
                       {"held_for", title_of(category_of(tensors.first))},
                       {"shape", tensors.first.shape},
                       {"dtype", tensors.first.dtype},
                       {"bytes", tensors.first.bytes},
                       {"count", tensors.buffers.size()},
                       {"alive_at_peak", tensors.alive_at_peak}});
  }
  return {{"launches", launches},
          {"launch_count", ledger.launches()},
          {"held_bytes", std::move(held)},
          {"sections", std::move(sections)},
          {"peak_launch", ledger.peak_launch()},
          {"peak_bytes", ledger.peak().total()},
          {"saved_bytes", saved_bytes_of(trace).total},
          {"largest", std::move(largest)}};
}

// The kernels of a trace; kernels of a phase and class that take less than half a percent of the step share a row.
Json kernels_json(const TraceSums& sums) {
  constexpr double kSmall = 0.005;
  Json kernels = Json::array();
  const auto add = [&](const KernelOfPhase& kernel, size_t count) {
    kernels.push_back(
        {{"phase", kernel.phase},
         {"class", kernel.work_class},
         {"kernel", kernel.kernel},
         {"calls", kernel.calls},
         {"seconds_s", number(kernel.seconds)},
         {"share", number(kernel.seconds / sums.step)},
         {"of_bound", kernel.floor > 0 && kernel.seconds > 0 ? number(kernel.floor / kernel.seconds) : Json(nullptr)},
         {"bound", kernel.bound},
         {"kernels", count}});
  };
  KernelOfPhase small;
  size_t count = 0;
  const auto add_small = [&] {
    if (count > 0) {
      if (count > 1) small.kernel = fmt::format("{} more", count);
      add(small, count);
    }
    count = 0;
  };
  for (const KernelOfPhase& kernel : sums.kernels) {
    if (count > 0 && (kernel.phase != small.phase || kernel.work_class != small.work_class)) add_small();
    if (kernel.seconds >= kSmall * sums.step) {
      add(kernel, 1);
      continue;
    }
    if (count++ == 0)
      small = {.phase = kernel.phase, .work_class = kernel.work_class, .kernel = kernel.kernel, .bound = kernel.bound};
    small.calls += kernel.calls;
    small.seconds += kernel.seconds;
    small.floor += kernel.floor;
  }
  add_small();
  return kernels;
}

Json roofline_json(const TraceSums& sums) {
  const StepTrace& trace = *sums.point->trace;
  if (!trace.peak_flops || !trace.bandwidth || sums.dots.empty()) return nullptr;
  Json dots = Json::array();
  for (const LaunchSum& dot : sums.dots) {
    const double intensity = dot.flops / dot.bytes;
    const double rate = dot.flops / dot.total;
    dots.push_back({{"op", dot.first.op},
                    {"phase", dot.first.phase},
                    {"class", dot.first.work_class},
                    {"flops_per_byte", number(intensity)},
                    {"flops_per_s", number(rate)},
                    {"seconds_s", number(dot.total)},
                    {"of_roof", number(rate / std::min(*trace.peak_flops, intensity * *trace.bandwidth))}});
  }
  return {{"peak_flops_per_s", number(trace.peak_flops)},
          {"bandwidth_bytes_per_s", number(trace.bandwidth)},
          {"ops", std::move(dots)}};
}

}  // namespace

Json point_json(const PagePoints& points, const PagePoint& point, const TraceSums* sums) {
  const Record& record = *point.record;
  const TimeStats* const time = point.time();
  Json json{{"name", point.name},
            {"full_name", point.full_name},
            {"record", record.name},
            {"values", values_json(points, point)},
            {"group", point.group},
            {"status", name_of(record.status)},
            {"reason", record.reason},
            {"pass", record.config.text("pass")},
            {"machine", machine_of(record)},
            {"created", record.created},
            {"predicted", is_predicted(record)},
            {"time", nullptr},
            {"phases", phases_json(record)},
            {"tokens_per_s", number(record.tokens_per_second)},
            {"of_peak", number(record.flops.mfu_measured ? record.flops.mfu_measured : record.flops.mfu_datasheet)},
            {"peak_bytes", peak_bytes_json(record, sums)},
            {"peak_parts_bytes", peak_parts_json(record, sums)},
            {"predicted_s", number(predicted_seconds(record))},
            {"arithmetic", record.math_mode},
            {"verdict", record.verdict.rating},
            {"reasons", record.verdict.reasons},
            {"context", nullptr},
            {"trace", nullptr}};
  if (const auto context = record.config.json().find("context_length"); context != nullptr) json["context"] = *context;
  if (time != nullptr) {
    json["time"] = time_json(record, *time);
    json["time"]["error"] = number(error_of(record, *time));
    json["samples_s"] = is_predicted(record) ? Json::array() : numbers(time->samples);
    json["warmup_s"] = is_predicted(record) ? Json::array() : numbers(record.transient.warmup);
  }
  if (const std::optional<TimeRatio> ratio = points.against_base(point)) {
    json["ratio"] = {{"times_as_fast", number(ratio->value)},
                     {"low", ratio->interval ? number(ratio->interval->low) : Json(nullptr)},
                     {"high", ratio->interval ? number(ratio->interval->high) : Json(nullptr)},
                     {"text", ratio_text(*ratio)}};
  }
  json["sentences"] = {{"time", time_sentence(points, point)},
                       {"training", training_sentence(points, point)},
                       {"work", sums != nullptr ? work_sentence(*sums) : ""},
                       {"memory", memory_sentence(points, point, sums)},
                       {"roofline", sums != nullptr ? bound_sentence(*sums) : ""},
                       {"trust", trust_sentence(point)}};
  return json;
}

Json trace_json(const TraceSums& sums, size_t columns) {
  const bool is_timed = sums.step > 0;
  return {{"step_s", number(sums.step)},
          {"traced_s", number(sums.traced)},
          {"between_launches_s", number(sums.residue)},
          {"kernels", is_timed ? kernels_json(sums) : Json::array()},
          {"memory", memory_json(sums, columns)},
          {"roofline", is_timed ? roofline_json(sums) : Json(nullptr)}};
}

Json published_json(const PagePoints& points) {
  Json rows = Json::array();
  std::set<const PublishedFigure*> known;
  for (const PageGroup& group : points.groups()) {
    if (!group.fastest || !group.is_one_work) continue;
    const PagePoint& point = points[*group.fastest];
    for (const PublishedFigure* const figure : published_times_of(*point.record)) {
      if (!known.insert(figure).second) continue;
      rows.push_back({{"pass", figure->pass},
                      {"context", figure->context_length ? Json(*figure->context_length) : Json(nullptr)},
                      {"hardware", figure->hardware},
                      {"software", figure->software},
                      {"mode", figure->mode},
                      {"arithmetic", figure->arithmetic},
                      {"seconds_s", number(figure->time_s)},
                      {"fastest_here", point.full_name},
                      {"here_s", number(point.time()->median)},
                      {"here_over_published", number(point.time()->median / *figure->time_s)},
                      {"source", figure->source}});
    }
  }
  return rows;
}

}  // namespace laptime
