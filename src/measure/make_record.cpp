// Makes the record of a run from its measurements.
#include "measure/make_record.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/build_id.h"
#include "distribution/median.h"
#include "distribution/steady_state.h"
#include "distribution/verdict.h"
#include "measure/reported_time.h"
#include "model/parameters.h"
#include "prepare/math_mode.h"
#include "record/fields_json.h"
#include "record/time_stats.h"

namespace laptime {
namespace {

// The peak was measured again after such a run (measure/limits.h), so that little but the FLOPs is left as a cause.
constexpr const char* kAbovePeak =
    "counts masked attention, which kernels skip, or ran at a higher clock than the peak";

void fill_times(const RunConfig& config, const Plan& plan, const Sampling& sampling, Record& record) {
  double named = 0;
  const TimeStats whole =
      make_time_stats(per_sample(sampling, [](const Timeline& timeline) { return timeline.total(); }));
  for (int phase = static_cast<int>(Phase::kForward); phase < kPhaseCount; ++phase) {
    if (!plan.has(static_cast<Phase>(phase))) continue;
    const std::string key = time_key(static_cast<Phase>(phase), config.pass);
    record.time[key] =
        make_time_stats(per_sample(sampling, [&](const Timeline& timeline) { return timeline.total(phase); }));
    record.phases.push_back({key, record.time[key].mean, record.time[key].mean / whole.mean});
    named += record.time[key].mean;
  }
  record.phases.push_back({"residue", whole.mean - named, 1 - named / whole.mean});
  // With several phases the pass has a time of its own. A pass of one phase, and `backward`, already have theirs.
  if (!record.time.contains(time_key(config.pass))) record.time[time_key(config.pass)] = whole;
}

// Of the samples that were marked: mean seconds by phase and class, the largest of each phase first.
void fill_classes(const Measurement& run, Pass pass, Record& record) {
  const size_t first = std::max(run.first_classed, static_cast<size_t>(run.sampling.warmup));
  double whole = 0;
  ClassTimes sums{};
  double steps = 0;
  for (size_t i = first; i < run.sampling.steps.size() && i - run.first_classed < run.classes.size(); ++i) {
    for (size_t phase = 0; phase < sums.size(); ++phase) {
      for (size_t work = 0; work < sums[phase].size(); ++work)
        sums[phase][work] += run.classes[i - run.first_classed][phase][work];
    }
    whole += run.sampling.steps[i].total().count();
    ++steps;
  }
  for (size_t phase = 0; phase < sums.size(); ++phase) {
    const size_t begin = record.classes.size();
    for (size_t work = 0; work < sums[phase].size(); ++work) {
      if (sums[phase][work] <= 0) continue;
      record.classes.push_back({time_key(static_cast<Phase>(phase), pass), name_of(static_cast<WorkClass>(work)),
                                sums[phase][work] / steps, sums[phase][work] / whole});
    }
    std::stable_sort(record.classes.begin() + static_cast<std::ptrdiff_t>(begin), record.classes.end(),
                     [](const ClassShare& a, const ClassShare& b) { return a.seconds > b.seconds; });
  }
}

void fill_rates(const RunConfig& config, const Device& device, const Plan& plan, const MeasuredLimits& limits,
                Record& record) {
  const ModelConfig model = config.step_model();
  const double median = record.time.at(time_key(config.pass)).median;
  record.flops.forward = static_cast<double>(summarize(model).forward_flops);
  if (config.pass != Pass::kForward && config.pass != Pass::kInference)
    record.flops.backward = 2 * *record.flops.forward;
  if (plan.has(Phase::kOptimizer)) record.flops.optimizer = plan.flops(Phase::kOptimizer);
  if (median <= 0) return;
  record.tokens_per_second = static_cast<double>(model.batch_size * model.context_length) / median;
  record.flops.model_flops_per_second = model_flops(config) / median;
  record.flops.peak_measured = limits.product_flops;
  record.flops.peak_datasheet = device.datasheet_flops;
  if (record.flops.peak_measured)
    record.flops.mfu_measured = *record.flops.model_flops_per_second / *record.flops.peak_measured;
  if (record.flops.mfu_measured.value_or(0) > 1) record.flops.above_peak = kAbovePeak;
  if (record.flops.peak_datasheet)
    record.flops.mfu_datasheet = *record.flops.model_flops_per_second / *record.flops.peak_datasheet;
}

// Change of the machine counters over steps [begin, end).
MachineState counter_change(const Measurement& run, size_t begin, size_t end) {
  return change(begin == 0 ? run.before : run.states[begin - 1], run.states[end - 1]);
}

// Splits the excess time of the first steps over steady ones into page faults, at their measured cost, and the rest.
void fill_transient(const Measurement& run, Record& record) {
  const Sampling& sampling = run.sampling;
  std::vector<double> steps;
  for (const Timeline& timeline : sampling.steps) steps.push_back(timeline.total().count());
  record.transient.warmup.assign(steps.begin(), steps.begin() + sampling.warmup);
  const auto whole = [](const Timeline& timeline) { return timeline.total(); };
  const SlowStart start = find_slow_start(steps, median(per_sample(sampling, whole)));
  record.transient.steps = start.steps;
  record.transient.excess = start.excess;
  double faults = 0;
  if (start.steps > 0 && run.states.size() >= static_cast<size_t>(start.steps)) {
    const MachineState change = counter_change(run, 0, static_cast<size_t>(start.steps));
    faults = static_cast<double>(change.minor_faults.value_or(0)) * run.limits.page_fault;
  }
  record.transient.page_faults = std::min(faults, start.excess);
  record.transient.rest = start.excess - *record.transient.page_faults;
}

// "2 of 15 steps skipped, their gradients overflowed: loss scale 65536 -> 16384"; empty where none was.
std::string reason_of_skips(const LossScalingUse& scaling, size_t steps) {
  if (scaling.skipped.empty()) return "";
  return fmt::format("{} of {} steps skipped, their gradients overflowed: loss scale {} -> {}", scaling.skipped.size(),
                     steps, *scaling.first, *scaling.last);
}

void fill_verdict(const Device& device, const Measurement& run, const TimeStats& main, Record& record) {
  if (!device.computes) {
    record.verdict.rating = kPredicted;
    return;
  }
  const Sampling& sampling = run.sampling;
  std::vector<double> stolen;
  std::vector<double> throttled;
  double shortest = main.min * static_cast<double>(sampling.steps_per_sample);
  const auto batch = static_cast<size_t>(sampling.steps_per_sample);
  for (size_t i = static_cast<size_t>(sampling.warmup); device.threads && i + batch <= run.states.size(); i += batch) {
    const MachineState change = counter_change(run, i, i + batch);
    const Seconds wall = sampling.steps[i + batch - 1].end - sampling.steps[i].begin;
    if (const auto fraction = stolen_fraction(change, wall, *device.threads)) stolen.push_back(*fraction);
    if (const auto fraction = throttled_fraction(change, wall, *device.threads)) throttled.push_back(*fraction);
  }
  Observations observations{main,
                            main.samples,
                            stolen,
                            throttled,
                            sampling.steady_state,
                            static_cast<int64_t>(sampling.steps.size()),
                            Seconds{shortest}};
  const Judgement judgement = judge(observations);
  record.verdict.rating = name_of(judgement.stability);
  record.verdict.reasons = judgement.reasons;
  const std::string skips = reason_of_skips(run.loss_scaling, sampling.steps.size());
  if (!skips.empty()) record.verdict.reasons.push_back(skips);
  const bool is_optimized = build_type() == "Release" && sanitizer().empty();
  if (is_optimized) return;
  record.verdict.rating = name_of(Stability::kUnstable);
  record.verdict.reasons.insert(
      record.verdict.reasons.begin(),
      fmt::format("measured with a {} build, whose times are meaningless; use a Release build", build_type()));
}

// Machine counters during the samples. Page faults in samples are a defect of the program.
void fill_disturbance(const Measurement& run, Record& record) {
  const auto first = static_cast<size_t>(run.sampling.warmup);
  if (first >= run.states.size()) return;
  record.machine.json()["during"] = to_json(counter_change(run, first, run.states.size()));
}

void fill_kernels(const Plan& plan, Record& record) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const PlanStep& step : plan.steps) {
    const std::string signature = step.signature().text();
    if (!seen.emplace(signature, step.kernel->name).second) continue;
    record.kernels.push_back({step.kernel->op->name, signature, step.kernel->name});
  }
}

void fill_memory(const Measurement& run, MemoryUse& memory) {
  memory.base_rss_bytes = run.base_rss_bytes;
  memory.peak_bytes = run.peak_bytes;
  memory.peak_rss_bytes = run.peak_rss_bytes;
}

void fill_setup(const SetupTimes& run, SetupTimes& setup) {
  setup.data = run.data;
  setup.memory = run.memory;
  setup.weights = run.weights;
  setup.total = 0;
  for (const auto& part : {setup.plan, setup.kernel_trial, setup.data, setup.memory, setup.weights})
    *setup.total += part.value_or(0);
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

void fill_figures(const Prepared& prepared, const Measurement& run, Record& record) {
  const RunConfig& config = prepared.config;
  const Sampling& sampling = run.sampling;
  fill_times(config, prepared.plan, sampling, record);
  fill_classes(run, config.pass, record);
  fill_rates(config, prepared.device, prepared.plan, run.limits, record);
  fill_transient(run, record);
  fill_verdict(prepared.device, run, record.time.at(time_key(config.pass)), record);
  fill_disturbance(run, record);
  fill_kernels(prepared.plan, record);
  record.stopping = {std::string(name_of(sampling.reason)), run.rule.describe(sampling.reason), sampling.warmup,
                     sampling.sample_count(), sampling.steps_per_sample};
  if (sampling.interrupted) {
    record.stopping.rule = "interrupted";
    record.stopping.reason = "a signal";
    return;  // the configuration keeps what was asked for
  }
  // Record the numbers that the stopping rule chose.
  record.config.json()["warmup"] = sampling.warmup;
  record.config.json()["steps"] = sampling.sample_count();
}

}  // namespace

Record make_record(Record described, const Prepared& prepared, const Measurement& measurement) {
  Record record = std::move(described);
  record.memory = prepared.memory;
  record.math_mode = math_mode(prepared.plan, prepared.device);
  fill_memory(measurement, record.memory);
  fill_setup(measurement.setup, record.setup);
  record.loss.values = measurement.losses;
  record.loss_scaling = measurement.loss_scaling;
  if (!measurement.finite) {
    record.status = Status::kFailed;
    record.reason = reason_not_finite(measurement);
    if (measurement.first_nan) {
      record.op = measurement.first_nan->op;
      record.scope = measurement.first_nan->scope;
    }
  } else if (measurement.interrupted()) {
    record.status = Status::kInterrupted;
    const Sampling& sampling = measurement.sampling;
    record.reason = fmt::format("stopped by a signal after {} steps", sampling.steps.size());
    if (measurement.untaken_traced_steps > 0) {
      record.reason += fmt::format(" and {} of {} traced ones", measurement.traced_steps,
                                   measurement.traced_steps + measurement.untaken_traced_steps);
    }
    if (sampling.sample_count() < 1) return record;
    const int64_t samples = sampling.sample_count();
    record.reason += fmt::format("; the times are of the {} sample{} until then", samples, samples == 1 ? "" : "s");
    fill_figures(prepared, measurement, record);
  } else {
    fill_figures(prepared, measurement, record);
  }
  return record;
}

}  // namespace laptime
