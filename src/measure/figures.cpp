// Computes statistics, rates, verdict and status of a record from its samples.
#include "measure/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "base/build_id.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/units.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "distribution/median.h"
#include "distribution/steady_state.h"
#include "distribution/verdict.h"
#include "measure/reported_time.h"
#include "prepare/time_forecast.h"

namespace laptime {
namespace {

constexpr double kClocksAgree = 0.02;

// Different arithmetic changes the speed by a factor of two or more; clocks and noise change it by less than this.
constexpr double kAnotherArithmetic = 1.5;

// If a run exceeds the peak, the peak is measured again (measure/limits.h). If the run still exceeds it, the FLOP count
// or the clock is the likely cause.
constexpr const char* kAbovePeak =
    "the FLOP count includes masked attention, which kernels skip, or the clock was higher than when the peak was "
    "measured";
constexpr double kImpossible = 3;  // masked attention accounts for less than a factor of 2
constexpr const char* kFarAbovePeak =
    "no program is that fast: check that times are nanoseconds of whole steps, and the model and batch";

// The device also uses energy between steps. Energy per step is known only if steps fill this share of the time.
constexpr double kEnergyInSteps = 0.95;

// True if nearly all of the energy used from the end of step `first` - 1 to the end of step `end` - 1 belongs to steps.
bool knows_energy(const Measurement& run, size_t first, size_t end) {
  Seconds busy{};
  for (size_t i = first; i < end; ++i) busy += run.sampling.steps[i].total();
  return busy.count() >= kShortestEnergySeconds && busy >= kEnergyInSteps * counted_time(run, first, end);
}

// The first sensor reading after a measured step.
auto first_reading(const Measurement& run) {
  return std::ranges::find_if(run.sensors, [&](const SensorReading& reading) {
    return reading.steps > static_cast<size_t>(run.sampling.warmup);
  });
}

// The sensor readings over the measured steps; none if the device has no sensors.
std::optional<DeviceSensors> sensors_of(const Measurement& run) {
  const auto first = first_reading(run);
  if (first == run.sensors.begin() || first == run.sensors.end()) return std::nullopt;
  DeviceSensors all;
  for (auto reading = first; reading != run.sensors.end(); ++reading) {
    const Sensors& sensors = reading->sensors;
    const auto add = [](std::vector<double>& list, const std::optional<double>& value) {
      if (value) list.push_back(*value);
    };
    add(all.clock_hz, sensors.clock_hz);
    add(all.memory_clock_hz, sensors.memory_clock_hz);
    add(all.power_watts, sensors.power_watts);
    add(all.temperature_celsius, sensors.temperature_celsius);
    for (const std::string& reason : sensors.slowed_by) ++all.slowed_steps[reason];
    if (sensors.other_processes)
      all.other_processes = std::max(all.other_processes.value_or(0), *sensors.other_processes);
  }
  const SensorReading& before = *std::prev(first);  // the first of all readings is before the first step
  const SensorReading& last = run.sensors.back();
  if (before.sensors.uncorrected_errors && last.sensors.uncorrected_errors)
    all.uncorrected_errors = *last.sensors.uncorrected_errors - *before.sensors.uncorrected_errors;
  const SensorReading& begin = before.steps == static_cast<size_t>(run.sampling.warmup) ? before : *first;
  if (begin.sensors.joules && last.sensors.joules && knows_energy(run, begin.steps, last.steps))
    all.joules_per_step =
        (*last.sensors.joules - *begin.sensors.joules) / static_cast<double>(last.steps - begin.steps);
  return all;
}

// Messages such as "the device was slowed in 3 of 20 readings: power cap".
std::vector<std::string> reasons_of(const DeviceSensors& sensors, size_t readings) {
  std::vector<std::string> reasons;
  for (const auto& [reason, slowed] : sensors.slowed_steps)
    reasons.push_back(
        fmt::format("the device was slowed in {} of {}: {}", slowed, counted(readings, "reading"), reason));
  if (const int64_t others = sensors.other_processes.value_or(0); others > 0)
    reasons.push_back(fmt::format("{} also used the device", counted(others, "other program")));
  if (const int64_t errors = sensors.uncorrected_errors.value_or(0); errors > 0)
    reasons.push_back(fmt::format("the memory of the device had {}", counted(errors, "uncorrected error")));
  return reasons;
}

void fill_times(const MeasuredWork& work, const Sampling& sampling, Record& record) {
  double named = 0;
  const TimeStats whole =
      make_time_stats(per_sample(sampling, [](const Timeline& timeline) { return timeline.total(); }));
  const auto add = [&](const std::string& key, int number) {
    const TimeStats& time = record.time[key] =
        make_time_stats(per_sample(sampling, [&](const Timeline& timeline) { return timeline.total(number); }));
    record.phases.push_back({key, time.mean, time.mean / whole.mean});
    named += time.mean;
  };
  for (const Phase phase : work.phases) add(time_key(phase, work.pass), static_cast<int>(phase));
  for (size_t i = 0; i < work.own_phases.size(); ++i) add(work.own_phases[i], own_phase_number(i));
  if (!record.phases.empty()) record.phases.push_back({"residue", whole.mean - named, 1 - named / whole.mean});
  // A pass of several phases needs its own time. A pass of one phase, and `backward`, already have a time.
  if (!record.time.contains(time_key(work.pass))) record.time[time_key(work.pass)] = whole;
}

void fill_host_clock(const Sampling& sampling, Record& record) {
  if (!std::ranges::all_of(sampling.steps, [](const Timeline& step) { return step.host.has_value(); })) return;
  HostClock& host = record.host;
  host.samples = per_sample(sampling, [](const Timeline& timeline) { return *timeline.host; });
  host.median = median(host.samples);
  const double device = median(per_sample(sampling, [](const Timeline& timeline) { return timeline.total(); }));
  if (device > 0) host.difference = *host.median / device - 1;
}

// "the host's clock shows 5.1 % more time per step than the device's: 12.30 ms against 11.70 ms"; empty if the two
// differ by at most kClocksAgree.
std::string reason_of_clocks(const HostClock& host) {
  const double difference = host.difference.value_or(0);
  if (std::abs(difference) <= kClocksAgree) return "";
  return fmt::format("the host's clock shows {:.1f} % {} time per step than the device's: {} against {}",
                     100 * std::abs(difference), difference > 0 ? "more" : "less", format_seconds(*host.median),
                     format_seconds(*host.median / (1 + difference)));
}

// "a product in float32 reached 310.0 TFLOP/s, above the peak of float32 (...): it used different arithmetic, or ...";
// empty unless the fastest product reaches more than kAnotherArithmetic times a peak. Only peaks of the arithmetic that
// the product's kernel claims to use are compared.
std::string reason_of_arithmetic(const MeasuredWork& work, const Measurement& run) {
  const ReachedProducts& products = run.products;
  if (products.math == ProductMath::kNone || products.math != work.peak_math) return "";
  std::vector<std::string> exceeded;
  const auto compare = [&](const std::optional<double>& peak, const char* of) {
    if (!peak) return;
    const double of_rank = *peak / static_cast<double>(work.ranks);
    if (products.flops_per_second > kAnotherArithmetic * of_rank)
      exceeded.push_back(fmt::format("{}/s {}", format_flops(of_rank), of));
  };
  compare(run.limits.product_flops, "as measured here");
  compare(work.datasheet_flops, "in the data sheet");
  if (exceeded.empty()) return "";
  return fmt::format(
      "a product in {0} reached {1}/s, above the peak of {0} ({2}): it used different arithmetic, or not "
      "all of it ran",
      name_of(products.math), format_flops(products.flops_per_second), joined(exceeded, ", "));
}

void fill_model(const MeasuredWork& work, FlopsUse& flops) {
  flops.optimizer = work.optimizer_flops;
  if (!work.model) return;
  flops.forward = work.model->forward_flops;
  flops.attention = work.model->attention_flops;
  flops.head = work.model->head_flops;
  flops.parameters = work.model->parameter_count;
  if (work.pass != Pass::kForward && work.pass != Pass::kInference) flops.backward = 2 * *flops.forward;
}

void fill_rates(const MeasuredWork& work, const MeasuredLimits& limits, Record& record) {
  const double median = record.time.at(time_key(work.pass)).median;
  fill_model(work, record.flops);
  if (median <= 0) return;
  if (work.tokens) record.tokens_per_second = static_cast<double>(*work.tokens) / median;
  if (!record.flops.forward) return;
  record.flops.model_flops_per_second = model_flops(work.pass, *record.flops.forward) / median;
  record.flops.peak_measured = limits.product_flops;
  if (limits.product_flops)
    record.flops.peak_measured_at = limits.product_flops_at.empty() ? record.created : limits.product_flops_at;
  record.flops.peak_datasheet = work.datasheet_flops;
  if (record.flops.peak_measured)
    record.flops.mfu_measured = *record.flops.model_flops_per_second / *record.flops.peak_measured;
  if (const double mfu = record.flops.mfu_measured.value_or(0); mfu > 1)
    record.flops.above_peak = mfu > kImpossible ? kFarAbovePeak : kAbovePeak;
  if (record.flops.peak_datasheet)
    record.flops.mfu_datasheet = *record.flops.model_flops_per_second / *record.flops.peak_datasheet;
}

// The measured steps with the median time: one, or the two in the middle. Their parts sum to the median time, which
// medians of the parts would not.
std::vector<size_t> median_steps(const Sampling& sampling) {
  std::vector<size_t> steps(sampling.steps.size() - static_cast<size_t>(sampling.warmup));
  std::iota(steps.begin(), steps.end(), static_cast<size_t>(sampling.warmup));
  std::stable_sort(steps.begin(), steps.end(),
                   [&](size_t a, size_t b) { return sampling.steps[a].total() < sampling.steps[b].total(); });
  const size_t middle = (steps.size() - 1) / 2;
  return {steps.begin() + static_cast<std::ptrdiff_t>(middle), steps.end() - static_cast<std::ptrdiff_t>(middle)};
}

// The time of the first `count` steps in excess of `count` times the mean time of the `usual` steps. `time_of` returns
// the seconds of a step, or of a part of the step.
template <class TimeOf>
double excess_of(size_t count, const std::vector<size_t>& usual, const TimeOf& time_of) {
  double usual_time = 0;
  for (const size_t step : usual) usual_time += time_of(step) / static_cast<double>(usual.size());
  double excess = 0;
  for (size_t i = 0; i < count; ++i) excess += time_of(i) - usual_time;
  return excess;
}

// Divides the excess of the first `count` steps by phase and class of work if the launches of all steps were timed,
// otherwise by phase only.
std::vector<ClassShare> parts_of_excess(const MeasuredWork& work, const Measurement& run, size_t count) {
  const Sampling& sampling = run.sampling;
  const std::vector<size_t> usual = median_steps(sampling);
  std::vector<ClassShare> parts;
  const bool by_class = run.is_classed(0) && run.is_classed(sampling.steps.size() - 1);
  for (const Phase phase : work.phases) {
    const auto add = [&](const std::string& name, const auto& time_of) {
      const double seconds = excess_of(count, usual, time_of);
      if (seconds != 0) parts.push_back({time_key(phase, work.pass), name, seconds, 0});
    };
    const auto number = static_cast<size_t>(phase);
    for (size_t kind = 0; by_class && kind < kWorkClassCount; ++kind) {
      add(name_of(static_cast<WorkClass>(kind)), [&](size_t i) { return run.classes[i][number][kind]; });
    }
    if (!by_class) add("", [&](size_t i) { return sampling.steps[i].total(static_cast<int>(phase)).count(); });
  }
  return parts;
}

// Splits the extra time of the first steps, compared with steady steps, into page faults at their measured cost and the
// rest. Also splits the extra time by phase and class.
void fill_transient(const MeasuredWork& work, const Measurement& run, Record& record) {
  const Sampling& sampling = run.sampling;
  std::vector<double> steps;
  for (const Timeline& timeline : sampling.steps) steps.push_back(timeline.total().count());
  record.transient.warmup.assign(steps.begin(), steps.begin() + sampling.warmup);
  const auto whole = [](const Timeline& timeline) { return timeline.total(); };
  const SlowStart start = find_slow_start(steps, median(per_sample(sampling, whole)));
  record.transient.steps = start.steps;
  record.transient.excess = start.excess;
  if (start.excess > 0) record.transient.parts = parts_of_excess(work, run, static_cast<size_t>(start.steps));
  for (ClassShare& part : record.transient.parts) part.share = part.seconds / start.excess;
  if (!work.in_this_process) return;  // page faults of another process are unknown
  double faults = 0;
  if (start.steps > 0 && run.states.size() >= static_cast<size_t>(start.steps)) {
    const MachineState change = counter_change(run, 0, static_cast<size_t>(start.steps));
    faults = static_cast<double>(change.minor_faults.value_or(0)) * run.limits.page_fault;
  }
  record.transient.page_faults = std::min(faults, start.excess);
  record.transient.rest = start.excess - *record.transient.page_faults;
}

// The number of measured steps that made no update.
int64_t measured_skips(const LossScalingUse& scaling, int64_t warmup) {
  return std::ranges::count_if(scaling.skipped, [&](int64_t step) { return step > warmup; });
}

// True if every measured step was skipped, so that no update was timed.
bool skips_every_update(const LossScalingUse& scaling, size_t steps, int64_t warmup) {
  const int64_t measured = measured_skips(scaling, warmup);
  return measured > 0 && measured == static_cast<int64_t>(steps) - warmup;
}

// "2 of 15 steps made no update (1 of them measured) because gradients overflowed: loss scale 65536 -> 16384"; empty if
// no step was skipped.
std::string reason_of_skips(const LossScalingUse& scaling, size_t steps, int64_t warmup) {
  if (scaling.skipped.empty()) return "";
  if (skips_every_update(scaling, steps, warmup)) {
    return fmt::format(
        "no update was measured: gradients overflowed in every measured step at a loss scale of {}; "
        "use a smaller --loss-scale",
        *scaling.last);
  }
  const int64_t measured = measured_skips(scaling, warmup);
  return fmt::format("{} of {} made no update ({} of them measured) because gradients overflowed: loss scale {} -> {}",
                     scaling.skipped.size(), counted(steps, "step"), measured == 0 ? "none" : std::to_string(measured),
                     *scaling.first, *scaling.last);
}

// Why times measured by this program are meaningless; empty if they are valid.
std::string reason_of_build(const MeasuredWork& work) {
  const bool is_optimized = build_type() == "Release" && sanitizer().empty();
  if (is_optimized || !work.in_this_process) return "";
  return fmt::format("measured with a {} build, whose times are meaningless; use a Release build without sanitizers",
                     build_type());
}

void fill_verdict(const MeasuredWork& work, const Measurement& run, const std::optional<DeviceSensors>& sensors,
                  const TimeStats& main, Record& record) {
  if (work.is_predicted) {
    record.verdict.rating = kPredicted;
    return;
  }
  const Sampling& sampling = run.sampling;
  std::vector<double> stolen;
  std::vector<double> throttled;
  std::vector<double> waiting;
  double shortest = main.min * static_cast<double>(sampling.steps_per_sample);
  const auto batch = static_cast<size_t>(sampling.steps_per_sample);
  for (size_t i = static_cast<size_t>(sampling.warmup); work.threads && i + batch <= run.states.size(); i += batch) {
    const MachineState change = counter_change(run, i, i + batch);
    const Seconds wall = counted_time(run, i, i + batch);
    const int64_t all_threads = counted_threads(run, *work.threads, work.ranks);
    // A recorded step may be so short that its clock reads the same at its start and end. The lost fraction is then 0.
    const auto add = [&](std::vector<double>& list, const std::optional<double>& lost, int64_t threads) {
      if (lost) list.push_back(lost_fraction(lost, wall, threads).value_or(0));
    };
    add(stolen, change.stolen_seconds, all_threads);
    add(throttled, change.throttled_seconds, all_threads);
    add(waiting, change.waiting_seconds, *work.threads);
  }
  Observations observations{main, main.samples, stolen, throttled, waiting, Seconds{shortest}, reason_of_build(work)};
  const Judgement judgement = judge(observations);
  record.verdict.rating = name_of(judgement.stability);
  record.verdict.reasons = judgement.reasons;
  record.verdict.lost = judgement.lost;
  record.verdict.lost_to = judgement.lost_to;
  if (std::string clocks = reason_of_clocks(record.host); !clocks.empty())
    record.verdict.reasons.push_back(std::move(clocks));
  if (std::string arithmetic = reason_of_arithmetic(work, run); !arithmetic.empty())
    record.verdict.reasons.push_back(std::move(arithmetic));
  if (run.limits.product_flops_estimated) {
    const int64_t threads = work.threads.value_or(0);
    const std::string cause =
        run.cores > 0 && threads > run.cores
            ? fmt::format("{} share {} with other programs", counted(threads, "thread"), counted(run.cores, "core"))
            : "other programs kept the threads from running together";
    record.verdict.reasons.push_back(
        fmt::format("the peak is an estimate from one core, because {}; a later run will measure it again", cause));
  }
  const std::string skips = reason_of_skips(run.loss_scaling, sampling.steps.size(), sampling.warmup);
  if (skips_every_update(run.loss_scaling, sampling.steps.size(), sampling.warmup)) {
    record.verdict.rating = name_of(Stability::kUnstable);
    record.verdict.reasons.insert(record.verdict.reasons.begin(), skips);
  } else if (!skips.empty()) {
    record.verdict.reasons.push_back(skips);
  }
  if (run.denormals.value_or(0) > 0) {
    record.verdict.reasons.push_back(fmt::format(
        "later steps took longer, and {} of weights and optimizer states are denormal, which slows down arithmetic",
        counted(*run.denormals, "value")));
  }
  for (const std::string& remark : record.data.remarks) record.verdict.reasons.push_back(remark);
  if (sensors) {
    const auto readings = static_cast<size_t>(run.sensors.end() - first_reading(run));
    for (std::string& reason : reasons_of(*sensors, readings)) record.verdict.reasons.push_back(std::move(reason));
  }
}

// Fills in the machine counters and sensor readings during the samples. The counters should show no page fault, because
// the memory of a step is touched before the first step.
void fill_disturbance(const Measurement& run, const std::optional<DeviceSensors>& sensors, Record& record) {
  const auto first = static_cast<size_t>(run.sampling.warmup);
  if (first >= run.states.size()) return;
  record.machine.json()["during"] = to_json(counter_change(run, first, run.states.size()));
  if (sensors) record.machine.json()["sensors"] = to_json(*sensors);
}

std::string reason_not_finite(const Measurement& run) {
  const size_t step = run.losses.size();
  const std::string what = step > 0 ? fmt::format("the loss of step {}", step) : "an output of the step";
  std::string reason = fmt::format("{} is not finite, so no timing is reported", what);
  if (run.first_nan) {
    reason += fmt::format("; the first {} is an output of {} in {}", run.first_nan->is_infinity ? "infinity" : "NaN",
                          run.first_nan->op, run.first_nan->scope.empty() ? "the step" : run.first_nan->scope);
  }
  return reason;
}

void fill_figures(const MeasuredWork& work, const Measurement& run, Record& record) {
  const Sampling& sampling = run.sampling;
  fill_times(work, sampling, record);
  fill_host_clock(sampling, record);
  fill_rates(work, run.limits, record);
  if (run.products.flops_per_second > 0) record.flops.products_per_second = run.products.flops_per_second;
  fill_transient(work, run, record);
  const std::optional<DeviceSensors> sensors = sensors_of(run);
  fill_verdict(work, run, sensors, record.time.at(time_key(work.pass)), record);
  fill_disturbance(run, sensors, record);
  record.stopping = {std::string(name_of(sampling.reason)), run.rule.describe(sampling.reason), sampling.warmup,
                     sampling.sample_count(), sampling.steps_per_sample};
  if (sampling.interrupted) {
    record.stopping.rule = "interrupted";
    record.stopping.reason = run.interrupted_by;
    return;  // the configuration keeps the requested value
  }
  // Record the numbers that the stopping rule chose.
  record.config.json()["warmup"] = sampling.warmup;
  record.config.json()["steps"] = sampling.sample_count();
}

}  // namespace

bool fill_result(const MeasuredWork& work, const Measurement& run, Record& record) {
  record.loss.values = run.losses;
  record.loss_scaling = run.loss_scaling;
  record.denormals = run.denormals;
  const Sampling& sampling = run.sampling;
  if (!run.finite) {
    record.status = Status::kFailed;
    record.reason = reason_not_finite(run);
    if (run.first_nan) {
      record.op = run.first_nan->op;
      record.scope = run.first_nan->scope;
    }
    return false;
  }
  if (run.interrupted()) {
    record.status = Status::kInterrupted;
    record.reason = fmt::format("stopped by {} after {}", run.interrupted_by, counted(sampling.steps.size(), "step"));
    if (run.untaken_traced_steps > 0) {
      record.reason +=
          fmt::format(" and {} of {} traced ones", run.traced_steps, run.traced_steps + run.untaken_traced_steps);
    }
    const int64_t samples = sampling.sample_count();
    if (samples < 1) return false;
    record.reason += fmt::format("; the times cover the {} taken so far", counted(samples, "sample"));
  }
  fill_figures(work, run, record);
  return true;
}

}  // namespace laptime
