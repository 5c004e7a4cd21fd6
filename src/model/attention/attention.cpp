// The card of --model attention: only scaled dot-product attention, with or without projections. Shapes: B batch,
// T positions, C d_model; the single head has width C.
#include <array>
#include <cmath>
#include <optional>

#include "config/model_presets.h"
#include "graph/structural_ops.h"
#include "model/model_card.h"
#include "model/modules.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

namespace laptime {
namespace {

constexpr auto kRefusedOptions = std::to_array<std::string_view>({"ranks",
                                                                  "shard",
                                                                  "tensor-parallel",
                                                                  "pipeline-parallel",
                                                                  "bucket",
                                                                  "oversubscribe",
                                                                  "d-ff",
                                                                  "num-layers",
                                                                  "num-heads",
                                                                  "vocab",
                                                                  "weight-tie",
                                                                  "bias",
                                                                  "embd-pdrop",
                                                                  "attn-pdrop",
                                                                  "resid-pdrop",
                                                                  "recompute",
                                                                  "optimizer",
                                                                  "lr",
                                                                  "beta1",
                                                                  "beta2",
                                                                  "eps",
                                                                  "weight-decay",
                                                                  "clip-norm",
                                                                  "accumulate",
                                                                  "crop-context",
                                                                  "init",
                                                                  "weights",
                                                                  "data",
                                                                  "data-format",
                                                                  "batches",
                                                                  "optimizer-in-backward",
                                                                  "moments",
                                                                  "loss-scale",
                                                                  "micro-batches",
                                                                  "num-kv-heads",
                                                                  "head-dim",
                                                                  "max-context",
                                                                  "norm-eps",
                                                                  "rope-theta",
                                                                  "rotary-share",
                                                                  "rope-scaling",
                                                                  "attention-bias",
                                                                  "mlp-bias",
                                                                  "parallel-residual",
                                                                  "pad-token"});

void fill_defaults(PartialConfig& partial) {
  constexpr int64_t kBatch = 8;
  constexpr int64_t kContext = 256;
  constexpr int64_t kWarmup = 5;
  constexpr int64_t kSteps = 10;
  RunConfig& config = partial.config;
  ModelConfig& model = config.model;
  const ModelPreset& preset = *find_preset(model.name, implied_edition(model.name).value());
  partial.fill(model.d_model, preset.d_model);
  partial.fill(model.context_length, kContext);
  partial.fill(model.batch_size, kBatch);
  partial.fill(config.pass, Pass::kForwardBackward);
  if (config.steps) partial.fill(config.warmup, kWarmup);
  if (config.warmup) partial.fill(config.steps, kSteps);
  model.d_ff = preset.d_ff;
  model.num_layers = preset.num_layers;
  model.num_heads = preset.num_heads;
  model.vocab_size = preset.vocab_size.value();
}

void check(const RunConfig&) {}  // every combination of width, length and batch is valid

std::string describe(const ModelConfig& model) {
  return fmt::format("attention alone, {}, d {}, batch {} x {} positions{}", model.causal ? "causal" : "full",
                     model.d_model, model.batch_size, model.context_length,
                     model.projections ? ", with projections" : "");
}

std::vector<std::string> kept_by_eager(const ModelConfig&) { return {}; }

class Attention {
 public:
  Attention(ModelBuilder& build, const ModelConfig& model) : build_(build), model_(model) {
    if (!model_.projections) return;
    const auto scope = build_.scope("attn");
    projections_.emplace(
        Projections{projection("q_proj"), projection("k_proj"), projection("v_proj"), projection("output_proj")});
  }

  // Output with shape [B, 1, T, C], or [B, T, C] with projections.
  ValueId run() {
    build_.current.frame = "forward";
    const AttentionAttributes attributes{.causal = model_.causal};
    const int64_t batch = model_.batch_size;
    const int64_t positions = model_.context_length;
    const int64_t width = model_.d_model;
    if (!projections_) {
      const ValueId q = build_.input("q", {batch, 1, positions, width});
      const ValueId k = build_.input("k", {batch, 1, positions, width});
      const ValueId v = build_.input("v", {batch, 1, positions, width});
      const auto scope = build_.scope("attn");
      return scaled_dot_product_attention(build_, q, k, v, {}, attributes);
    }
    const ValueId x = build_.input("x", {batch, positions, width});
    const auto scope = build_.scope("attn");
    const auto head = [&](const nn::Linear& project, const char* variable) {  // (B, T, C) -> (B, 1, T, C)
      return build_.hold(reshape(build_, project(build_, x), {batch, 1, positions, width}), variable);
    };
    const ValueId q = head(projections_->q, "q");
    const ValueId k = head(projections_->k, "k");
    const ValueId v = head(projections_->v, "v");
    const ValueId values = scaled_dot_product_attention(build_, q, k, v, {}, attributes);
    return projections_->output(build_, build_.hold(reshape(build_, values, {batch, positions, width}), "o"));
  }

 private:
  struct Projections {
    nn::Linear q, k, v, output;
  };

  nn::Linear projection(const char* name) {
    const int64_t width = model_.d_model;
    const double std = std::sqrt(2.0 / static_cast<double>(width + width));
    return {build_, {.name = name, .d_out = width, .d_in = width, .init = {Distribution::kTruncatedNormal, std}}};
  }

  ModelBuilder& build_;
  const ModelConfig& model_;
  std::optional<Projections> projections_;
};

ModelOutputs build(ModelBuilder& builder, const ModelConfig& model) { return {Attention(builder, model).run(), {}}; }

}  // namespace

const ModelCard& attention_card() {
  static constexpr ModelCard kCard{.name = "attention",
                                   .is_language_model = false,
                                   .refused_options = kRefusedOptions,
                                   .fill_defaults = fill_defaults,
                                   .check = check,
                                   .describe = describe,
                                   .kept_by_eager = kept_by_eager,
                                   .build = build};
  return kCard;
}

}  // namespace laptime
