// Validity, parameters and FLOPs of a model.
#include "config/model_config.h"

#include "base/checked.h"
#include "base/error.h"

namespace laptime {
namespace {

// Matrices in the feed-forward: W1, W2 and, with SwiGLU, W3.
int64_t feed_forward_matrices(Edition edition) { return is_modern(edition) ? 3 : 2; }

void check_edition_options(const ModelConfig& model) {
  const std::string_view edition = name_of(model.edition);
  if (is_modern(model.edition) && (model.weight_tie || model.bias)) {
    throw Error::format("edition {} has no {}; leave it out, or use --edition 2024", edition,
                        model.weight_tie ? "--weight-tie" : "--bias");
  }
  if (model.edition == Edition::kGpt2 && !model.bias) {
    throw Error::format("edition gpt2 always has biases; leave --bias out, or use --edition 2024");
  }
  if (model.edition != Edition::k2024 && (model.embd_pdrop > 0 || model.attn_pdrop > 0 || model.resid_pdrop > 0)) {
    throw Error::format("edition {} has no dropout; leave the pdrop options out, or use --edition 2024", edition);
  }
}

// What must fit 63 bits: the scores, the inputs, and the FLOPs of forward and backward.
void check_attention_sizes(const ModelConfig& model) {
  constexpr int64_t kBytes = 4;
  const Size tokens = Size(model.batch_size) * model.context_length;
  [[maybe_unused]] const Size must_fit[] = {
      tokens * model.context_length * kBytes * 8,  // several are alive at once
      tokens * model.d_model * kBytes * 8,
      Size(parameter_count(model)) * kBytes * 4,
      Size(forward_flops(model)) * 3,
  };
}

}  // namespace

void validate(const ModelConfig& model) {
  ModelConfig::visit_fields(model, [&](const Option& option, const auto& field) {
    if (!model.is_attention() || option.of_attention) check_range(option, field);
  });
  if (model.is_attention()) return check_attention_sizes(model);
  if (!model.causal || model.projections) {
    throw Error::format("--{} is for --model attention; a language model is causal and has its projections",
                        model.projections ? "projections" : "causal false");
  }
  if (model.d_model % model.num_heads != 0) {
    throw Error::format("d_model {} does not divide by num_heads {}; change --d-model or --num-heads", model.d_model,
                        model.num_heads);
  }
  if (is_modern(model.edition) && model.d_head() % 2 != 0) {
    throw Error::format(
        "RoPE needs an even d_head, but d_model {} / num_heads {} is {}; change --d-model or --num-heads",
        model.d_model, model.num_heads, model.d_head());
  }
  check_edition_options(model);
  constexpr int64_t kBytes = 4;
  constexpr int64_t kCopies = 4;  // weights, gradients and the two moments of AdamW
  const Size tokens = Size(model.batch_size) * model.context_length;
  [[maybe_unused]] const Size must_fit[] = {
      Size(parameter_count(model)) * kBytes * kCopies,
      tokens * model.vocab_size * kBytes,
      tokens * model.context_length * model.num_heads * kBytes,
      tokens * model.d_ff * kBytes,
      Size(forward_flops(model)) * 3,
  };
}

int64_t parameter_count(const ModelConfig& model) {
  const Size d = model.d_model;
  if (model.is_attention()) return model.projections ? (d * d * 4).value() : 0;
  const Size d_ff = model.d_ff;
  const Size vocab = model.vocab_size;
  const Size feed_forward = d * d_ff * feed_forward_matrices(model.edition);
  Size block = d * d * 4 + feed_forward + d * 2;
  Size total = vocab * d + d;  // token embedding and final norm
  if (!is_modern(model.edition)) total += d * model.context_length;
  if (!model.weight_tie) total += vocab * d;
  if (model.edition == Edition::kGpt2) {  // LayerNorm has biases too
    block += d * 2;
    total += d;
  }
  if (model.bias) {
    block += d * 5 + d_ff;  // q, k, v, output, w2; w1
    if (model.edition == Edition::k2024) total += vocab;
  }
  return (total + block * model.num_layers).value();
}

int64_t forward_flops(const ModelConfig& model) {
  const Size d = model.d_model;
  const Size tokens = Size(model.batch_size) * model.context_length;
  if (model.is_attention()) {
    return (tokens * model.context_length * d * 4 + tokens * 2 * parameter_count(model)).value();
  }
  const Size block = d * d * 4 + d * model.d_ff * feed_forward_matrices(model.edition);
  const Size linear = tokens * 2 * (block * model.num_layers + d * model.vocab_size);
  const Size attention = tokens * model.context_length * d * model.num_layers * 4;
  return (linear + attention).value();
}

}  // namespace laptime
