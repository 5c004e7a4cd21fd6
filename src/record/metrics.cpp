// The metric table. Times are those of the pass that was asked for, `time.PASS` below.
#include "record/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/json.h"

namespace laptime {
namespace {

using Figure = std::optional<double>;

Figure known(double value) { return std::isfinite(value) ? Figure(value) : std::nullopt; }
Figure known(const std::optional<double>& value) { return value ? known(*value) : std::nullopt; }
Figure known(const std::optional<int64_t>& value) { return value ? Figure(static_cast<double>(*value)) : std::nullopt; }

template <auto Member>
Figure of_time(const Record& record) {
  const TimeStats* time = record.main_time();
  return time != nullptr && time->count > 0 ? known(time->*Member) : std::nullopt;
}

// Of samples: a predicted time has no spread and no count.
template <auto Member>
Figure of_samples(const Record& record) {
  return is_predicted(record) ? std::nullopt : of_time<Member>(record);
}

Figure count_of_time(const Record& record) {
  const TimeStats* time = record.main_time();
  return time != nullptr && !is_predicted(record) ? Figure(static_cast<double>(time->count)) : std::nullopt;
}

Figure median_of(const Record& record, const char* phase) {
  const auto found = record.time.find(phase);
  return found != record.time.end() && found->second.count > 0 ? known(found->second.median) : std::nullopt;
}

Figure difference(const std::optional<int64_t>& after, const std::optional<int64_t>& before) {
  return after && before ? Figure(static_cast<double>(*after - *before)) : std::nullopt;
}

Figure ratio(Figure a, Figure b) { return a && b && *b != 0 ? known(*a / *b) : std::nullopt; }

Figure predicted_time(const Record& record) {
  const Json& config = record.config.json();
  const auto pass = config.find("pass");
  if (pass == nullptr || !pass->is_string()) return std::nullopt;
  const auto found = record.prediction.time.find(pass->get<std::string>());
  return found == record.prediction.time.end() ? std::nullopt : known(found->second);
}

Figure residue_share(const Record& record) {
  for (const PhaseShare& phase : record.phases) {
    if (phase.phase == "residue") return known(phase.share);
  }
  return std::nullopt;
}

constexpr std::array kMetrics{
    Metric{.tag = "median",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "median time of a sample",
           .formula = "time.PASS.median",
           .read = of_time<&TimeStats::median>},
    Metric{.tag = "mean",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "mean time of a sample",
           .formula = "time.PASS.mean",
           .read = of_time<&TimeStats::mean>},
    Metric{.tag = "std",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "standard deviation of the sample (divided by count - 1)",
           .formula = "time.PASS.std",
           .read = of_samples<&TimeStats::std>},
    Metric{.tag = "std_population",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "standard deviation of the population (divided by count)",
           .formula = "time.PASS.std_population",
           .read = of_samples<&TimeStats::std_population>},
    Metric{.tag = "min",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "shortest sample",
           .formula = "time.PASS.min",
           .read = of_time<&TimeStats::min>},
    Metric{.tag = "max",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "longest sample",
           .formula = "time.PASS.max",
           .read = of_time<&TimeStats::max>},
    Metric{.tag = "total",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "sum of all samples",
           .formula = "time.PASS.total",
           .read = of_time<&TimeStats::total>},
    Metric{.tag = "count", .description = "number of samples", .formula = "time.PASS.count", .read = count_of_time},
    Metric{.tag = "mad",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "median absolute deviation from the median",
           .formula = "time.PASS.mad",
           .read = of_samples<&TimeStats::mad>},
    Metric{.tag = "p10",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "10th percentile of the samples",
           .formula = "time.PASS.p10",
           .read = of_samples<&TimeStats::p10>},
    Metric{.tag = "p90",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "90th percentile of the samples",
           .formula = "time.PASS.p90",
           .read = of_samples<&TimeStats::p90>},
    Metric{.tag = "ci_low",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "lower end of the 95 % interval of the median",
           .formula = "time.PASS.ci_low",
           .read = of_samples<&TimeStats::ci_low>},
    Metric{.tag = "ci_high",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "upper end of the 95 % interval of the median",
           .formula = "time.PASS.ci_high",
           .read = of_samples<&TimeStats::ci_high>},
    Metric{
        .tag = "uncertainty",
        .unit = Unit::kFraction,
        .better = Better::kLower,
        .description = "half the 95 % interval of the median over it (the larger side)",
        .formula = "larger distance of time.PASS.ci_low and time.PASS.ci_high from time.PASS.median / time.PASS.median",
        .read = [](const Record& r) -> Figure {
          const Figure low = of_samples<&TimeStats::ci_low>(r);
          const Figure high = of_samples<&TimeStats::ci_high>(r);
          const Figure median = of_time<&TimeStats::median>(r);
          if (!low || !high || !median) return std::nullopt;
          return ratio(std::max(*high - *median, *median - *low), median);
        }},
    Metric{.tag = "noise",
           .unit = Unit::kFraction,
           .better = Better::kLower,
           .description = "standard deviation over mean",
           .formula = "time.PASS.std / time.PASS.mean",
           .read = [](const Record& r) { return ratio(of_samples<&TimeStats::std>(r), of_time<&TimeStats::mean>(r)); }},
    Metric{.tag = "host_time",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "median time of a whole step on the host's clock, where the device has its own",
           .formula = "host.median",
           .read = [](const Record& r) { return known(r.host.median); }},
    Metric{.tag = "host_difference",
           .unit = Unit::kFraction,
           .better = Better::kNeither,
           .description = "host's over device's median time of a whole step, minus 1",
           .formula = "host.difference",
           .read = [](const Record& r) { return known(r.host.difference); }},
    Metric{.tag = "forward_time",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "median time of the forward phase, timed in place",
           .formula = "time.forward.median",
           .read = [](const Record& r) { return median_of(r, "forward"); }},
    Metric{.tag = "backward_time",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "median time of the backward phase, timed in place",
           .formula = "time.backward.median",
           .read = [](const Record& r) { return median_of(r, "backward"); }},
    Metric{.tag = "optimizer_time",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "median time of the optimizer phase, timed in place",
           .formula = "time.optimizer.median",
           .read = [](const Record& r) { return median_of(r, "optimizer"); }},
    Metric{.tag = "residue",
           .unit = Unit::kFraction,
           .better = Better::kLower,
           .description = "share of a sample outside all of its phases",
           .formula = "phases[phase = residue].share",
           .read = residue_share},
    Metric{.tag = "tokens_per_second",
           .unit = Unit::kTokensPerSecond,
           .better = Better::kHigher,
           .description = "tokens of a batch over the median time of a sample",
           .formula = "config.batch_size * context / time.PASS.median",
           .read = [](const Record& r) { return known(r.tokens_per_second); }},
    Metric{.tag = "model_flops_per_second",
           .unit = Unit::kFlopsPerSecond,
           .better = Better::kHigher,
           .description = "model FLOPs of the pass (full attention, recomputing not counted) over its median time",
           .formula = "flops.model_flops_per_second",
           .read = [](const Record& r) { return known(r.flops.model_flops_per_second); }},
    Metric{.tag = "mfu_measured",
           .unit = Unit::kFraction,
           .better = Better::kHigher,
           .description = "model FLOPs per second over the peak measured on this machine",
           .formula = "flops.model_flops_per_second / flops.peak_measured",
           .read = [](const Record& r) { return known(r.flops.mfu_measured); }},
    Metric{.tag = "mfu_datasheet",
           .unit = Unit::kFraction,
           .better = Better::kHigher,
           .description = "model FLOPs per second over the peak in the machine's data sheet",
           .formula = "flops.model_flops_per_second / flops.peak_datasheet",
           .read = [](const Record& r) { return known(r.flops.mfu_datasheet); }},
    Metric{.tag = "predicted_time",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "time of a sample as predicted before the run, from launches measured earlier",
           .formula = "prediction.time.PASS",
           .read = predicted_time},
    Metric{.tag = "prediction_error",
           .unit = Unit::kFraction,
           .description = "predicted over measured median time, minus 1",
           .formula = "prediction.time.PASS / time.PASS.median - 1",
           .read =
               [](const Record& r) {
                 const Figure quotient = ratio(predicted_time(r), of_time<&TimeStats::median>(r));
                 return quotient ? known(*quotient - 1) : std::nullopt;
               }},
    Metric{.tag = "peak_memory",
           .unit = Unit::kBytes,
           .better = Better::kLower,
           .description = "most bytes of tensors alive at once",
           .formula = "memory.peak_bytes",
           .read = [](const Record& r) { return known(r.memory.peak_bytes); }},
    Metric{.tag = "predicted_peak_memory",
           .unit = Unit::kBytes,
           .better = Better::kLower,
           .description = "the same, known from the plan before anything ran",
           .formula = "memory.predicted_peak_bytes",
           .read = [](const Record& r) { return known(r.memory.predicted_peak_bytes); }},
    Metric{.tag = "peak_error",
           .unit = Unit::kFraction,
           .description = "predicted over held peak, minus 1",
           .formula = "memory.predicted_peak_bytes / memory.peak_bytes - 1",
           .read =
               [](const Record& r) {
                 const Figure quotient = ratio(known(r.memory.predicted_peak_bytes), known(r.memory.peak_bytes));
                 return quotient ? known(*quotient - 1) : std::nullopt;
               }},
    Metric{.tag = "requested_memory",
           .unit = Unit::kBytes,
           .better = Better::kLower,
           .description = "most bytes that tensors asked for at once, without alignment, gaps and pages",
           .formula = "memory.requested_bytes",
           .read = [](const Record& r) { return known(r.memory.requested_bytes); }},
    Metric{.tag = "reserved_memory",
           .unit = Unit::kBytes,
           .better = Better::kLower,
           .description = "most bytes of the device taken for them: blocks, or what an allocator's pool holds",
           .formula = "memory.reserved_bytes",
           .read = [](const Record& r) { return known(r.memory.reserved_bytes); }},
    Metric{.tag = "resident_memory",
           .unit = Unit::kBytes,
           .better = Better::kLower,
           .description = "held before a step begins: weights, optimizer states, inputs, constants",
           .formula = "memory.resident_bytes",
           .read = [](const Record& r) { return known(r.memory.resident_bytes); }},
    Metric{.tag = "forward_memory",
           .unit = Unit::kBytes,
           .better = Better::kLower,
           .description = "what forward adds and leaves behind: results, and what backward needs",
           .formula = "memory.after_forward_bytes - memory.resident_bytes",
           .read = [](const Record& r) { return difference(r.memory.after_forward_bytes, r.memory.resident_bytes); }},
    Metric{.tag = "backward_memory",
           .unit = Unit::kBytes,
           .better = Better::kLower,
           .description = "what backward adds: gradients, less what it lets go of (may be negative)",
           .formula = "memory.after_backward_bytes - memory.after_forward_bytes",
           .read =
               [](const Record& r) { return difference(r.memory.after_backward_bytes, r.memory.after_forward_bytes); }},
    Metric{.tag = "peak_rss",
           .unit = Unit::kBytes,
           .better = Better::kLower,
           .description = "most resident bytes of the process",
           .formula = "memory.peak_rss_bytes",
           .read = [](const Record& r) { return known(r.memory.peak_rss_bytes); }},
    Metric{.tag = "loss_first",
           .unit = Unit::kNats,
           .better = Better::kNeither,
           .description = "loss of the first step",
           .formula = "loss.values[0]",
           .read = [](const Record& r) { return r.loss.values.empty() ? Figure() : known(r.loss.values.front()); }},
    Metric{.tag = "loss_last",
           .unit = Unit::kNats,
           .better = Better::kLower,
           .description = "loss of the last step",
           .formula = "loss.values[last]",
           .read = [](const Record& r) { return r.loss.values.empty() ? Figure() : known(r.loss.values.back()); }},
    Metric{.tag = "loss_scale_last",
           .better = Better::kNeither,
           .description = "loss scale after the last step",
           .formula = "loss_scaling.last",
           .read = [](const Record& r) { return known(r.loss_scaling.last); }},
    Metric{.tag = "skipped_steps",
           .better = Better::kLower,
           .description = "steps without an update, because a gradient of the scaled loss overflowed",
           .formula = "loss_scaling.skipped_steps",
           .read = [](const Record& r) { return known(r.loss_scaling.skipped_steps); }},
    Metric{.tag = "setup_time",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "time before the first step: plan, kernel trials, memory, weights, data",
           .formula = "setup.total",
           .read = [](const Record& r) { return known(r.setup.total); }},
    Metric{.tag = "transient_excess",
           .unit = Unit::kSeconds,
           .better = Better::kLower,
           .description = "time of the first steps above as many steady ones",
           .formula = "transient.excess",
           .read = [](const Record& r) { return known(r.transient.excess); }},
};

}  // namespace

std::string_view name_of(Better better) {
  switch (better) {
    case Better::kLower: return "lower";
    case Better::kHigher: return "higher";
    case Better::kNeither: return "-";
  }
  return "-";
}

bool is_predicted(const Record& record) {
  return record.verdict.rating == kPredicted || record.config.text("device").starts_with("roofline:");
}

std::string system_of(const Record& record) {
  if (std::string system = record.config.text("system"); !system.empty()) return system;
  constexpr std::string_view kTag = "/system:";
  const size_t tag = record.name.find(kTag);
  if (tag == std::string::npos) return "";
  const std::string rest = record.name.substr(tag + kTag.size());
  return rest.substr(0, rest.find('/'));
}

std::span<const Metric> metrics() { return kMetrics; }

const Metric* find_metric(std::string_view tag) {
  for (const Metric& metric : kMetrics) {
    if (metric.tag == tag) return &metric;
  }
  return nullptr;
}

}  // namespace laptime
