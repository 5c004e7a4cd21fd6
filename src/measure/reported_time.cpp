// Samples and FLOPs of a pass.
#include "measure/reported_time.h"

#include "model/parameters.h"

namespace laptime {

std::optional<Phase> reported_phase(const Plan& plan, Pass pass) {
  for (int phase = static_cast<int>(Phase::kForward); phase < kPhaseCount; ++phase) {
    const auto candidate = static_cast<Phase>(phase);
    if (plan.has(candidate) && time_key(candidate, pass) == time_key(pass)) return candidate;
  }
  return std::nullopt;
}

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

std::function<Seconds(const Timeline&)> reported_time(const Plan& plan, Pass pass) {
  const std::optional<Phase> phase = reported_phase(plan, pass);
  if (!phase) return [](const Timeline& timeline) { return timeline.total(); };
  return [phase = static_cast<int>(*phase)](const Timeline& timeline) { return timeline.total(phase); };
}

double model_flops(const RunConfig& config) {
  const auto forward = static_cast<double>(summarize(config.step_model()).forward_flops);
  switch (config.pass) {
    case Pass::kForward:
    case Pass::kInference: return forward;
    case Pass::kBackward: return 2 * forward;
    case Pass::kForwardBackward:
    case Pass::kStep: return 3 * forward;
  }
  return 0;
}

}  // namespace laptime
