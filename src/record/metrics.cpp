// The metric table. Times are those of the requested pass, `time.PASS` below.
#include "record/metrics.h"

#include <array>
#include <cmath>

namespace laptime {
namespace {

using Figure = std::optional<double>;

Figure known(double value) { return std::isfinite(value) ? Figure(value) : std::nullopt; }
Figure known(const std::optional<double>& value) { return value ? known(*value) : std::nullopt; }
Figure known(const std::optional<int64_t>& value) { return value ? Figure(static_cast<double>(*value)) : std::nullopt; }

template <auto Member>
Figure of_time(const Record& record) {
  const TimeStats* const time = time_of(record);
  return time != nullptr ? known(time->*Member) : std::nullopt;
}

// Reads a statistic of samples; none for a predicted time, which has no spread and no count.
template <auto Member>
Figure of_samples(const Record& record) {
  return is_predicted(record) ? std::nullopt : of_time<Member>(record);
}

Figure median_of(const Record& record, const char* phase) {
  const TimeStats* const time = time_of(record, phase);
  return time != nullptr ? known(time->median) : std::nullopt;
}

Figure difference(const std::optional<int64_t>& after, const std::optional<int64_t>& before) {
  return after && before ? Figure(static_cast<double>(*after - *before)) : std::nullopt;
}

Figure ratio(Figure a, Figure b) { return a && b && *b != 0 ? known(*a / *b) : std::nullopt; }

// MFU recomputed with another count of the forward FLOPs; backward always counts twice as many.
Figure mfu_of(const Record& record, Figure forward_flops) {
  const Figure mfu = record.flops.mfu_measured ? record.flops.mfu_measured : record.flops.mfu_datasheet;
  const Figure counted = ratio(forward_flops, record.flops.forward);
  return mfu && counted ? known(*mfu * *counted) : std::nullopt;
}

Figure causal_forward_flops(const FlopsUse& flops) {
  return flops.forward && flops.attention ? Figure(*flops.forward - *flops.attention / 2) : std::nullopt;
}

Figure parameter_forward_flops(const Record& record) {
  const TimeStats* const time = record.main_time();
  if (time == nullptr || !record.flops.parameters || !record.tokens_per_second) return std::nullopt;
  const double tokens = *record.tokens_per_second * time->median;
  return 2 * static_cast<double>(*record.flops.parameters) * tokens;
}

Figure less_one(Figure quotient) { return quotient ? Figure(*quotient - 1) : std::nullopt; }

Figure predicted_time(const Record& record) {
  const double* const time = at_key(record.prediction.time, record.config.text("pass"));
  return time == nullptr ? std::nullopt : known(*time);
}

Figure residue_share(const Record& record) {
  const PhaseShare* const residue = find_in(record.phases, "residue", &PhaseShare::phase);
  return residue == nullptr ? std::nullopt : known(residue->share);
}

using enum Unit;
using enum Better;

// Expands to the path of a figure and the function that reads it.
#define LAPTIME_FIELD(path) #path, [](const Record& record) { return known(record.path); }
// NOLINTNEXTLINE(bugprone-macro-parentheses): a template argument cannot be parenthesized
#define LAPTIME_TIME(reader, member) "time.PASS." #member, reader<&TimeStats::member>
#define LAPTIME_PHASE(phase) "time." #phase ".median", [](const Record& record) { return median_of(record, #phase); }

constexpr auto kMetrics = std::to_array<Metric>({
    {"median", kSeconds, kLower, "median time of a sample", LAPTIME_TIME(of_time, median)},
    {"mean", kSeconds, kLower, "mean time of a sample", LAPTIME_TIME(of_time, mean)},
    {"std", kSeconds, kLower, "standard deviation of the samples (divides by count - 1)",
     LAPTIME_TIME(of_samples, std)},
    {"std_population", kSeconds, kLower, "population standard deviation (divides by count)",
     LAPTIME_TIME(of_samples, std_population)},
    {"min", kSeconds, kLower, "shortest sample", LAPTIME_TIME(of_time, min)},
    {"max", kSeconds, kLower, "longest sample", LAPTIME_TIME(of_time, max)},
    {"total", kSeconds, kLower, "sum of all samples", LAPTIME_TIME(of_time, total)},
    {"count", kNone, kNeither, "number of samples", LAPTIME_TIME(of_samples, count)},
    {"mad", kSeconds, kLower, "median absolute deviation from the median", LAPTIME_TIME(of_samples, mad)},
    {"p10", kSeconds, kLower, "10th percentile of the samples", LAPTIME_TIME(of_samples, p10)},
    {"p90", kSeconds, kLower, "90th percentile of the samples", LAPTIME_TIME(of_samples, p90)},
    {"ci_low", kSeconds, kLower, "lower end of the 95 % interval of the median", LAPTIME_TIME(of_samples, ci_low)},
    {"ci_high", kSeconds, kLower, "upper end of the 95 % interval of the median", LAPTIME_TIME(of_samples, ci_high)},
    {"uncertainty", kFraction, kLower,
     "distance from the median to the farther end of its 95 % interval, divided by the median",
     "larger of time.PASS.median - time.PASS.ci_low and time.PASS.ci_high - time.PASS.median divided by "
     "time.PASS.median",
     [](const Record& r) {
       return of_samples<&TimeStats::median>(r) ? known(known_within(*r.main_time())) : std::nullopt;
     }},
    {"noise", kFraction, kLower, "standard deviation divided by mean", "time.PASS.std / time.PASS.mean",
     [](const Record& r) { return ratio(of_samples<&TimeStats::std>(r), of_time<&TimeStats::mean>(r)); }},
    {"host_time", kSeconds, kLower,
     "median time of a whole step on the host's clock, if the device has a separate clock", LAPTIME_FIELD(host.median)},
    {"host_difference", kFraction, kNeither, "median step time by the host's clock divided by the device's, minus 1",
     LAPTIME_FIELD(host.difference)},
    {"forward_time", kSeconds, kLower, "median time of the forward phase within a sample", LAPTIME_PHASE(forward)},
    {"backward_time", kSeconds, kLower, "median time of the backward phase within a sample", LAPTIME_PHASE(backward)},
    {"optimizer_time", kSeconds, kLower, "median time of the optimizer phase within a sample",
     LAPTIME_PHASE(optimizer)},
    {"residue", kFraction, kLower, "share of a sample outside all of its phases", "phases[phase = residue].share",
     residue_share},
    {"tokens_per_second", kTokensPerSecond, kHigher, "tokens per batch divided by the median sample time",
     "config.batch_size * context / time.PASS.median", [](const Record& r) { return known(r.tokens_per_second); }},
    {"model_flops_per_second", kFlopsPerSecond, kHigher,
     "model FLOPs of the pass (full attention, without recomputation) divided by its median time",
     LAPTIME_FIELD(flops.model_flops_per_second)},
    {"mfu_measured", kFraction, kHigher, "model FLOPs per second divided by the peak measured on this machine",
     "flops.model_flops_per_second / flops.peak_measured", [](const Record& r) { return known(r.flops.mfu_measured); }},
    {"mfu_datasheet", kFraction, kHigher, "model FLOPs per second divided by the peak from the machine's data sheet",
     "flops.model_flops_per_second / flops.peak_datasheet",
     [](const Record& r) { return known(r.flops.mfu_datasheet); }},
    {"mfu_causal", kFraction, kHigher, "mfu that counts only half of the FLOPs of attention, as for causal attention",
     "mfu * (1 - flops.attention / 2 / flops.forward)",
     [](const Record& r) { return mfu_of(r, causal_forward_flops(r.flops)); }},
    {"mfu_6n", kFraction, kHigher, "mfu by the 6N rule: six FLOPs per parameter and token of a step, without attention",
     "mfu * 2 * flops.parameters * tokens / flops.forward",
     [](const Record& r) { return mfu_of(r, parameter_forward_flops(r)); }},
    {"predicted_time", kSeconds, kLower, "sample time predicted before the run", "prediction.time.PASS",
     predicted_time},
    {"prediction_error", kFraction, kNeither, "predicted time divided by measured median time, minus 1",
     "prediction.time.PASS / time.PASS.median - 1",
     [](const Record& r) { return less_one(ratio(predicted_time(r), of_time<&TimeStats::median>(r))); }},
    {"comm_bytes", kBytes, kLower, "bytes that a rank sends to the others in a step",
     LAPTIME_FIELD(communication.bytes)},
    {"comm_time", kSeconds, kLower,
     "median time of communication between ranks, whether or not computation ran meanwhile",
     LAPTIME_FIELD(communication.seconds)},
    {"comm_exposed", kSeconds, kLower, "median time in which computation waited for communication between ranks",
     LAPTIME_FIELD(communication.exposed)},
    {"peak_memory", kBytes, kLower, "peak bytes of live tensors", LAPTIME_FIELD(memory.peak_bytes)},
    {"predicted_peak_memory", kBytes, kLower, "peak bytes of live tensors according to the plan",
     LAPTIME_FIELD(memory.predicted_peak_bytes)},
    {"peak_error", kFraction, kNeither, "predicted peak divided by actual peak, minus 1",
     "memory.predicted_peak_bytes / memory.peak_bytes - 1",
     [](const Record& r) { return less_one(ratio(known(r.memory.predicted_peak_bytes), known(r.memory.peak_bytes))); }},
    {"requested_memory", kBytes, kLower, "peak bytes requested by tensors, without alignment, gaps and page rounding",
     LAPTIME_FIELD(memory.requested_bytes)},
    {"reserved_memory", kBytes, kLower,
     "peak device memory reserved for tensors: single allocations, or an allocator's pool",
     LAPTIME_FIELD(memory.reserved_bytes)},
    {"resident_memory", kBytes, kLower,
     "memory in use before a step begins: weights, optimizer states, inputs, constants",
     LAPTIME_FIELD(memory.resident_bytes)},
    {"forward_memory", kBytes, kLower, "memory retained after forward: results, and tensors that backward needs",
     "memory.after_forward_bytes - memory.resident_bytes",
     [](const Record& r) { return difference(r.memory.after_forward_bytes, r.memory.resident_bytes); }},
    {"backward_memory", kBytes, kLower,
     "memory change over backward: gradients added minus memory freed (may be negative)",
     "memory.after_backward_bytes - memory.after_forward_bytes",
     [](const Record& r) { return difference(r.memory.after_backward_bytes, r.memory.after_forward_bytes); }},
    {"peak_rss", kBytes, kLower, "peak resident memory of the process", LAPTIME_FIELD(memory.peak_rss_bytes)},
    {"loss_first", kNats, kNeither, "loss of the first step", "loss.values[0]",
     [](const Record& r) { return r.loss.values.empty() ? Figure() : known(r.loss.values.front()); }},
    {"loss_last", kNats, kLower, "loss of the last step", "loss.values[last]",
     [](const Record& r) { return r.loss.values.empty() ? Figure() : known(r.loss.values.back()); }},
    {"loss_scale_last", kNone, kNeither, "loss scale after the last step", LAPTIME_FIELD(loss_scaling.last)},
    {"skipped_steps", kNone, kLower, "steps without an update, because a gradient of the scaled loss overflowed",
     LAPTIME_FIELD(loss_scaling.skipped_steps)},
    {"setup_time", kSeconds, kLower, "time before the first step: plan, kernel trials, memory, weights, data",
     LAPTIME_FIELD(setup.total)},
    {"placement_time", kSeconds, kLower, "time from the start of the launcher until the process of the point runs",
     LAPTIME_FIELD(setup.placement)},
    {"transient_excess", kSeconds, kLower, "time of the first steps minus the time of as many steady steps",
     LAPTIME_FIELD(transient.excess)},
});

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

const Metric* find_metric(std::string_view tag) { return find_in(kMetrics, tag, &Metric::tag); }

}  // namespace laptime
