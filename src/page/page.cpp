// Writes the JSON block of a page. Keys include their units; numbers have six significant digits.
#include "page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <set>

#include "analysis/finding.h"
#include "analysis/memory_ledger.h"
#include "base/ranges.h"
#include "distribution/verdict.h"
#include "page/points.h"
#include "page/sentences.h"
#include "record/metrics.h"
#include "report/columns.h"
#include "report/names.h"
#include "report/point_text.h"
#include "report/published.h"

namespace laptime {
namespace {

// Desired total number of columns of all memory timelines, which make up most of a page with many traces.
constexpr size_t kAllColumns = 4800;
constexpr size_t kMostColumns = 300;
constexpr size_t kFewestColumns = 60;
constexpr size_t kMostConfigurations = 64;  // a page with more points omits their complete configurations

// Keeps only as many digits as a chart can show, so that the JSON stays short.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json number(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

Json numbers(const std::vector<double>& values) {
  return mapped(values, [](double value) { return number(value); });
}

// A prediction has no samples, so it has only a time.
Json time_json(const Record& record, const TimeStats& time) {
  if (is_predicted(record)) return {{"median_s", number(time.median)}};
  return {{"median_s", number(time.median)},   {"ci_low_s", number(time.ci_low)},
          {"ci_high_s", number(time.ci_high)}, {"mean_s", number(time.mean)},
          {"std_s", number(time.std)},         {"min_s", number(time.min)},
          {"max_s", number(time.max)},         {"samples", time.count}};
}

// The time that was predicted before a measured run. None if less than half of it came from measured launches, as in
// the first run with a dtype or with new shapes.
std::optional<double> forecast_of(const Record& record) {
  constexpr double kLeastMeasured = 0.5;
  if (is_predicted(record) || record.prediction.measured_share.value_or(0) < kLeastMeasured) return {};
  return find_metric("predicted_time")->read(record);
}

Json phases_json(const Record& record) {
  Json phases = Json::array();
  for (const std::string& phase : phases_of(record)) {
    const TimeStats* const time = time_of(record, phase);
    if (time == nullptr) continue;
    Json json = time_json(record, *time);
    json["phase"] = phase;
    phases.push_back(std::move(json));
  }
  return phases;
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
  const auto section_json = [](const Section& section) {
    return Json{{"title", section.title}, {"first", section.first}, {"last", section.last}};
  };
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
          {"sections", mapped(ledger.sections(), section_json)},
          {"peak_launch", ledger.peak_launch()},
          {"peak_bytes", ledger.peak().total()},
          {"saved_bytes", saved_bytes_of(trace).total},
          {"largest", std::move(largest)}};
}

// The kernels of a trace. Within a phase and class, kernels that take less than half a percent of the step share a row.
Json kernels_json(const TraceSums& sums) {
  constexpr double kSmall = 0.005;
  std::vector<std::pair<LaunchSum, size_t>> rows;  // a row, and the number of kernels that share it
  bool is_last_small = false;
  for (const LaunchSum& kernel : sums.kernels) {
    const bool is_small = kernel.total < kSmall * sums.step;
    if (is_small && is_last_small && class_key(kernel.first) == class_key(rows.back().first.first)) {
      auto& [shared, count] = rows.back();
      shared.key = fmt::format("{} more", ++count);
      shared.calls += kernel.calls;
      shared.total += kernel.total;
      shared.floor += kernel.floor;
      shared.compute_floor += kernel.compute_floor;
      shared.memory_floor += kernel.memory_floor;
    } else {
      rows.emplace_back(kernel, 1);
    }
    is_last_small = is_small;
  }
  Json kernels = Json::array();
  for (const auto& [kernel, count] : rows) {
    kernels.push_back({{"phase", kernel.first.phase},
                       {"class", kernel.first.work_class},
                       {"kernel", kernel.key},
                       {"calls", kernel.calls},
                       {"seconds_s", number(kernel.total)},
                       {"share", number(kernel.total / sums.step)},
                       {"of_bound", number(kernel.of_roofline())},
                       {"bound", kernel.bound()},
                       {"kernels", count}});
  }
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

// `sums` contains the sums of the point's trace; null if the point has no trace.
Json point_json(const PagePoints& points, const PagePoint& point, const TraceSums* sums) {
  const Record& record = *point.record;
  const TimeStats* const time = point.time();
  Json json{{"name", point.name},
            {"full_name", point.full_name},
            {"record", record.name},
            {"values", Json::object()},
            {"group", point.group},
            {"status", name_of(record.status)},
            {"reason", record.reason},
            {"pass", record.config.text("pass")},
            {"machine", marked_machine_of(record)},
            {"created", record.created},
            {"predicted", is_predicted(record)},
            {"time", nullptr},
            {"phases", phases_json(record)},
            {"tokens_per_s", number(record.tokens_per_second)},
            {"of_peak", number(record.flops.mfu_measured ? record.flops.mfu_measured : record.flops.mfu_datasheet)},
            {"peak_bytes", or_null(peak_bytes(record, sums))},
            {"peak_parts_bytes", Json::object()},
            {"steps_per_sample", record.stopping.steps_per_sample.value_or(1)},
            {"predicted_s", number(forecast_of(record))},
            {"arithmetic", record.math_mode},
            {"verdict", record.verdict.rating},
            {"reasons", record.verdict.reasons},
            {"context", nullptr},
            {"trace", nullptr}};
  for (const PageAxis& axis : points.axes) {
    if (const std::string* const value = at_key(point.values, axis.key)) json["values"][axis.key] = *value;
  }
  for (const auto& [name, bytes] : peak_parts(record, sums)) json["peak_parts_bytes"][name] = bytes;
  if (const Json* const context = record.config.json().find("context_length")) json["context"] = *context;
  if (time != nullptr) {
    json["time"] = time_json(record, *time);
    json["time"]["error"] = number(uncertainty_of(record));
    json["samples_s"] = is_predicted(record) ? Json::array() : numbers(time->samples);
    json["warmup_s"] = is_predicted(record) ? Json::array() : numbers(record.transient.warmup);
  }
  if (const std::optional<Speedup> ratio = points.against_base(point)) {
    json["ratio"] = {{"times_as_fast", number(ratio->value)},
                     {"low", number(ratio->interval.low)},
                     {"high", number(ratio->interval.high)},
                     {"text", speedup_text(ratio)}};
  }
  json["sentences"] = {{"time", time_sentence(points, point)},
                       {"training", training_sentence(points, point)},
                       {"work", sums != nullptr ? work_sentence(*sums) : ""},
                       {"memory", memory_sentence(point, sums)},
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

// Published times for work that is also on the page, each compared with the page's fastest point for that work.
Json published_json(const PagePoints& points) {
  Json rows = Json::array();
  std::set<const PublishedFigure*> known;
  for (const PageGroup& group : points.groups) {
    if (!group.fastest || !group.is_one_work) continue;
    const PagePoint& point = points[*group.fastest];
    for (const PublishedFigure* const figure : published_times_of(*point.record)) {
      if (!known.insert(figure).second) continue;
      rows.push_back({{"pass", figure->pass},
                      {"context", or_null(figure->context_length)},
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

Json axis_json(const PageAxis& axis) { return {{"key", axis.key}, {"title", axis.title}, {"values", axis.values}}; }

Json group_json(const PageGroup& group) {
  return {{"points", group.points},
          {"is_one_work", group.is_one_work},
          {"base", or_null(group.base)},
          {"fastest", or_null(group.fastest)}};
}

Json answer_json(const Answer& answer) { return {{"question", answer.question}, {"answer", answer.text}}; }

// The meanings of the verdicts that occur on the page.
Json verdicts_json(const PagePoints& points) {
  Json verdicts = Json::object();
  for (const StabilityWord& word : stability_words()) {
    if (std::ranges::any_of(points.all,
                            [&](const PagePoint& point) { return point.record->verdict.rating == word.name; }))
      verdicts[std::string(word.name)] = word.meaning;
  }
  return verdicts;
}

}  // namespace

Json page_data(const PageInput& input) {
  const PagePoints points(input);
  const auto count = std::ranges::count_if(points.all, [](const PagePoint& point) { return point.trace != nullptr; });
  const size_t columns =
      std::clamp(kAllColumns / std::max<size_t>(1, static_cast<size_t>(count)), kFewestColumns, kMostColumns);
  Json records = Json::array();
  Json traces = Json::array();
  TrustLine trust;
  for (const PagePoint& point : points.all) {
    trust.add(*point.record);
    const auto sums = point.trace == nullptr ? nullptr : std::make_unique<TraceSums>(point);
    Json json = point_json(points, point, sums.get());
    if (points.all.size() <= kMostConfigurations) json["config"] = point.record->config.json();
    if (sums) {
      json["trace"] = traces.size();
      traces.push_back(trace_json(*sums, columns));
    }
    records.push_back(std::move(json));
  }
  return {{"title", page_title(points)},
          {"headline", page_headline(points)},
          {"doubt", trust.line()},
          {"selected", points.headline},
          {"axes", mapped(points.axes, axis_json)},
          {"groups", mapped(points.groups, group_json)},
          {"points", std::move(records)},
          {"traces", std::move(traces)},
          {"verdicts", verdicts_json(points)},
          {"answers", mapped(answer_questions(points), answer_json)},
          {"published", published_json(points)},
          {"program", input.records.back().binary.version + " " + input.records.back().binary.commit}};
}

std::string page_html(const PageInput& input) { return filled_page("page.js", page_data(input)); }

}  // namespace laptime
