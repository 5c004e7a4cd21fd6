// Selects the part of a step that a pass reports, and counts the FLOPs of the pass.
#include "measure/reported_time.h"

#include <algorithm>

#include "prepare/time_forecast.h"

namespace laptime {

std::vector<Phase> phases_of(const Plan& plan) {
  std::vector<Phase> phases;
  for (int phase = static_cast<int>(Phase::kForward); phase < kPhaseCount; ++phase) {
    if (plan.has(static_cast<Phase>(phase))) phases.push_back(static_cast<Phase>(phase));
  }
  return phases;
}

std::vector<double> per_sample(const Sampling& sampling, const ReportedTime& time) {
  std::vector<double> samples;
  const auto batch = static_cast<size_t>(sampling.steps_per_sample);
  for (size_t i = static_cast<size_t>(sampling.warmup); i + batch <= sampling.steps.size(); i += batch) {
    Seconds sum{};
    for (size_t k = 0; k < batch; ++k) sum += time(sampling.steps[i + k]);
    samples.push_back(sum.count() / static_cast<double>(batch));
  }
  return samples;
}

ReportedTime reported_time(std::span<const Phase> phases, Pass pass) {
  const auto found = std::ranges::find_if(phases, [&](Phase phase) { return time_key(phase, pass) == time_key(pass); });
  if (found == phases.end()) return [](const Timeline& timeline) { return timeline.total(); };
  return [phase = static_cast<int>(*found)](const Timeline& timeline) { return timeline.total(phase); };
}

ReportedTime reported_time(const Plan& plan, Pass pass) { return reported_time(phases_of(plan), pass); }

double model_flops(Pass pass, double forward_flops) {
  switch (pass) {
    case Pass::kForward:
    case Pass::kInference: return forward_flops;
    case Pass::kBackward: return 2 * forward_flops;
    case Pass::kForwardBackward:
    case Pass::kStep: return 3 * forward_flops;
  }
  return 0;
}

}  // namespace laptime
