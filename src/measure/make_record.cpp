// Statistics of a sampling run.
#include "measure/make_record.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/build_id.h"
#include "distribution/steady_state.h"
#include "distribution/verdict.h"
#include "measure/peaks.h"
#include "record/time_stats.h"

namespace laptime {
namespace {

// The key of the time of what was asked for.
std::string main_key(Pass pass) { return text_of(Option{}, pass); }

std::string phase_key(Phase phase, Pass pass) {
  return phase == Phase::kForward && pass == Pass::kInference ? main_key(pass) : name_of(phase);
}

// Seconds per step of every sample.
std::vector<double> per_sample(const Sampling& sampling, const std::function<Seconds(const Timeline&)>& time) {
  std::vector<double> samples;
  const auto batch = static_cast<size_t>(sampling.steps_per_sample);
  for (size_t i = static_cast<size_t>(sampling.warmup); i + batch <= sampling.steps.size(); i += batch) {
    Seconds sum{};
    for (size_t k = 0; k < batch; ++k) sum += time(sampling.steps[i + k]);
    samples.push_back(sum.count() / static_cast<double>(batch));
  }
  return samples;
}

void fill_times(const RunConfig& config, const Plan& plan, const Sampling& sampling, Record& record) {
  double named = 0;
  const TimeStats whole =
      make_time_stats(per_sample(sampling, [](const Timeline& timeline) { return timeline.total(); }));
  for (int phase = static_cast<int>(Phase::kForward); phase < kPhaseCount; ++phase) {
    if (!plan.has(static_cast<Phase>(phase))) continue;
    const std::string key = phase_key(static_cast<Phase>(phase), config.pass);
    record.time[key] =
        make_time_stats(per_sample(sampling, [&](const Timeline& timeline) { return timeline.total(phase); }));
    record.phases.push_back({key, record.time[key].mean, record.time[key].mean / whole.mean});
    named += record.time[key].mean;
  }
  record.phases.push_back({"residue", whole.mean - named, 1 - named / whole.mean});
  // A pass of one phase is that phase; `backward` is timed in place, its forward beside it.
  if (!record.time.contains(main_key(config.pass))) record.time[main_key(config.pass)] = whole;
}

double flops_of_pass(const Record& record, Pass pass) {
  const double forward = record.flops.forward.value_or(0);
  const double backward = record.flops.backward.value_or(0);
  switch (pass) {
    case Pass::kForward:
    case Pass::kInference: return forward;
    case Pass::kBackward: return backward;
    case Pass::kForwardBackward:
    case Pass::kStep: return forward + backward;
  }
  return 0;
}

void fill_rates(const RunConfig& config, const Device& device, const Plan& plan, const MachineKnowledge& known,
                const MachineKnowledge& learned, Record& record) {
  const ModelConfig model = config.step_model();
  const double median = record.time.at(main_key(config.pass)).median;
  record.flops.forward = static_cast<double>(forward_flops(model));
  if (config.pass != Pass::kForward && config.pass != Pass::kInference)
    record.flops.backward = 2 * *record.flops.forward;
  if (plan.has(Phase::kOptimizer)) record.flops.optimizer = plan.flops(Phase::kOptimizer);
  if (median <= 0) return;
  record.tokens_per_second = static_cast<double>(model.batch_size * model.context_length) / median;
  record.flops.model_flops_per_second = flops_of_pass(record, config.pass) / median;
  record.flops.peak_measured = measured_flops_peak(device, known, learned);
  record.flops.peak_datasheet = device.datasheet_flops;
  if (record.flops.peak_measured)
    record.flops.mfu_measured = *record.flops.model_flops_per_second / *record.flops.peak_measured;
  if (record.flops.peak_datasheet)
    record.flops.mfu_datasheet = *record.flops.model_flops_per_second / *record.flops.peak_datasheet;
}

// Counters grown over steps [begin, end).
MachineState grown(const Observed& observed, size_t begin, size_t end) {
  return change(begin == 0 ? observed.before : observed.states[begin - 1], observed.states[end - 1]);
}

// The excess of the first steps over steady ones: page faults at what one costs here, no packing, the rest.
void fill_transient(const Sampling& sampling, const Observed& observed, double page_fault, Record& record) {
  std::vector<double> steps;
  for (const Timeline& timeline : sampling.steps) steps.push_back(timeline.total().count());
  record.transient.warmup.assign(steps.begin(), steps.begin() + sampling.warmup);
  const auto whole = [](const Timeline& timeline) { return timeline.total(); };
  const SlowStart start = find_slow_start(steps, make_time_stats(per_sample(sampling, whole)).median);
  record.transient.steps = start.steps;
  record.transient.excess = start.excess;
  double faults = 0;
  if (start.steps > 0 && observed.states.size() >= static_cast<size_t>(start.steps)) {
    const MachineState change = grown(observed, 0, static_cast<size_t>(start.steps));
    faults = static_cast<double>(change.minor_faults.value_or(0)) * page_fault;
  }
  record.transient.page_faults = std::min(faults, start.excess);
  record.transient.packing = 0;  // an eager plan packs no operand ahead
  record.transient.rest = start.excess - *record.transient.page_faults;
}

void fill_verdict(const Device& device, const Sampling& sampling, const Observed& observed, const TimeStats& main,
                  Record& record) {
  std::vector<double> stolen;
  std::vector<double> throttled;
  double shortest = main.min * static_cast<double>(sampling.steps_per_sample);
  const auto batch = static_cast<size_t>(sampling.steps_per_sample);
  for (size_t i = static_cast<size_t>(sampling.warmup); device.threads > 0 && i + batch <= observed.states.size();
       i += batch) {
    const MachineState change = grown(observed, i, i + batch);
    const Seconds wall = sampling.steps[i + batch - 1].end - sampling.steps[i].begin;
    if (const auto fraction = stolen_fraction(change, wall, device.threads)) stolen.push_back(*fraction);
    if (const auto fraction = throttled_fraction(change, wall, device.threads)) throttled.push_back(*fraction);
  }
  Observations seen{summarize(main.samples),
                    main.samples,
                    stolen,
                    throttled,
                    sampling.steady_state,
                    static_cast<int64_t>(sampling.steps.size()),
                    Seconds{shortest}};
  const Judgement judgement = judge(seen);
  record.verdict.rating = name_of(judgement.stability);
  record.verdict.reasons = judgement.reasons;
  const bool for_speed = build_type() == "Release" && sanitizer().empty();
  if (device.threads == 0 || for_speed) return;
  record.verdict.rating = name_of(Stability::kUnstable);
  record.verdict.reasons.insert(record.verdict.reasons.begin(),
                                fmt::format("a {} build was measured: no figure of it means anything", build_type()));
}

// What disturbed the samples. A page fault among them is a defect of ours.
void fill_disturbance(const Sampling& sampling, const Observed& observed, Record& record) {
  const auto first = static_cast<size_t>(sampling.warmup);
  if (first >= observed.states.size()) return;
  record.machine.json()["during"] = to_json_object(grown(observed, first, observed.states.size())).json();
}

void fill_kernels(const Plan& plan, Record& record) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const PlanStep& step : plan.steps) {
    const std::string signature = step.signature().text();
    if (!seen.emplace(signature, step.kernel->name).second) continue;
    record.kernels.push_back({step.kernel->op->name, signature, step.kernel->name});
  }
}

}  // namespace

void fill_record(const RunConfig& config, const Device& device, const Plan& plan, const Sampling& sampling,
                 const StoppingRule& rule, const Observed& observed, const MachineKnowledge& known,
                 const MachineKnowledge& learned, Record& record) {
  fill_times(config, plan, sampling, record);
  fill_rates(config, device, plan, known, learned, record);
  const TimeStats& main = record.time.at(main_key(config.pass));
  fill_transient(sampling, observed, measured_page_fault(known, learned), record);
  fill_verdict(device, sampling, observed, main, record);
  fill_disturbance(sampling, observed, record);
  fill_kernels(plan, record);
  record.stopping = {std::string(name_of(sampling.reason)), rule.describe(sampling.reason), sampling.warmup,
                     sampling.sample_count(), sampling.steps_per_sample};
  // What was left to the rule is stated as it turned out.
  record.config.json()["warmup"] = sampling.warmup;
  record.config.json()["steps"] = sampling.sample_count();
}

}  // namespace laptime
