// Plans a point as the step of a single rank, for its memory.
#include "cluster/program_memory.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "base/words.h"
#include "report/answer.h"

namespace laptime {
namespace {

// Plans the step as a single rank. A batch that micro-batches do not divide evenly is rounded up.
std::optional<ParallelPlan> plan_alone(RunConfig config, Program program, SharePlans& plans) {
  const bool is_auto = config.recompute == "auto";
  if (program == Program::kLaptime || config.pass != Pass::kStep || config.accumulate || config.optimizer_in_backward ||
      !(is_auto || config.recompute == "none" || config.recompute == "block"))
    return std::nullopt;
  const int64_t micro_batches = config.micro_batches;
  config.model.batch_size = (config.model.batch_size + micro_batches - 1) / micro_batches * micro_batches;
  ParallelChoice choice{.layout = {}, .micro_batches = micro_batches};
  if (config.recompute == "block") choice.checkpointing = Checkpointing::kFull;
  ParallelPlan plan = plan_parallel(config, program, choice, plans);
  if (is_auto && plan.refusal.empty() && !plan.fits()) {
    choice.checkpointing = Checkpointing::kFull;
    plan = plan_parallel(config, program, choice, plans);
  }
  return plan.refusal.empty() ? std::optional(std::move(plan)) : std::nullopt;
}

bool recomputes(const ParallelPlan& plan) { return plan.run.step.checkpointing == Checkpointing::kFull; }

std::string recompute_of(const ParallelPlan& plan) { return recomputes(plan) ? "block" : "none"; }

int64_t whole_bytes(double bytes) { return static_cast<int64_t>(bytes); }

// Why the step does not fit; empty if it does.
std::string shortage_of(const ParallelPlan& plan) {
  return plan.fits() ? ""
                     : fmt::format("predicted: {} needed, {} available", format_bytes(whole_bytes(plan.bytes.total())),
                                   format_bytes(whole_bytes(plan.available)));
}

struct MemoryPart {
  std::string_view key, name;
  double bytes = 0;
};

// The parts that need any bytes, the largest first.
std::vector<MemoryPart> parts_of(const RankBytes& bytes) {
  std::vector<MemoryPart> parts{{"parameter", "parameters", bytes.parameters},
                                {"gradient", "gradients", bytes.gradients},
                                {"optimizer_state", "optimizer state", bytes.optimizer},
                                {"gathered", "copies of parameters, buckets of gradients", bytes.gathered},
                                {"activation", "activations", bytes.activations},
                                {"loss", "loss", bytes.loss},
                                {"framework", "device context and gaps", bytes.framework}};
  std::erase_if(parts, [](const MemoryPart& part) { return part.bytes <= 0; });
  std::ranges::stable_sort(parts, std::ranges::greater{}, &MemoryPart::bytes);
  return parts;
}

}  // namespace

ProgramPoint program_point(const ResolvedPoint& given, Program program, SharePlans& plans) {
  ProgramPoint one{as_program(given, program), std::nullopt};
  if (!one.point.device) return one;
  one.rank = plan_alone(given.config, program, plans);
  if (one.rank) one.point.config.recompute = recompute_of(*one.rank);
  return one;
}

std::optional<double> memory_excess(const RunConfig& config, Program program, SharePlans& plans) {
  const std::optional<ParallelPlan> plan = plan_alone(config, program, plans);
  return plan ? std::optional(plan->bytes.total() - plan->available) : std::nullopt;
}

void set_memory(const ResolvedPoint& given, const ProgramPoint& one, SharePlans& plans, PlannedPoint& planned) {
  const ParallelPlan& plan = *one.rank;
  Record& record = planned.record;
  record.config.json()["recompute"] = given.config.recompute;
  record.memory = {};
  record.memory.predicted_peak_bytes = whole_bytes(plan.bytes.total());
  record.memory.recompute = recompute_of(plan);
  record.bytes_available = whole_bytes(plan.available);
  record.bytes_requested.reset();
  record.reason = shortage_of(plan);
  record.status = plan.fits() ? Status::kOk : Status::kOutOfMemory;
  if (plan.fits()) return;
  record.bytes_requested = record.memory.predicted_peak_bytes;
  if (recomputes(plan)) return;
  RunConfig recomputing = given.config;
  recomputing.recompute = "block";
  const std::optional<double> excess = memory_excess(recomputing, plan.run.program, plans);
  planned.fitting_recompute = excess && *excess <= 0 ? "block" : "nothing fits";
}

void set_memory(const ResolvedPoint& given, const ProgramPoint& one, Explanation& explanation) {
  const ParallelPlan& plan = *one.rank;
  const RankBytes& bytes = plan.bytes;
  explanation.config.json()["recompute"] = given.config.recompute;
  MemoryNeed need;
  need.predicted_peak_bytes = whole_bytes(bytes.total());
  need.resident_bytes = whole_bytes(bytes.parameters + bytes.optimizer);
  need.arena_bytes = whole_bytes(bytes.allocated()) - need.resident_bytes;
  need.live_peak_bytes = need.arena_bytes;
  std::vector<std::string> terms;
  for (const auto& [key, name, part] : parts_of(bytes)) {
    need.parts[std::string(key)] = whole_bytes(part);
    terms.push_back(fmt::format("{} {}", name, format_bytes(whole_bytes(part))));
  }
  need.arithmetic = fmt::format("{} = {}", format_bytes(need.predicted_peak_bytes), joined(terms, " + "));
  need.available_bytes = whole_bytes(plan.available);
  need.limit = explanation.memory->limit;
  need.does_not_fit = shortage_of(plan);
  explanation.memory = std::move(need);
}

Table memory_table(const RankBytes& bytes) {
  Table table{.name = "memory", .columns = columns_from("<part=at the peak; bytes=bytes; share=share")};
  const auto add = [&](std::string_view part, double of_part) {
    table.add({std::string(part), whole_bytes(of_part), of_part / bytes.total()});
  };
  for (const MemoryPart& part : parts_of(bytes)) add(part.name, part.bytes);
  add("peak", bytes.total());
  return table;
}

}  // namespace laptime
