// Plans a rank's share with two layers, and counts the launches of one layer.
#include "cluster/rank_share.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "cluster/planned_activations.h"
#include "cluster/stored_types.h"
#include "model/gpt/editions.h"
#include "prepare/prepare.h"
#include "prepare/resolved_point.h"

namespace laptime {
namespace {

constexpr double kReachedFloat8 = 0.8;  // fraction of peak that float8 products reach, relative to 16-bit products
constexpr double kReachedFloat4 = 0.6;
// Rates of flash attention: version 1 (Dao et al. 2022) relative to version 2 (Dao 2023), and version 2 relative to the
// best kernel. The second rate is for machines with float8 tensor cores, for which version 2 was not written.
constexpr double kFirstKernel = 0.55;
constexpr double kSecondKernel = 0.6;
constexpr int64_t kPlannedLayers = 2;

int64_t part_of(int64_t whole, int64_t parts) { return std::max<int64_t>(1, (whole + parts - 1) / parts); }

double attention_rate(AttentionKernel kernel, const DataSheet& machine) {
  const double second = machine.float8 > 0 ? kSecondKernel : 1;
  if (kernel == AttentionKernel::kFirst) return kFirstKernel * second;
  return kernel == AttentionKernel::kSecond ? second : 1;
}

double product_speedup(int64_t bits, const DataSheet& machine) {
  if (bits == 4 && machine.float4 > 0) return kReachedFloat4 * machine.float4 / machine.bfloat16;
  return bits < 16 && machine.float8 > 0 ? kReachedFloat8 * machine.float8 / machine.bfloat16 : 1;
}

double bytes_in_16_bits(const PlanStep& step) {
  int64_t elements = 0;
  for (const auto* operands : {&step.in, &step.out}) {
    for (const Operand& operand : *operands) elements += operand.buffer < 0 ? 0 : operand.type.numel();
  }
  return std::min(static_cast<double>(step.bytes), 2.0 * static_cast<double>(elements));
}

// Without fusion, ranks that divide a model compute the loss op by op in float32 (like Megatron's vocabulary-parallel
// cross-entropy), which moves more bytes than the loss of one device.
constexpr double kParallelLoss = 3;
bool writes_loss_out(const DescribedRun& run) {
  return run.program == Program::kPyTorchEager && run.step.layout.tensor * run.step.layout.pipeline > 1;
}

// True if the step adds a gradient of a parameter to another.
bool adds_gradients(const Plan& plan, const PlanStep& step) {
  if (step.phase != Phase::kBackward || !step.kernel->op->is_sum) return false;
  const int sum = step.out[0].buffer;
  return sum >= 0 && plan.buffers[static_cast<size_t>(sum)].role == Role::kGradient;
}

// The number of ranks that share the work of adding the gradients of several micro-batches; 0 if no launch does this.
// Megatron needs no such launch: its products add to the step's gradients, in the first micro-batch, too.
int64_t sharers_of_sum(const DescribedRun& run) {
  if (run.step.micro_batches == 1 || run.program == Program::kMegatron) return 0;
  return exchange_of(run.program, run.step).reduces_once ? 1 : sharers_of(run.step.layout, machine_of(run));
}

}  // namespace

RunConfig share_of(const DescribedRun& run) {
  RunConfig config = config_as(run.config, run.program);
  const ParallelLayout& layout = run.step.layout;
  ModelConfig& model = config.model;
  model.num_layers = kPlannedLayers;
  model.head_dim = model.d_head();
  model.num_kv_heads = part_of(model.kv_heads(), layout.tensor);
  model.num_heads = part_of(model.num_heads, layout.tensor);
  if (model.num_heads % *model.num_kv_heads != 0)
    throw Error::format("num_kv_heads ({}) cannot be split evenly over {} tensor-parallel ranks",
                        run.config.model.kv_heads(), layout.tensor);
  model.d_ff = part_of(model.d_ff, layout.tensor);
  model.vocab_size = part_of(model.vocab_size, layout.tensor);
  model.context_length = part_of(model.context_length, layout.context);
  return config;
}

namespace {

Prepared plan_share(const DescribedRun& run) {
  const RunConfig config = share_of(run);
  return prepare(config, find_device_of(config, run.program), MachineKnowledge{},
                 {.recomputes_cheap_ops = run.recomputes_cheap_ops});
}

using Key = std::tuple<Phase, bool, bool, LaunchWork::Kind, int64_t, int64_t, int64_t, double, double>;
using Launches = std::map<Key, ShareLaunch>;

// The entry of the launch, whose counts are 0 if it is new.
ShareLaunch& entry_of(Launches& launches, ShareLaunch launch) {
  const LaunchWork& work = launch.work;
  const OutputMatrices& written = work.written;
  const Key key{launch.phase, launch.in_layer, launch.in_attention, work.kind, written.count,
                written.rows, written.columns, work.flops,          work.bytes};
  launch.count = launch.later = 0;
  return launches.try_emplace(key, launch).first->second;
}

// Counts the launches of a step of this many micro-batches.
Launches planned_launches(DescribedRun run, int64_t micro_batches) {
  run.config.micro_batches = micro_batches;
  run.config.model.batch_size *= micro_batches;
  const Prepared share = plan_share(run);
  const DataSheet machine = machine_of(run);
  const double rate = attention_rate(run.attention, machine);
  const double speedup = product_speedup(run.product_bits, machine);
  Launches launches;
  const auto tensor = static_cast<double>(run.step.layout.tensor);
  for (const PlanStep& step : share.plan.steps) {
    if (step.region.layer >= 0 && step.region.layer != kPlannedLayers - 1) continue;
    const bool in_layer = step.region.layer >= 0;
    auto bytes = static_cast<double>(step.bytes);
    const bool is_update = step.phase == Phase::kOptimizer || adds_gradients(share.plan, step);
    if (is_update) {
      if (run.all_16_bits) bytes /= 2;
    } else if (run.stores_16_bits && in_layer) {
      if (step.work_class == WorkClass::kCast) continue;
      bytes = bytes_in_16_bits(step);
    }
    if (!in_layer && writes_loss_out(run) && !is_update && step.kernel->op->kind != OpKind::kContraction)
      bytes *= kParallelLoss;
    LaunchWork work = work_of(*step.kernel->op, step.in, step.out, step.flops, bytes);
    if (in_layer && work.kind == LaunchWork::Kind::kOther && !is_update &&
        divides_rows(step.region, work.written.columns, share.config.model.d_model)) {
      work.flops /= tensor;
      work.bytes /= tensor;
    }
    if (work.kind == LaunchWork::Kind::kAttention) work.flops *= static_cast<double>(run.step.layout.context) / rate;
    if (work.kind == LaunchWork::Kind::kProduct && in_layer) work.speedup = speedup;
    ++entry_of(launches, {step.phase, in_layer, !step.region.range.empty(), work}).count;
  }
  return launches;
}

// Adds multiples of the launches of a planned step to the counts of the first and of each later micro-batch.
void add(const Launches& planned, int64_t first, int64_t later, Launches& launches) {
  for (const auto& [key, launch] : planned) {
    ShareLaunch& entry = entry_of(launches, launch);
    entry.count += first * launch.count;
    entry.later += later * launch.count;
  }
}

// Adds the launches that a step of two micro-batches has beyond two steps of one: PyTorch's autograd sums gradients in
// eager mode, even for a compiled model. Ranks that reduce each micro-batch's gradients sum only their parts.
void add_sums_of_gradients(DescribedRun run, int64_t sharers, Launches& launches) {
  run.program = Program::kPyTorchEager;
  Launches sums;
  add(planned_launches(run, 2), 0, 1, sums);
  add(planned_launches(run, 1), 0, -2, sums);
  for (auto& [key, launch] : sums) {
    const int64_t later = launch.later;
    if (later < 0) continue;  // no sum: a step of two micro-batches runs this launch less than twice as often
    if (launch.phase == Phase::kBackward) {
      launch.work.flops /= static_cast<double>(sharers);
      launch.work.bytes /= static_cast<double>(sharers);
    }
    entry_of(launches, launch).later += later;
  }
}

}  // namespace

std::vector<ShareLaunch> share_launches(const DescribedRun& run) {
  const int64_t sharers = sharers_of_sum(run);
  Launches launches;
  if (sharers > 0 && run.program == Program::kLaptime) {
    // A step of three micro-batches has one more later micro-batch than a step of two.
    add(planned_launches(run, 2), 2, -1, launches);
    add(planned_launches(run, 3), -1, 1, launches);
  } else {
    add(planned_launches(run, 1), 1, 1, launches);
    if (sharers > 0) add_sums_of_gradients(run, sharers, launches);
  }
  std::vector<ShareLaunch> all;
  all.reserve(launches.size());
  for (auto& [key, launch] : launches) {
    if (launch.phase == Phase::kOptimizer) launch.later = launch.count;
    if (launch.count != 0 || launch.later != 0) all.push_back(launch);
  }
  return all;
}

RankWork rank_work(const std::vector<ShareLaunch>& launches, const LaunchTimes& times, bool is_recorded,
                   int64_t micro_batches) {
  RankWork work;
  for (const ShareLaunch& launch : launches) {
    const double count = launch.mean_count(micro_batches);
    const bool is_free = is_recorded && launch.phase != Phase::kOptimizer;
    const Busy busy = Busy{times.kernel(launch.work), is_free ? 0 : times.host(launch.phase)} * count;
    Busy* part = nullptr;
    switch (launch.phase) {
      case Phase::kForward: part = launch.in_layer ? &work.layer_forward : &work.ends_forward; break;
      case Phase::kBackward: part = launch.in_layer ? &work.layer_backward : &work.ends_backward; break;
      case Phase::kOptimizer: part = launch.in_layer ? &work.layer_optimizer : &work.ends_optimizer; break;
      case Phase::kSetup: continue;
    }
    *part = *part + busy;
    if (launch.in_layer && launch.in_attention && launch.phase == Phase::kForward)
      work.layer_attention = work.layer_attention + busy;
  }
  return work;
}

size_t SharePlans::index_of(const DescribedRun& run) {
  const ParallelLayout& layout = run.step.layout;
  const std::string key = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {}", canonical_text(share_of(run)), name_of(run.program),
      static_cast<int>(run.attention), run.product_bits, run.stores_16_bits, run.all_16_bits, layout.context,
      layout.tensor, layout.tensor * layout.pipeline > 1, sharers_of_sum(run), run.recomputes_cheap_ops);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  shares_.push_back(share_launches(run));
  return known_[key] = shares_.size() - 1;
}

const PlannedActivations& SharePlans::activations_of(const DescribedRun& run) {
  DescribedRun recomputing = run;
  recomputing.config.recompute = run.step.checkpointing == Checkpointing::kFull ? "block" : "none";
  const ParallelLayout& layout = run.step.layout;
  const std::string key = fmt::format("{} {} {} {}", canonical_text(share_of(recomputing)), layout.tensor,
                                      layout.shard == Shard::kParameters, run.recomputes_cheap_ops);
  const auto found = activations_.find(key);
  if (found != activations_.end()) return found->second;
  const Prepared share = plan_share(recomputing);
  return activations_[key] = planned_activations(share.plan, kPlannedLayers, run.config.model.d_model, layout);
}

DataSheet machine_of(const DescribedRun& run) {
  return find_machine(std::string_view(run.config.device).substr(kMachinePrefix.size()));
}

ParallelTime time_of(const DescribedRun& run, SharePlans& plans) {
  const size_t share = plans.index_of(run);
  const Device device = find_device_of(share_of(run), run.program);
  const RankWork work = rank_work(plans.all()[share], *device.launch_times, run.is_recorded, run.step.micro_batches);
  return parallel_time(*device.launch_times, machine_of(run), work, run.step);
}

RankBytes bytes_of(const DescribedRun& run, SharePlans& plans) {
  const ModelConfig& model = run.config.model;
  const FeedForward form = gpt_edition(model.edition).feed_forward;
  StoredTypes stored = stored_types(run);
  if (run.program == Program::kLaptime) stored.planned = plans.activations_of(run);
  if (run.step.layout.shards_in_node) stored.most_sharers = machine_of(run).devices_of_node();
  return rank_bytes(model, form == FeedForward::kSwiglu || form == FeedForward::kSilu, run.step, stored);
}

KnownRuns known_errors(const DescribedRun& run) {
  const DataSheet machine = machine_of(run);
  const KnownRuns& alone = known_runs(machine, run.program, config_as(run.config, run.program).mode);
  if (run.step.layout.ranks == 1) return alone;
  if (run.program != Program::kLaptime) return machine.parallel;
  // No times of laptime on several devices are known, so its error on one device is combined with the error of other
  // programs on several.
  return {.figures = std::min(alone.figures, machine.parallel.figures),
          .low = alone.low * machine.parallel.low,
          .high = alone.high * machine.parallel.high};
}

}  // namespace laptime
