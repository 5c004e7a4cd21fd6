// Adds up the bytes of a rank.
#include "predict/rank_bytes.h"

#include <algorithm>

namespace laptime {
namespace {

constexpr double kShort = 2;  // bytes of a 16-bit value
constexpr double kLong = 4;
constexpr double kScoreBytes = 5;  // of a score: softmax, its dropped copy, and the mask (Korthikanti et al. 2022)
constexpr double kContext = 0.6 * (1 << 30);  // of a CUDA process
constexpr double kBuffers = 1.2 * (1 << 30);  // of NCCL's channels
constexpr double kGaps = 0.05;                // of the allocator, beyond what is allocated

struct LayerSaved {
  double all = 0;    // bytes of a micro-batch
  double input = 0;  // of these, the input of the layer
};

LayerSaved saved_of_layer(const ModelConfig& model, bool has_gate, const ParallelStep& step,
                          const StoredTypes& stored) {
  const auto width = static_cast<double>(model.d_model);
  const auto tensor = static_cast<double>(step.layout.tensor);
  const auto heads = static_cast<double>(model.num_heads);
  // Inputs and outputs of both norms, divided as Megatron's sequence parallelism divides them.
  const double whole = (stored.fuses_norms ? 4 : 10) * width / tensor;
  const double heads_once = (width + step.kv_width) / tensor;          // q and k, or v and the output
  const double attention = (stored.fuses_norms ? 2 : 3) * heads_once;  // q and k also before RoPE
  const double feed_forward = (has_gate ? 4 : 2) * static_cast<double>(model.d_ff) / tensor;
  double bytes = kShort * step.tokens * (whole + attention + feed_forward);
  if (!stored.fuses_attention && step.checkpointing == Checkpointing::kNone)
    bytes += kScoreBytes * step.tokens * static_cast<double>(model.context_length) * heads / tensor;
  return {bytes, kShort * step.tokens * width / tensor};
}

}  // namespace

RankBytes rank_bytes(const ModelConfig& model, bool has_gate, const ParallelStep& step, const StoredTypes& stored) {
  const ParallelLayout& layout = step.layout;
  const double parameters = step.parameters / static_cast<double>(layout.tensor * layout.pipeline);
  const auto data = static_cast<double>(layout.data());
  const auto part = [&](Shard from) { return layout.shard >= from ? data : 1; };
  const double of_parameter = stored.all_16_bits || stored.keeps_master ? kShort : kLong;
  RankBytes bytes;
  bytes.parameters = of_parameter * parameters / part(Shard::kParameters);
  bytes.gradients = (stored.all_16_bits ? kShort : kLong) * parameters / part(Shard::kGradients);
  const double moments = 2 * (stored.all_16_bits ? kShort : kLong) + (stored.keeps_master ? kLong : 0);
  bytes.optimizer = layout.offloads ? 0 : moments * parameters / part(Shard::kOptimizer);

  const double vocabulary = static_cast<double>(model.vocab_size) / static_cast<double>(layout.tensor);
  const double table = vocabulary * static_cast<double>(model.d_model);
  const auto layers = static_cast<double>(step.layers);
  const double stage = layers / static_cast<double>(layout.pipeline);
  if (of_parameter == kLong || layout.shard == Shard::kParameters) {
    const double in_layer = std::max(0.0, step.parameters / static_cast<double>(layout.tensor) - table) / layers;
    const bool gathers = layout.shard == Shard::kParameters;
    bytes.gathered = kShort * (gathers ? 2 * in_layer + table : in_layer * stage + table);
  }

  const LayerSaved saved = saved_of_layer(model, has_gate, step, stored);
  double kept = saved.all;
  double working = 0;
  if (step.checkpointing == Checkpointing::kFull) {
    kept = saved.input;
    working = saved.all;
  } else if (step.checkpointing == Checkpointing::kSelective) {
    kept = (saved.all + saved.input) / 2;
  }
  const double in_flight = static_cast<double>(std::min(layout.pipeline, step.micro_batches));
  const double loss = stored.logits * step.tokens * vocabulary * (kShort + 2 * kLong);
  bytes.activations = kept * stage * in_flight + working;
  if (layout.pipeline == 1) {
    bytes.loss = loss;
  } else if (const double last = kept * stage + working + loss; last > bytes.activations) {
    bytes.activations = kept * stage + working;  // the rank with the head holds most
    bytes.loss = loss;
  }
  bytes.framework = kContext + (layout.ranks > 1 ? kBuffers : 0) + kGaps * bytes.allocated();
  return bytes;
}

}  // namespace laptime
