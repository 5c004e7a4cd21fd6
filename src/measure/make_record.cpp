// Makes the record of a run from its measurements.
#include "measure/make_record.h"

#include <algorithm>
#include <set>
#include <utility>

#include "measure/figures.h"
#include "measure/reported_time.h"
#include "model/parameters.h"
#include "prepare/math_mode.h"
#include "prepare/time_key.h"

namespace laptime {
namespace {

// Fills in the mean seconds by phase and class of the samples whose launches were marked, the largest of each phase
// first. Fills in nothing if only the first step was marked.
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

void fill_setup(const SetupTimes& run, SetupTimes& setup) {
  setup.data = run.data;
  setup.memory = run.memory;
  setup.weights = run.weights;
  setup.total = 0;
  for (const auto& part : {setup.plan, setup.kernel_trial, setup.data, setup.memory, setup.weights})
    *setup.total += part.value_or(0);
}

MeasuredWork work_of(const Prepared& prepared) {
  const Plan& plan = prepared.plan;
  const ModelConfig model = prepared.config.step_model();
  MeasuredWork work{
      .pass = prepared.config.pass,
      .phases = phases_of(plan),
      .forward_flops = static_cast<double>(summarize(model).forward_flops),
      .tokens = model.batch_size * model.context_length,
      .datasheet_flops = prepared.device.datasheet_flops,
      .peak_math = prepared.device.rules.tf32 ? ProductMath::kTf32 : math_of_factors(prepared.device.product_factors),
      .threads = prepared.device.threads,
      .is_predicted = !prepared.device.computes};
  if (plan.has(Phase::kOptimizer)) work.optimizer_flops = plan.flops(Phase::kOptimizer);
  return work;
}

}  // namespace

Record make_record(Record described, const Prepared& prepared, const Measurement& measurement) {
  Record record = std::move(described);
  record.memory = prepared.memory;
  record.math_mode = math_mode(prepared.plan, prepared.device);
  fill_memory(measurement, record.memory);
  fill_setup(measurement.setup, record.setup);
  if (!fill_result(work_of(prepared), measurement, record)) return record;
  fill_classes(measurement, prepared.config.pass, record);
  fill_kernels(prepared.plan, record);
  return record;
}

}  // namespace laptime
