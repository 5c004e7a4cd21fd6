// Plans a rank's share with two layers, and counts the launches of one layer.
#include "cluster/rank_share.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "cluster/planned_activations.h"
#include "cluster/stored_types.h"
#include "model/gpt/editions.h"
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

// True for an elementwise launch that the program fuses with softmax, that is, for scaling or masking.
bool is_fused(const PlanStep& step, Program program) {
  return program == Program::kMegatron && step.work_class == WorkClass::kElementwise && !step.region.range.empty();
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

Prepared plan_share(const DescribedRun& run) {
  const RunConfig config = share_of(run);
  return prepare(config, find_device_of(config, run.program), MachineKnowledge{});
}

std::vector<ShareLaunch> share_launches(const DescribedRun& run, const Prepared& share) {
  const DataSheet machine = machine_of(run);
  const double rate = attention_rate(run.attention, machine);
  const double speedup = product_speedup(run.product_bits, machine);
  using Key = std::tuple<Phase, bool, LaunchWork::Kind, int64_t, int64_t, int64_t, double, double>;
  std::map<Key, ShareLaunch> launches;
  // Between products, tensor-parallel ranks divide the sequence (Korthikanti et al. 2022).
  const auto tensor = static_cast<double>(run.step.layout.tensor);
  for (const PlanStep& step : share.plan.steps) {
    if (step.region.layer >= 0 && step.region.layer != kPlannedLayers - 1) continue;
    const bool in_layer = step.region.layer >= 0;
    if (is_fused(step, run.program)) continue;
    auto bytes = static_cast<double>(step.bytes);
    if (step.phase == Phase::kOptimizer) {
      if (run.all_16_bits) bytes /= 2;
    } else if (run.stores_16_bits && in_layer) {
      if (step.work_class == WorkClass::kCast) continue;
      bytes = bytes_in_16_bits(step);
    }
    if (!in_layer && writes_loss_out(run) && step.phase != Phase::kOptimizer &&
        step.kernel->op->kind != OpKind::kContraction)
      bytes *= kParallelLoss;
    LaunchWork work = work_of(*step.kernel->op, step.in, step.out, step.flops, bytes);
    if (in_layer && work.kind == LaunchWork::Kind::kOther && step.phase != Phase::kOptimizer &&
        work.written.columns == share.config.model.d_model) {
      work.flops /= tensor;
      work.bytes /= tensor;
    }
    if (work.kind == LaunchWork::Kind::kAttention) work.flops *= static_cast<double>(run.step.layout.context) / rate;
    if (work.kind == LaunchWork::Kind::kProduct && in_layer) work.speedup = speedup;
    const OutputMatrices& written = work.written;
    const Key key{step.phase,   in_layer,        work.kind,  written.count,
                  written.rows, written.columns, work.flops, work.bytes};
    ++launches.try_emplace(key, ShareLaunch{step.phase, in_layer, work, 0}).first->second.count;
  }
  std::vector<ShareLaunch> all;
  all.reserve(launches.size());
  for (const auto& [key, launch] : launches) all.push_back(launch);
  return all;
}

RankWork rank_work(const std::vector<ShareLaunch>& launches, const LaunchTimes& times, bool is_recorded) {
  RankWork work;
  for (const ShareLaunch& launch : launches) {
    const auto count = static_cast<double>(launch.count);
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
    if (launch.in_layer && launch.phase == Phase::kForward && launch.work.kind == LaunchWork::Kind::kAttention)
      work.layer_attention = work.layer_attention + busy;
  }
  return work;
}

size_t SharePlans::index_of(const DescribedRun& run) {
  const ParallelLayout& layout = run.step.layout;
  const std::string key = fmt::format("{} {} {} {} {} {} {} {}", canonical_text(share_of(run)), name_of(run.program),
                                      static_cast<int>(run.attention), run.product_bits, run.stores_16_bits,
                                      run.all_16_bits, layout.context, layout.tensor * layout.pipeline > 1);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  shares_.push_back(share_launches(run, plan_share(run)));
  return known_[key] = shares_.size() - 1;
}

const PlannedActivations& SharePlans::activations_of(const DescribedRun& run) {
  DescribedRun recomputing = run;
  recomputing.config.recompute = run.step.checkpointing == Checkpointing::kFull ? "block" : "none";
  const ParallelLayout& layout = run.step.layout;
  const std::string key =
      fmt::format("{} {} {}", canonical_text(share_of(recomputing)), layout.tensor, layout.shard == Shard::kParameters);
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
  const RankWork work = rank_work(plans.all()[share], *device.launch_times, run.is_recorded);
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
  if (run.step.layout.ranks > 1) return machine.parallel;
  return known_runs(machine, run.program, config_as(run.config, run.program).mode);
}

}  // namespace laptime
