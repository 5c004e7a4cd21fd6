// The parameters of each edition, and how they start: by the edition, or by the golden streams.
#include "config/parameters.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace laptime {
namespace {

constexpr double kOldStd = 0.02;      // of the 2024 and GPT-2 editions
constexpr double kNormJitter = 0.05;  // under the streams, so that a norm weight that is ignored shows
constexpr double kBiasStream = 0.02;  // under the streams, so that a wrong bias shows

class ListBuilder {
 public:
  explicit ListBuilder(const ModelConfig& model) : model_(model) {}

  std::vector<ParameterSpec> build() {
    const int64_t d = model_.d_model;
    if (model_.is_attention()) return attention(d);
    const bool modern = is_modern(model_.edition);
    embedding("token_embeddings", model_.vocab_size, modern ? 1.0 : kOldStd);
    if (!modern) embedding("position_embeddings", model_.context_length, kOldStd);
    for (int64_t layer = 0; layer < model_.num_layers; ++layer) {
      const std::string block = fmt::format("layers.{}.", layer);
      norm(block + "ln1");
      for (const char* projection : {"q_proj", "k_proj", "v_proj"}) linear(block + "attn." + projection, d, d);
      residual(block + "attn.output_proj", d, d);
      norm(block + "ln2");
      linear(block + "ffn.w1", model_.d_ff, d);
      residual(block + "ffn.w2", d, model_.d_ff);
      if (modern) linear(block + "ffn.w3", model_.d_ff, d);
    }
    norm("ln_final");
    if (!model_.weight_tie) weight("lm_head", {model_.vocab_size, d}, linear_std(model_.vocab_size, d));
    if (model_.edition == Edition::k2024 && model_.bias) bias("lm_head", model_.vocab_size);
    return std::move(list_);
  }

 private:
  std::vector<ParameterSpec> attention(int64_t d) {
    if (!model_.projections) return {};
    for (const char* projection : {"q_proj", "k_proj", "v_proj", "output_proj"})
      linear(std::string("attn.") + projection, d, d);
    return std::move(list_);
  }

  // The same std holds for the edition's normal and for the stream.
  void weight(const std::string& module, std::vector<int64_t> shape, double std) {
    const auto distribution = is_modern(model_.edition) ? Distribution::kTruncatedNormal : Distribution::kNormal;
    list_.push_back({module + ".weight", std::move(shape), {distribution, std}, {0, std}});
  }

  void bias(const std::string& module, int64_t width) {
    list_.push_back({module + ".bias", {width}, {Distribution::kZeros, 0}, {0, kBiasStream}});
  }

  void embedding(const std::string& module, int64_t rows, double std) { weight(module, {rows, model_.d_model}, std); }

  void norm(const std::string& module) {
    list_.push_back({module + ".weight", {model_.d_model}, {Distribution::kOnes, 0}, {1, kNormJitter}});
    if (model_.edition == Edition::kGpt2) bias(module, model_.d_model);
  }

  void linear(const std::string& module, int64_t d_out, int64_t d_in) {
    weight(module, {d_out, d_in}, linear_std(d_out, d_in));
    if (model_.bias) bias(module, d_out);
  }

  // A projection that ends in the residual stream: GPT-2 scales it down by the number of additions to the stream.
  void residual(const std::string& module, int64_t d_out, int64_t d_in) {
    const double depth = 2.0 * static_cast<double>(model_.num_layers);
    weight(module, {d_out, d_in}, is_modern(model_.edition) ? linear_std(d_out, d_in) : kOldStd / std::sqrt(depth));
    if (model_.bias) bias(module, d_out);
  }

  double linear_std(int64_t d_out, int64_t d_in) const {
    return is_modern(model_.edition) ? std::sqrt(2.0 / static_cast<double>(d_out + d_in)) : kOldStd;
  }

  const ModelConfig& model_;
  std::vector<ParameterSpec> list_;
};

}  // namespace

std::vector<ParameterSpec> parameter_list(const ModelConfig& model) { return ListBuilder(model).build(); }

std::vector<ParameterSpec> input_list(const ModelConfig& model) {
  const auto normal = [](const char* name, std::vector<int64_t> shape) {
    return ParameterSpec{name, std::move(shape), {Distribution::kNormal, 1}, {0, 1}};
  };
  const int64_t batch = model.batch_size;
  const int64_t positions = model.context_length;
  const int64_t d = model.d_model;
  if (!model.is_attention()) return {};
  if (model.projections) return {normal("x", {batch, positions, d})};
  const std::vector<int64_t> one_head{batch, 1, positions, d};
  return {normal("q", one_head), normal("k", one_head), normal("v", one_head)};
}

}  // namespace laptime
