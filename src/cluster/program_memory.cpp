// Plans a point as the step of a single rank, for its memory.
#include "cluster/program_memory.h"

#include <cmath>

#include "base/units.h"

namespace laptime {
namespace {

// The step as one rank. `config` may have any batch: the largest micro-batch counts.
std::optional<ParallelPlan> plan_alone(RunConfig config, Program program, SharePlans& plans) {
  const std::string& recompute = config.recompute;
  const bool is_auto = recompute == "auto";
  if (config.pass != Pass::kStep || config.accumulate || config.optimizer_in_backward ||
      !(is_auto || recompute == "none" || recompute == "block"))
    return std::nullopt;
  // as_program() turns a kept flash attention into an empty place in the list of lowered composites.
  constexpr std::string_view kFlashAttention = "scaled_dot_product_attention";
  if (config.lower && config.lower->find(kFlashAttention) == std::string::npos) config.keep = kFlashAttention;
  const int64_t micro_batches = config.micro_batches;
  config.model.batch_size = (config.model.batch_size + micro_batches - 1) / micro_batches * micro_batches;
  ParallelChoice choice{.layout = {}, .micro_batches = micro_batches};
  if (recompute == "block") choice.checkpointing = Checkpointing::kFull;
  ParallelPlan plan = plan_parallel(config, program, choice, plans);
  if (is_auto && plan.refusal.empty() && !plan.fits()) {
    choice.checkpointing = Checkpointing::kFull;
    plan = plan_parallel(config, program, choice, plans);
  }
  return plan.refusal.empty() ? std::optional(std::move(plan)) : std::nullopt;
}

}  // namespace

std::optional<double> memory_excess(const RunConfig& config, Program program, SharePlans& plans) {
  const std::optional<ParallelPlan> plan = plan_alone(config, program, plans);
  return plan ? std::optional(plan->bytes.total() - plan->available) : std::nullopt;
}

bool set_memory(const RunConfig& config, Program program, SharePlans& plans, PlannedPoint& planned) {
  const std::optional<ParallelPlan> plan = plan_alone(config, program, plans);
  if (!plan) return false;
  Record& record = planned.record;
  const int64_t bytes = std::llround(plan->bytes.total());
  record.memory = {};
  record.memory.predicted_peak_bytes = bytes;
  record.memory.recompute = plan->run.step.checkpointing == Checkpointing::kFull ? "block" : "none";
  record.bytes_available = std::llround(std::floor(plan->available));
  record.bytes_requested.reset();
  record.reason.clear();
  record.status = plan->fits() ? Status::kOk : Status::kOutOfMemory;
  if (plan->fits()) return true;
  record.bytes_requested = bytes;
  record.reason =
      fmt::format("predicted: {} needed, {} available", format_bytes(bytes), format_bytes(*record.bytes_available));
  if (plan->run.step.checkpointing == Checkpointing::kFull) return true;
  RunConfig recomputing = config;
  recomputing.recompute = "block";
  const std::optional<double> excess = memory_excess(recomputing, program, plans);
  planned.fitting_recompute = excess && *excess <= 0 ? "block" : "nothing fits";
  return true;
}

}  // namespace laptime
