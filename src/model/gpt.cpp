// The model's modules. Shapes: B batch, T positions, C d_model, h heads, d = C / h, F d_ff, V vocabulary.
#include "model/gpt.h"

#include <fmt/format.h>

#include "graph/structural_ops.h"
#include "ops/dropout/dropout.h"
#include "ops/embedding/embedding.h"
#include "ops/gelu/gelu.h"
#include "ops/linear/linear.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"
#include "ops/norm/norm.h"
#include "ops/pointwise/pointwise.h"
#include "ops/rope/rope.h"
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"
#include "ops/swiglu/swiglu.h"

namespace laptime {
namespace {

constexpr double kNormEps = 1e-5;
constexpr double kRopeTheta = 10'000;
constexpr const char* kForward = "forward";  // the eager program's two functions
constexpr const char* kLoss = "loss";

class Gpt {
 public:
  Gpt(Builder& build, const ModelConfig& model, const GptInputs& inputs)
      : build_(build), model_(model), inputs_(inputs), modern_(is_modern(model.edition)) {}

  GptOutputs run() {
    build_.current.frame = kForward;
    ValueId x = embeddings();
    for (int64_t layer = 0; layer < model_.num_layers; ++layer) {
      const auto scope = build_.scope(fmt::format("layers.{}", layer));
      x = build_.name(add(build_, x, attention(build_.hold(norm("ln1", x), "y"))), "residual1");
      x = build_.name(add(build_, x, feed_forward(build_.hold(norm("ln2", x), "y"))), "residual2");
    }
    const GptOutputs outputs = head_and_loss(norm("ln_final", x));
    build_.name(outputs.loss, kLoss);
    build_.name(outputs.logits, "logits");
    build_.current.frame = kLoss;
    build_.hold(outputs.logits, "logits");  // the caller keeps them until the loss is done
    return outputs;
  }

 private:
  // The parameter `name` of the current module, or of the whole model where `name` is absolute.
  ValueId parameter(const std::string& name) const {
    const auto found = inputs_.parameters.find(name);
    return found == inputs_.parameters.end() ? ValueId{} : found->second;
  }
  ValueId own(const std::string& name) const { return parameter(build_.current.scope + "." + name); }

  ValueId dropped(ValueId x, double p) {
    if (p <= 0) return x;
    const auto scope = build_.scope("dropout");
    return dropout(build_, x, inputs_.step, p, inputs_.seed);
  }

  ValueId embeddings() {  // (B, T, C)
    ValueId x;
    {
      const auto scope = build_.scope("token_embeddings");
      x = embedding(build_, own("weight"), inputs_.tokens);
    }
    if (!modern_) {
      const auto scope = build_.scope("position_embeddings");
      x = add(build_, x, embedding(build_, own("weight"), arange(build_, build_.shape(inputs_.tokens)[1])));
    }
    const auto scope = build_.scope("embeddings");
    return build_.name(dropped(x, model_.embd_pdrop), "");
  }

  ValueId norm(const std::string& module, ValueId x) {
    const auto scope = build_.scope(module);
    const ValueId y = model_.edition == Edition::kGpt2 ? layer_norm(build_, x, own("weight"), own("bias"), kNormEps)
                                                       : rms_norm(build_, x, own("weight"), kNormEps);
    return build_.name(y, "");
  }

  ValueId linear_module(const std::string& module, ValueId x) {
    const auto scope = build_.scope(module);
    const LinearForm form = modern_ ? LinearForm::kEinsum : LinearForm::kLinear;
    return build_.name(linear(build_, x, own("weight"), own("bias"), form), "");
  }

  ValueId split_heads(ValueId x, const std::string& variable) {  // (B, T, C) -> (B, h, T, d)
    const Shape& shape = build_.shape(x);
    const ValueId heads = reshape(build_, x, {shape[0], shape[1], model_.num_heads, model_.d_head()});
    return build_.hold(transpose(build_, heads, 1, 2), variable);
  }

  ValueId attention(ValueId y) {  // (B, T, C) -> (B, T, C)
    const auto scope = build_.scope("attn");
    const Shape shape = build_.shape(y);
    ValueId q = split_heads(linear_module("q_proj", y), "q");
    ValueId k = split_heads(linear_module("k_proj", y), "k");
    const ValueId v = split_heads(linear_module("v_proj", y), "v");
    if (modern_) {
      const DType table_type = build_.dtype(parameter("token_embeddings.weight"));
      const RopeTable table = rope_table(build_, shape[1], model_.d_head(), kRopeTheta, table_type);
      const RopeForm form = model_.edition == Edition::k2025 ? RopeForm::kInterleaved : RopeForm::kHalves;
      const auto turned = [&](const std::string& variable, ValueId x) {
        const auto rope_scope = build_.scope("rope_" + variable);
        return build_.hold(build_.name(rope(build_, x, table, form), ""), variable);
      };
      q = turned("q", q);
      k = turned("k", k);
    }
    const ValueId step = model_.attn_pdrop > 0 ? inputs_.step : ValueId{};
    const ValueId values = scaled_dot_product_attention(
        build_, q, k, v, step, {.dropout_p = model_.attn_pdrop, .seed = inputs_.seed});  // (B, h, T, d)
    const ValueId merged = build_.hold(reshape(build_, transpose(build_, values, 1, 2), shape), "o");
    return dropped(linear_module("output_proj", merged), model_.resid_pdrop);
  }

  ValueId feed_forward(ValueId y) {  // (B, T, C) -> (B, T, C)
    const auto scope = build_.scope("ffn");
    ValueId hidden;  // (B, T, F)
    if (modern_) {
      const ValueId a = build_.hold(linear_module("w1", y), "a");
      hidden = build_.name(swiglu(build_, a, linear_module("w3", y)), "gated");
    } else {
      hidden = build_.name(gelu(build_, linear_module("w1", y), model_.edition == Edition::kGpt2), "gelu");
      hidden = dropped(hidden, model_.resid_pdrop);
    }
    return linear_module("w2", build_.hold(hidden, "y"));
  }

  // The head and the loss as one op, which belongs to the loss where it stays whole.
  GptOutputs head_and_loss(ValueId x) {  // (B, T, C)
    const ValueId weight = parameter(model_.weight_tie ? "token_embeddings.weight" : "lm_head.weight");
    const ValueId bias = parameter("lm_head.bias");
    const NodeAnnotations outer = build_.current;
    build_.current.scope = build_.current.frame = kLoss;
    build_.current.parts = {{"lm_head", kForward}, {kLoss, kLoss}};
    const LinearCrossEntropy made =
        linear_cross_entropy(build_, x, weight, bias, inputs_.targets,
                             {.linear = bias.valid() ? LinearForm::kLinear : LinearForm::kEinsum,
                              .loss = modern_ ? CrossEntropyForm::kWrittenOut : CrossEntropyForm::kLogSoftmax});
    build_.current = outer;
    return {made.loss, made.logits};
  }

  Builder& build_;
  const ModelConfig& model_;
  const GptInputs& inputs_;
  const bool modern_;
};

}  // namespace

GptOutputs build_gpt(Builder& build, const ModelConfig& model, const GptInputs& inputs) {
  return Gpt(build, model, inputs).run();
}

std::vector<std::string> kept_by_eager(Edition edition) {
  if (edition == Edition::kGpt2) return {"layer_norm"};
  return {};
}

}  // namespace laptime
