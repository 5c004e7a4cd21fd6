// Parameter and FLOP counts of graphs match formulas, and invalid models are rejected.
#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "base/error.h"
#include "config/model_presets.h"
#include "model/gpt/editions.h"
#include "model/parameters.h"
#include "model/validate.h"
#include "points/resolve.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::HasSubstr;

ModelConfig resolved_model(const std::vector<GivenOption>& given) {
  const ResolvedConfig resolved = resolve(given);
  EXPECT_EQ(resolved.invalid, "");
  return resolved.config.model;
}

int64_t parameter_count(const ModelConfig& model) { return summarize(model).parameter_count; }
double forward_flops(const ModelConfig& model) { return summarize(model).forward_flops; }

bool has_three_matrices(Edition edition) { return edition == Edition::k2025 || edition == Edition::k2026; }

// Parameters without biases: V d + d + L (4 d^2 + k d d_ff + 2 d), with k matrices in the feed-forward layer. An untied
// head adds V d, and learned positions add T d.
int64_t expected_parameters(const ModelConfig& model) {
  const int64_t d = model.d_model, d_ff = model.d_ff, vocab = model.vocab_size;
  const bool modern = has_three_matrices(model.edition);
  int64_t block = 4 * d * d + (modern ? 3 : 2) * d * d_ff + 2 * d;
  int64_t rest = vocab * d + d;
  if (!model.weight_tie) rest += vocab * d;
  if (!modern) rest += model.context_length * d;
  if (model.edition == Edition::kGpt2) {  // LayerNorm has biases too
    block += 2 * d;
    rest += d;
  }
  if (model.bias) block += 5 * d + d_ff;
  if (model.bias && model.edition == Edition::k2024) rest += vocab;
  return rest + model.num_layers * block;
}

// FLOPs of forward: 2 B T (L (4 d^2 + k d d_ff) + V d) + 4 L B T^2 d.
double expected_flops(const ModelConfig& model) {
  const int64_t d = model.d_model, positions = model.context_length, tokens = model.batch_size * positions;
  const int64_t block = 4 * d * d + (has_three_matrices(model.edition) ? 3 : 2) * d * model.d_ff;
  const int64_t linear = 2 * tokens * (model.num_layers * block + model.vocab_size * d);
  return static_cast<double>(linear + 4 * model.num_layers * tokens * positions * d);
}

std::string refusal(const ModelConfig& model) {
  return test::error_of([&] {
    RunConfig config;
    config.model = model;
    validate(config);
  });
}

TEST(ModelSummary, CountsParametersOfThe2025Sizes) {
  const std::map<std::string, int64_t> published{{"small", 128'625'408},  {"medium", 423'183'360},
                                                 {"large", 969'411'840},  {"xl", 1'998'235'200},
                                                 {"2.7B", 3'406'809'600}, {"10B", 12'832'823'808}};
  for (const auto& [name, count] : published) {
    EXPECT_EQ(parameter_count(resolved_model({{"model", name}})), count) << name;
  }
}

TEST(ModelSummary, EveryPresetInEveryEditionMatchesTheFormulas) {
  for (const ModelPreset& preset : model_presets()) {
    if (preset.name == kAttentionModel) continue;
    for (const auto& edition : choices_of(Edition{})) {
      const bool is_of_library = gpt_edition(edition.value).is_of_library;  // config_json_test.cpp tests these editions
      if ((preset.only && *preset.only != edition.value) || is_of_library) continue;
      const ModelConfig model = resolved_model({{"model", preset.name}, {"edition", edition.name}});
      const ModelSummary summary = summarize(model);
      EXPECT_EQ(summary.parameter_count, expected_parameters(model)) << preset.name << ' ' << edition.name;
      EXPECT_EQ(summary.forward_flops, expected_flops(model)) << preset.name << ' ' << edition.name;
      const int64_t tokens = model.batch_size * model.context_length;
      EXPECT_EQ(summary.attention_flops, 4 * model.num_layers * tokens * model.context_length * model.d_model);
      EXPECT_EQ(summary.head_flops, 2 * tokens * model.d_model * model.vocab_size);
    }
  }
}

TEST(ModelSummary, TiedHeadsAndBiasesMatchTheFormulas) {
  for (const char* tied : {"true", "false"}) {
    for (const char* bias : {"true", "false"}) {
      const ModelConfig model = resolved_model({{"edition", "2024"}, {"weight-tie", tied}, {"bias", bias}});
      EXPECT_EQ(parameter_count(model), expected_parameters(model)) << tied << bias;
      EXPECT_EQ(forward_flops(model), expected_flops(model)) << tied << bias;
    }
  }
}

TEST(ModelSummary, AttentionFlopsDependOnTheQueryHeads) {
  for (const auto& [name, query_heads_width] :
       {std::pair{"Llama-3.2-1B", 32 * 64}, {"Qwen3-0.6B", 16 * 128}, {"pythia-160m", 768}, {"gpt2-124M", 768}}) {
    const ModelConfig model = resolved_model({{"model", name}, {"context", "64"}, {"batch", "2"}});
    const ModelSummary summary = summarize(model);
    EXPECT_EQ(summary.attention_flops, int64_t{4} * model.num_layers * 2 * 64 * 64 * query_heads_width) << name;
    EXPECT_EQ(summary.head_flops, int64_t{2} * 2 * 64 * model.d_model * model.vocab_size) << name;
  }
}

TEST(ModelSummary, CountsEachListedParameter) {
  const ModelSummary summary = summarize(resolved_model({{"model", "gpt2-124M"}}));
  int64_t total = 0;
  for (const ParameterSpec& parameter : summary.parameters)
    total += std::accumulate(parameter.shape.begin(), parameter.shape.end(), int64_t{1}, std::multiplies<>());
  EXPECT_EQ(summary.parameter_count, total);
}

TEST(ModelSummary, ForwardFlopsMatchPublishedNumbers) {
  const std::map<std::string, std::pair<double, double>> tflop{{"small", {0.257, 0.534}},
                                                               {"medium", {0.871, 1.794}},
                                                               {"large", {2.007, 4.111}},
                                                               {"xl", {4.140, 8.441}},
                                                               {"2.7B", {7.010, 14.192}}};
  for (const auto& [name, flops] : tflop) {
    EXPECT_NEAR(forward_flops(resolved_model({{"model", name}})) / 1e12, flops.first, 5e-4) << name;
    const ModelConfig longer = resolved_model({{"model", name}, {"context", "512"}});
    EXPECT_NEAR(forward_flops(longer) / 1e12, flops.second, 5e-4) << name;
  }
}

TEST(ModelSummary, AttentionModelCountsBothProductsWithoutTheMask) {
  const ModelConfig bare = resolved_model({{"model", "attention"}, {"d-model", "16"}, {"context", "32"}});
  EXPECT_EQ(parameter_count(bare), 0);
  EXPECT_EQ(forward_flops(bare), int64_t{4} * 8 * 32 * 32 * 16);
  EXPECT_EQ(summarize(bare).attention_flops, forward_flops(bare));
  EXPECT_EQ(summarize(bare).head_flops, 0);
  ASSERT_EQ(summarize(bare).inputs.size(), 3U);
  EXPECT_EQ(summarize(bare).inputs[0].shape, (std::vector<int64_t>{8, 1, 32, 16}));
  const ModelConfig whole = resolved_model({{"model", "attention"}, {"d-model", "16"}, {"projections", "true"}});
  EXPECT_EQ(parameter_count(whole), 4 * 16 * 16);
  EXPECT_EQ(forward_flops(whole), int64_t{4} * 8 * 256 * 256 * 16 + int64_t{8} * 8 * 256 * 16 * 16);
  ASSERT_EQ(summarize(whole).inputs.size(), 1U);
  EXPECT_EQ(summarize(whole).inputs[0].shape, (std::vector<int64_t>{8, 256, 16}));
  EXPECT_TRUE(summarize(resolved_model({})).inputs.empty());
}

TEST(Validate, RejectsInvalidModels) {
  ModelConfig model;
  EXPECT_EQ(refusal(model), "");
  model.num_heads = 5;
  EXPECT_THAT(refusal(model), HasSubstr("d_model (768) must be divisible by num_heads (5); give --num-heads 12, or"));
  model.num_heads = 256;
  EXPECT_THAT(refusal(model), HasSubstr("RoPE rotates pairs"));
  model.edition = Edition::k2024;
  EXPECT_EQ(refusal(model), "");

  model = ModelConfig{};
  model.bias = true;
  EXPECT_THAT(refusal(model), HasSubstr("edition 2025 has no --bias"));
  model = ModelConfig{};
  model.attn_pdrop = 0.1;
  EXPECT_THAT(refusal(model), HasSubstr("has no --attn-pdrop"));
  model = ModelConfig{};
  model.edition = Edition::kGpt2;
  EXPECT_THAT(refusal(model), HasSubstr("always has biases"));
}

TEST(Validate, SuggestsOnlyValidNumbersOfHeads) {
  ModelConfig model;
  model.d_model = 130;  // two heads would be 65 columns wide, and RoPE rotates pairs
  model.num_heads = 3;
  EXPECT_THAT(refusal(model), HasSubstr("give --num-heads 1, or another --d-model"));
  model.d_model = 129;
  model.num_heads = 2;
  EXPECT_THAT(refusal(model), HasSubstr("by num_heads (2); give another --d-model"));
  model.edition = Edition::kLlama;
  model.d_model = 64;
  model.num_heads = 9;
  model.num_kv_heads = 3;
  EXPECT_THAT(refusal(model), HasSubstr("by num_heads (9); give another --d-model"));
}

TEST(Validate, RejectsNumbersOutOfRange) {
  const auto with = [](int64_t ModelConfig::*field, int64_t value) {
    ModelConfig model;
    model.*field = value;
    return refusal(model);
  };
  for (const auto field : {&ModelConfig::d_model, &ModelConfig::d_ff, &ModelConfig::num_layers, &ModelConfig::num_heads,
                           &ModelConfig::vocab_size, &ModelConfig::context_length, &ModelConfig::batch_size}) {
    for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
      EXPECT_THAT(with(field, value), HasSubstr("out of range")) << value;
    }
  }
}

TEST(Validate, AcceptsMoreFlopsThanFitIn63Bits) {
  // 2^20 sequences of 8192 tokens take 512 times the FLOPs of 2048 sequences.
  const auto of_batch = [](const char* batch) {
    return resolved_model({{"model", "Llama-3.1-70B"}, {"context", "8192"}, {"batch", batch}});
  };
  const ModelConfig model = of_batch("1048576");
  EXPECT_EQ(refusal(model), "");
  EXPECT_GT(forward_flops(model), 0x1p63);
  EXPECT_DOUBLE_EQ(forward_flops(model), 512 * forward_flops(of_batch("2048")));
}

TEST(Validate, RejectsProductsThatOverflow) {
  ModelConfig model;
  model.context_length = 2'147'483'647;
  model.batch_size = 2'147'483'647;
  EXPECT_THAT(refusal(model), HasSubstr("63 bits"));
  EXPECT_THROW(forward_flops(model), Error);

  model = ModelConfig{};
  model.num_layers = 4096;
  model.d_model = model.d_ff = 1 << 24;
  model.num_heads = 1;
  EXPECT_THAT(refusal(model), HasSubstr("63 bits"));
}

}  // namespace
}  // namespace laptime
