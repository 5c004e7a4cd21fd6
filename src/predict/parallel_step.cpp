// Adds up computation, bubbles and exposed communication. tools/predicted_times.py has the same formulas.
#include "predict/parallel_step.h"

#include <algorithm>

#include "base/error.h"

namespace laptime {
namespace {

constexpr double kFloat32Bytes = 4;
constexpr double kExposedShare = 0.3;  // fraction of overlapping communication that still costs time
constexpr double kFullShare = 0.75;  // fraction of forward that full checkpointing recomputes: all but the last product
constexpr double kExposedReductions = 0.25;    // exposed fraction of tensor parallel communication, if it is overlapped
constexpr double kSelectiveShare = 0.5;        // fraction of forward that selective checkpointing recomputes
constexpr double kHiddenByBackward = 2.0 / 3;  // fraction of a micro-batch during which gradients become ready
constexpr double kFilledBubbles = 1.0 / 3;  // remaining fraction of a bubble in zero-bubble schedules (Qi et al. 2023)
constexpr double kHostUpdateBytes = 32;     // bytes of host memory that the host moves to update one parameter
constexpr double kHostBandwidth = 130e9;    // bytes/s of a node's host memory

struct Links {
  const DataSheet& machine;
  double network = 0;

  // Bytes/s in one direction of the slowest link in a ring of ranks that are `stride` apart. Up to `stride` such rings
  // share a node's network.
  double ring(int64_t ranks, int64_t stride) const {
    const double link = machine.link_bandwidth * machine.reached_link;
    if (ranks * stride <= machine.link_devices) return link;
    return std::min(link, network * machine.reached_link / static_cast<double>(std::min(stride, machine.link_devices)));
  }
  double gather(double bytes, int64_t ranks, int64_t stride) const {
    const auto count = static_cast<double>(ranks);
    return ranks <= 1 ? 0 : (count - 1) / count * bytes / ring(ranks, stride) + machine.link_latency;
  }
};

double beside(double computation, double communication) {
  return std::max(computation, communication) + kExposedShare * std::min(computation, communication);
}

// The fraction of embedding, head and loss that adds to the time of the slowest pipeline rank. With an
// interleaved schedule, the rank with the head may have fewer layers, by up to one chunk.
double share_of_ends(double layer, double ends, const ParallelLayout& layout, int64_t layers) {
  if (layout.chunks == 1 || ends <= 0) return 1;
  const auto ranks = static_cast<double>(layout.pipeline);
  const double piece = layer * static_cast<double>(layers) / ranks / static_cast<double>(layout.chunks);
  const double rest = std::max(0.0, ends - piece);
  return (rest + (ends - rest) / ranks) / ends;
}

double recomputed_share(Checkpointing checkpointing) {
  if (checkpointing == Checkpointing::kFull) return kFullShare;
  return checkpointing == Checkpointing::kSelective ? kSelectiveShare : 0;
}

}  // namespace

int64_t sharers_of(const ParallelLayout& layout, const DataSheet& machine) {
  return layout.shards_in_node ? std::min(layout.sharers(), machine.devices_of_node()) : layout.sharers();
}

Exchange exchange_of(Program program, const ParallelStep& step) {
  // docs/ranks.md: laptime exchanges float32, whatever the type of activations.
  if (program == Program::kLaptime) return {kFloat32Bytes, kFloat32Bytes, true};
  const Shard shard = step.layout.shard;
  // FSDP reduces gradients in the type of the gathered parameters. Megatron, DistributedDataParallel and ZeRO reduce
  // those of float32 parameters in float32.
  const double reduced = shard == Shard::kParameters ? step.value_bytes : kFloat32Bytes;
  return {step.value_bytes, reduced, shard < Shard::kGradients};
}

ParallelTime parallel_time(const LaunchTimes& times, const DataSheet& machine, const RankWork& work,
                           const ParallelStep& step) {
  const ParallelLayout& layout = step.layout;
  if (layout.ranks > 1 && machine.link_devices == 0)
    throw Error::format(
        "{}: the machine file describes no links, so a step of {} ranks cannot be predicted; give a machine with "
        "links, such as --device h100",
        machine.name, layout.ranks);
  const Links links{machine, step.network_bandwidth > 0 ? step.network_bandwidth : machine.network_bandwidth};
  const double stage = static_cast<double>(step.layers) / static_cast<double>(layout.pipeline);
  const double share = step.parameters / static_cast<double>(layout.tensor * layout.pipeline);
  const double recomputed = recomputed_share(step.checkpointing);

  Busy layer = work.layer_forward + work.layer_backward + work.layer_forward * recomputed;
  if (step.checkpointing == Checkpointing::kAttention) layer = layer + work.layer_attention;
  const Busy ends = work.ends_forward + work.ends_backward;
  const double evened = layout.pipeline == 1 ? 1 : share_of_ends(layer.kernels, ends.kernels, layout, step.layers);
  const Busy micro = layer * stage + ends * evened;
  ParallelTime time;
  const Busy forward = work.layer_forward * stage + work.ends_forward;
  time.forward = times.together(forward.kernels, forward.host);
  double busy = times.together(micro.kernels, micro.host);
  time.backward = busy - time.forward;

  if (layout.context > 1) {
    const auto others = static_cast<double>(layout.context - 1);
    const double received =
        2 * step.value_bytes * others * step.tokens * step.kv_width / static_cast<double>(layout.tensor);
    const double passed = 3 * stage * received / links.ring(layout.context, layout.tensor);
    busy = beside(busy, passed);
  }
  const double reductions = step.checkpointing == Checkpointing::kFull ? 6 : 4;  // all-reductions per layer
  const double activations = step.value_bytes * step.tokens * step.d_model;
  const double exposed = times.program() == Program::kMegatron ? kExposedReductions : 1;
  const double tensor = exposed * stage * reductions * 2 * links.gather(activations, layout.tensor, 1);
  busy += tensor;

  const int64_t in_node = machine.devices_of_node();
  const int64_t group = sharers_of(layout, machine);
  double whole = busy;  // seconds of a micro-batch, including its communication
  double reduction = 0;
  const auto micro_batches = static_cast<double>(step.micro_batches);
  const Exchange exchange = exchange_of(times.program(), step);
  double scatters = 1;  // reduce-scatters of each gradient per step
  if (layout.shard == Shard::kParameters) {
    const double scattered = exchange.reduces_once ? 0 : exchange.reduced_bytes;
    const double gathered = links.gather((2 * exchange.gathered_bytes + scattered) * share, group, layout.tensor);
    if (gathered > 0) whole = beside(busy, gathered);
    if (exchange.reduces_once) reduction = links.gather(exchange.reduced_bytes * share, group, layout.tensor);
    // With HSDP, each device sums its own shard over the nodes, with its share of the node's network.
    const double shard = exchange.reduced_bytes * share / static_cast<double>(group);
    reduction += 2 * links.gather(shard, layout.sharers() / group, group);
  } else {
    const double after = layout.shard == Shard::kNone ? exchange.reduced_bytes : exchange.gathered_bytes;
    if (!exchange.reduces_once) scatters = micro_batches;
    reduction = links.gather((exchange.reduced_bytes * scatters + after) * share, layout.sharers(), layout.tensor);
  }
  double bubbles = static_cast<double>(layout.pipeline - 1) / static_cast<double>(layout.chunks);
  if (layout.fills_bubbles) bubbles *= kFilledBubbles;
  time.bubble = bubbles * whole;
  time.exposed_tensor = micro_batches * tensor;
  // Gradients are reduced while other pipeline ranks still compute.
  const double hiding = kHiddenByBackward * whole * static_cast<double>(layout.pipeline) * scatters;
  const double exposed_reduction = reduction > 0 ? beside(hiding, reduction) - hiding : 0;
  time.exposed_data = micro_batches * (whole - busy) + exposed_reduction;

  const double updates = layout.shard == Shard::kNone ? 1 : static_cast<double>(group);
  Busy update = work.layer_optimizer * stage + work.ends_optimizer;
  update.kernels /= updates;
  if (layout.offloads) {
    const auto nodes = std::max(1.0, static_cast<double>(layout.ranks) / static_cast<double>(in_node));
    update = {step.parameters * kHostUpdateBytes / kHostBandwidth / nodes, 0};
  }
  time.step = (micro_batches + bubbles) * whole + exposed_reduction;
  if (layout.ranks == 1) {  // the host already launches the optimizer while the device runs backward
    const Busy all = micro * micro_batches + update;
    time.optimizer = times.together(all.kernels, all.host) - time.step;
  } else {
    time.optimizer = times.together(update.kernels, update.host);
  }
  time.step += time.optimizer;
  return time;
}

}  // namespace laptime
