// Collects the results of a run, and compares lost time, spread and traced steps with their limits.
#include "measure/make_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/machine_state.h"
#include "distribution/bootstrap.h"
#include "distribution/median.h"
#include "distribution/moments.h"
#include "distribution/verdict.h"
#include "measure/figures.h"
#include "measure/reported_time.h"
#include "model/model_builder.h"
#include "model/parameters.h"
#include "prepare/prepare.h"
#include "prepare/time_forecast.h"

namespace laptime {
namespace {

// Fills in the mean seconds by phase and class over the samples whose launches were timed, with the largest class of
// each phase first. Does nothing if only the launches of the first step were timed.
void fill_classes(const Measurement& run, Pass pass, Record& record) {
  const size_t count = run.sampling.steps.size();
  if (count == 0 || !run.is_classed(count - 1)) return;
  const size_t first = std::max(run.first_classed, static_cast<size_t>(run.sampling.warmup));
  double whole = 0;
  ClassTimes sums{};
  double steps = 0;
  for (size_t i = first; i < count; ++i) {
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
  memory.requested_bytes = run.requested_bytes;
  memory.reserved_bytes = run.reserved_bytes;
  memory.peak_rss_bytes = run.peak_rss_bytes;
}

CommunicationUse communication_of(const Plan& plan, const Sampling& sampling) {
  CommunicationUse use{.bytes = 0, .launches = 0, .seconds = {}, .exposed = {}};
  for (const PlanStep& step : plan.steps) {
    if (step.queue != kCommunicationQueue) continue;
    *use.bytes += step.bytes;
    ++*use.launches;
  }
  if (sampling.sample_count() == 0) return use;
  use.seconds = median(per_sample(sampling, [](const Timeline& step) { return step.communication; }));
  use.exposed = median(per_sample(sampling, [](const Timeline& step) { return step.exposed; }));
  return use;
}

void fill_setup(const SetupTimes& run, SetupTimes& setup) {
  setup.data = run.data;
  setup.memory = run.memory;
  setup.weights = run.weights;
  setup.total = 0;
  for (const auto& part : {setup.plan, setup.kernel_trial, setup.data, setup.memory, setup.weights})
    *setup.total += part.value_or(0);
}

// The part of all parameters that the optimizer of one rank updates: less than 1 if the ranks divide any.
double updated_share(const RunConfig& config, const ModelSummary& model) {
  const RankShare share{.ranks = config.ranks, .rank = 0, .shard = config.shard};
  int64_t updated = 0;
  for (const ParameterSpec& parameter : model.parameters) {
    const int64_t elements = Shape(std::span(parameter.shape)).product();
    updated += share.divides(elements) ? elements / share.ranks : elements;
  }
  return static_cast<double>(updated) / static_cast<double>(model.parameter_count);
}

MeasuredWork work_of(const Prepared& prepared) {
  const Plan& plan = prepared.plan;
  const ModelConfig model = prepared.config.step_model();
  MeasuredWork work{
      .pass = prepared.config.pass,
      .phases = phases_of(plan),
      .model = summarize(model),
      .tokens = model.batch_size * model.context_length,
      .datasheet_flops = prepared.device.datasheet_flops,  // multiplied by the number of ranks below
      .peak_math = prepared.device.rules.tf32 ? ProductMath::kTf32 : math_of_factors(prepared.device.product_factors),
      .ranks = prepared.config.ranks,
      .threads = prepared.device.threads,
      .is_predicted = !prepared.device.computes};
  if (work.datasheet_flops) *work.datasheet_flops *= static_cast<double>(prepared.config.ranks);
  if (plan.has(Phase::kOptimizer))
    work.optimizer_flops = plan.flops(Phase::kOptimizer) / updated_share(prepared.config, *work.model);
  return work;
}

}  // namespace

Record make_record(Record described, const Prepared& prepared, const Measurement& measurement) {
  Record record = std::move(described);
  record.memory = prepared.memory;
  record.math_mode = math_mode(prepared.plan, prepared.device);
  fill_memory(measurement, record.memory);
  if (prepared.config.ranks > 1) record.communication = communication_of(prepared.plan, measurement.sampling);
  fill_setup(measurement.setup, record.setup);
  if (!fill_result(work_of(prepared), measurement, record)) return record;
  fill_classes(measurement, prepared.config.pass, record);
  fill_kernels(prepared.plan, record);
  return record;
}

namespace {

// Launch costs are kept for later predictions, so the threshold is lower than for an unstable verdict.
constexpr double kDisturbingLoss = 0.03;

// Stolen time is counted in ticks, and a short run has too few of them to be meaningful.
constexpr Seconds kFewTicks{0.02};

std::string time_lost(const Measurement& run, int64_t threads, int64_t ranks) {
  const auto first = static_cast<size_t>(run.sampling.warmup);
  if (run.states.empty() || first >= run.states.size() || run.states.size() > run.sampling.steps.size()) return "";
  const MachineState lost = counter_change(run, first, run.states.size());
  const Seconds wall = counted_time(run, first, run.states.size());
  const int64_t all_threads = counted_threads(run, threads, ranks);
  const bool has_ticks = kDisturbingLoss * static_cast<double>(all_threads) * wall > kFewTicks;
  const double stolen = has_ticks ? lost_fraction(lost.stolen_seconds, wall, all_threads).value_or(0) : 0;
  const double throttled = lost_fraction(lost.throttled_seconds, wall, all_threads).value_or(0);
  const double waiting = lost_fraction(lost.waiting_seconds, wall, threads).value_or(0);
  const double most = std::max({stolen, throttled, waiting});
  if (most <= kDisturbingLoss) return "";
  return fmt::format("{:.0f} % of the time was lost {}", 100 * most,
                     most == stolen      ? kLostToGuests
                     : most == throttled ? kLostToQuota
                                         : kLostWaiting);
}

std::string spread(std::vector<double> samples) {
  if (static_cast<int64_t>(samples.size()) < kFewestForInterval) return "";
  std::sort(samples.begin(), samples.end());
  const Moments moments = moments_of_sorted(samples);
  const double deviation = moments.std_sample.value_or(0);
  if (moments.mean <= 0 || deviation < kNoisySpread * moments.mean) return "";
  return fmt::format("steps varied by {:.0f} % (standard deviation)", 100 * deviation / moments.mean);
}

std::string traced_longer(const std::optional<StepTrace>& trace) {
  if (!trace || !is_disturbed(*trace)) return "";
  return fmt::format("traced steps took {:.2f} times as long as the untraced steps between them",
                     *traced_over_untraced(*trace));
}

}  // namespace

std::string disturbance_of(const Measurement& run, const std::vector<double>& samples,
                           const std::optional<StepTrace>& trace, std::optional<int64_t> threads, int64_t ranks) {
  std::string text = threads ? time_lost(run, *threads, ranks) : "";
  if (text.empty()) text = spread(samples);
  return text.empty() ? traced_longer(trace) : text;
}

}  // namespace laptime
