// Adds up the bytes of a rank.
#include "predict/rank_bytes.h"

#include <algorithm>
#include <cmath>

namespace laptime {
namespace {

constexpr double kShort = 2;  // bytes of a 16-bit value
constexpr double kLong = 4;
constexpr double kContext = 0.6 * (1 << 30);  // bytes of a CUDA context
constexpr double kBuffers = 1.2 * (1 << 30);  // bytes of NCCL's channel buffers

// Bytes per micro-batch that a layer saves for backward, and bytes of the gradients within the layer.
struct LayerSaved {
  double all = 0;
  double input = 0;      // the input of the layer, included in `all`
  double selective = 0;  // saved if every second product is recomputed
  double gradients = 0;  // gradients of values within the layer, during its backward
};

LayerSaved saved_of_layer(const ModelConfig& model, bool has_gate, const ParallelStep& step,
                          const StoredTypes& stored) {
  const auto width = static_cast<double>(model.d_model);
  const auto wide = static_cast<double>(model.d_ff);
  const auto tensor = static_cast<double>(step.layout.tensor);
  const double value = step.value_bytes;
  const auto heads = static_cast<double>(model.num_heads);
  const double query_width = heads * static_cast<double>(model.d_head());  // also the width of attention's output
  // Norms before attention and feed-forward, divided among tensor parallel ranks by sequence parallelism (Megatron).
  double norms = 2 * stored.norm_bytes * width / tensor;
  if (stored.gathers_inputs) norms += 2 * value * width * (1 - 1 / tensor);
  const double kv_width = stored.repeats_heads ? query_width : step.kv_width;
  double attention = 2 * query_width + 2 * kv_width;  // queries, keys, values and output
  if (stored.keeps_layouts) attention += query_width + 2 * kv_width;
  const double feed_forward = (has_gate ? (stored.fuses_gate ? 3 : 4) : 2) * wide;
  LayerSaved saved;
  saved.all = step.tokens * (norms + value * (attention + feed_forward) / tensor);
  if (step.checkpointing == Checkpointing::kNone)
    saved.all += stored.score_bytes * step.tokens * static_cast<double>(model.context_length) * heads / tensor;
  saved.input = value * step.tokens * width / tensor;
  // Input, queries, values, the output of attention, one wide product and the narrow one after it (torchtitan).
  saved.selective = value * step.tokens * (2 * width + 2 * query_width + step.kv_width + wide) / tensor;
  // Gradients of one wide product, of the output of attention and of the output of the layer.
  saved.gradients = value * step.tokens * (wide + query_width + width) / tensor;
  return saved;
}

PlannedActivations described_activations(const LayerSaved& saved, Checkpointing checkpointing, double loss) {
  PlannedActivations planned{.layer = saved.all, .loss = loss};
  if (checkpointing == Checkpointing::kFull) {
    planned.layer = saved.input;
    planned.working = saved.all + saved.gradients;
  } else if (checkpointing == Checkpointing::kSelective) {
    planned.layer = std::min(saved.selective, saved.all);
    planned.working = saved.all - planned.layer + saved.gradients;
  }
  return planned;
}

// Number of layers of the first pipeline rank, which holds the most activations. With balancing, a rank takes layers
// until its work exceeds an even share of the work of all layers and the head.
double layers_of_first_rank(double layers, double layer_work, double head_work, const ParallelLayout& layout,
                            bool balances) {
  const auto ranks = static_cast<double>(layout.pipeline);
  if (layout.pipeline == 1 || !balances) return std::ceil(layers / ranks);
  const double share = (layers * layer_work + head_work) / ranks;
  return std::min(layers, std::floor(share / layer_work) + 1);
}

// Peak bytes once backward has reached the first layer, beyond the gradients or shards of gradients that a rank keeps.
// `late` is this peak for a rank that reduces nothing. A rank that keeps shards holds the whole last bucket until it
// is reduced.
double late_peak(double late, const StoredTypes& stored, Shard shard, double sharers) {
  const double of_others = stored.last_bucket * (1 - 1 / sharers);
  const double received = stored.receives_gradients ? of_others : 0;
  return shard < Shard::kGradients ? std::max(late, received)
                                   : std::max(late + of_others, stored.last_bucket + received);
}

}  // namespace

RankBytes rank_bytes(const ModelConfig& model, bool has_gate, const ParallelStep& step, const StoredTypes& stored) {
  const ParallelLayout& layout = step.layout;
  const auto tensor = static_cast<double>(layout.tensor);
  const int64_t most = stored.most_sharers > 0 ? stored.most_sharers : layout.sharers();
  const auto sharers = static_cast<double>(std::min(layout.sharers(), most));
  const double vocabulary = static_cast<double>(model.vocab_size) / tensor;
  const double table = vocabulary * static_cast<double>(model.d_model);
  const auto layers = static_cast<double>(step.layers);
  const double in_layer = std::max(0.0, step.parameters / tensor - (model.weight_tie ? 1 : 2) * table) / layers;
  const double stage = layers_of_first_rank(layers, in_layer, table, layout, stored.balances_stages);
  const double parameters = layout.pipeline == 1 ? step.parameters / tensor : stage * in_layer + table;

  const auto part = [&](Shard from) { return layout.shard >= from ? sharers : 1; };
  const double of_parameter = stored.all_16_bits || stored.keeps_master ? kShort : kLong;
  const double of_gradient = stored.all_16_bits ? kShort : kLong;
  RankBytes bytes;
  bytes.parameters = of_parameter * parameters / part(Shard::kParameters);
  const double whole_gradients = of_gradient * parameters;
  // A pipeline rank keeps gathered parameters between micro-batches, and reduces gradients after the last micro-batch.
  // Until then it holds whole gradients, as all ranks do that reduce once per step; reducing a gradient frees it.
  const bool accumulates = step.micro_batches > 1;
  const bool keeps_stage = accumulates && layout.shard == Shard::kParameters && layout.pipeline > 1;
  const bool adds_to_whole = keeps_stage || (accumulates && stored.reduces_once);
  bytes.gradients = whole_gradients / (adds_to_whole ? 1 : part(Shard::kGradients));
  const double state = 2 * stored.moment_bytes + (stored.keeps_master ? kLong : 0);
  bytes.optimizer = layout.offloads ? 0 : state * parameters / part(Shard::kOptimizer);
  if (layout.shard == Shard::kParameters) {
    const double live =
        stored.live_parameters > 0 ? std::min(stored.live_parameters, parameters) : 2 * in_layer + table;
    bytes.gathered =
        (stored.gathered_bytes > 0 ? stored.gathered_bytes : step.value_bytes) * (keeps_stage ? parameters : live);
  } else if (step.value_bytes < of_parameter && (!stored.planned || stored.planned->stores_copies)) {
    bytes.gathered = step.value_bytes * parameters;
  }
  if (layout.shard >= Shard::kGradients) bytes.gathered += stored.bucket_bytes;
  if (layout.shard == Shard::kNone && layout.sharers() > 1 && stored.buckets_gradients)
    bytes.gathered += whole_gradients;

  const auto [kept, working, loss, late, stores_copies] =
      stored.planned ? *stored.planned
                     : described_activations(saved_of_layer(model, has_gate, step, stored), step.checkpointing,
                                             stored.logit_bytes * step.tokens * vocabulary);
  const double in_flight = static_cast<double>(std::min(layout.pipeline, step.micro_batches));
  // Backward has freed the loss before it recomputes a layer. The last pipeline rank holds the loss and one micro-batch
  // in flight.
  const double first = kept * stage * in_flight + working;
  const double last = kept * stage + std::max(working, loss);
  const bool is_first = layout.pipeline > 1 && first >= last;
  bytes.activations = kept * stage * (is_first ? in_flight : 1);
  if (is_first || working > loss) {
    bytes.activations += working;
  } else {
    bytes.loss = loss;
  }
  // Gradients grow while activations shrink, so the peak is at the beginning or at the end of backward. 16-bit copies
  // count throughout, although copies for later layers have been freed by the end.
  if (stored.frees_gradients) {
    const double growing = accumulates ? 0 : bytes.gradients;
    const double last_peak = accumulates ? late : late_peak(late, stored, layout.shard, sharers);
    // By then, planned steps have freed gathered parameters and earlier buckets, but not 16-bit copies.
    const double buckets = layout.shard >= Shard::kGradients ? stored.bucket_bytes : 0;
    const double freed =
        stored.planned && layout.shard == Shard::kParameters && !accumulates ? bytes.gathered : buckets;
    if (growing + last_peak > bytes.activations + bytes.loss + freed) {
      bytes.activations = last_peak;
      bytes.loss = 0;
      bytes.gathered -= freed;
    } else {
      bytes.gradients -= growing;
    }
  }
  bytes.framework = layout.ranks > 1 ? kBuffers : 0;
  if (!stored.planned) bytes.framework += kContext + bytes.reserved() - bytes.allocated();
  return bytes;
}

}  // namespace laptime
