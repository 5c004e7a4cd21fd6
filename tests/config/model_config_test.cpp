// Sizes, parameters and FLOPs of the named models, and the models that cannot exist.
#include "config/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "base/error.h"
#include "config/model_presets.h"
#include "config/parameters.h"
#include "config/resolve.h"

namespace laptime {
namespace {

using testing::HasSubstr;

ModelConfig model_of(const std::vector<GivenOption>& given) {
  const ResolvedConfig resolved = resolve(given);
  EXPECT_EQ(resolved.invalid, "");
  return resolved.config.model;
}

int64_t elements_of(const ParameterSpec& parameter) {
  return std::accumulate(parameter.shape.begin(), parameter.shape.end(), int64_t{1}, std::multiplies<>());
}

int64_t elements_of_list(const ModelConfig& model) {
  int64_t total = 0;
  for (const ParameterSpec& parameter : parameter_list(model)) total += elements_of(parameter);
  return total;
}

std::string refusal(const ModelConfig& model) {
  try {
    validate(model);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ModelConfig, CountsParametersOfThe2025Sizes) {
  const std::map<std::string, int64_t> published{{"small", 128'625'408},  {"medium", 423'183'360},
                                                 {"large", 969'411'840},  {"xl", 1'998'235'200},
                                                 {"2.7B", 3'406'809'600}, {"10B", 12'832'823'808}};
  for (const auto& [name, count] : published) {
    EXPECT_EQ(parameter_count(model_of({{"model", name}})), count) << name;
  }
}

TEST(ModelConfig, CountsParametersOfGpt2) {
  EXPECT_EQ(parameter_count(model_of({{"model", "gpt2-124M"}})), 124'439'808);
  EXPECT_EQ(parameter_count(model_of({{"model", "gpt2-355M"}})), 354'823'168);
  EXPECT_EQ(parameter_count(model_of({{"model", "gpt2-774M"}})), 774'030'080);
  EXPECT_EQ(parameter_count(model_of({{"model", "gpt2-1558M"}})), 1'557'611'200);
}

TEST(ModelConfig, CountsParametersOf2024ByItsFormula) {
  const ModelConfig small = model_of({{"model", "small"}, {"edition", "2024"}});
  const int64_t d = 768, d_ff = 3072, layers = 12, vocab = 10'000, context = 128;
  const int64_t untied = 2 * vocab * d + context * d + layers * (4 * d * d + 2 * d * d_ff + 2 * d) + d;
  EXPECT_EQ(parameter_count(small), untied);
  ModelConfig tied = small;
  tied.weight_tie = true;
  EXPECT_EQ(parameter_count(tied), untied - vocab * d);
  ModelConfig biased = small;
  biased.bias = true;
  EXPECT_EQ(parameter_count(biased), untied + layers * (5 * d + d_ff) + vocab);
}

TEST(ModelConfig, CountMatchesTheListOfParameters) {
  for (const ModelPreset& preset : model_presets()) {
    for (const Edition edition : {Edition::k2024, Edition::k2025, Edition::k2026, Edition::kGpt2}) {
      if (preset.only && *preset.only != edition) continue;
      const ModelConfig model = model_of({{"model", preset.name}, {"edition", name_of(edition)}});
      EXPECT_EQ(parameter_count(model), elements_of_list(model)) << preset.name << ' ' << name_of(edition);
    }
  }
  for (const char* tied : {"true", "false"}) {
    for (const char* bias : {"true", "false"}) {
      const ModelConfig model = model_of({{"edition", "2024"}, {"weight-tie", tied}, {"bias", bias}});
      EXPECT_EQ(parameter_count(model), elements_of_list(model)) << tied << bias;
    }
  }
}

TEST(ModelConfig, ForwardFlopsAsPublished) {
  const std::map<std::string, std::pair<double, double>> tflop{{"small", {0.257, 0.534}},
                                                               {"medium", {0.871, 1.794}},
                                                               {"large", {2.007, 4.111}},
                                                               {"xl", {4.140, 8.441}},
                                                               {"2.7B", {7.010, 14.192}}};
  for (const auto& [name, flops] : tflop) {
    EXPECT_NEAR(static_cast<double>(forward_flops(model_of({{"model", name}}))) / 1e12, flops.first, 5e-4) << name;
    const ModelConfig longer = model_of({{"model", name}, {"context", "512"}});
    EXPECT_NEAR(static_cast<double>(forward_flops(longer)) / 1e12, flops.second, 5e-4) << name;
  }
}

TEST(ModelConfig, AttentionAloneIsTwoProductsOverAllPositions) {
  const ModelConfig bare = model_of({{"model", "attention"}, {"d-model", "16"}, {"context", "32"}});
  EXPECT_EQ(parameter_count(bare), 0);
  EXPECT_EQ(forward_flops(bare), int64_t{4} * 8 * 32 * 32 * 16);
  ASSERT_EQ(input_list(bare).size(), 3U);
  EXPECT_EQ(input_list(bare)[0].shape, (std::vector<int64_t>{8, 1, 32, 16}));
  const ModelConfig whole = model_of({{"model", "attention"}, {"d-model", "16"}, {"projections", "true"}});
  EXPECT_EQ(parameter_count(whole), 4 * 16 * 16);
  EXPECT_EQ(parameter_count(whole), elements_of_list(whole));
  EXPECT_EQ(forward_flops(whole), int64_t{4} * 8 * 256 * 256 * 16 + int64_t{8} * 8 * 256 * 16 * 16);
  ASSERT_EQ(input_list(whole).size(), 1U);
  EXPECT_EQ(input_list(whole)[0].shape, (std::vector<int64_t>{8, 256, 16}));
  EXPECT_TRUE(input_list(model_of({})).empty());
}

TEST(ModelConfig, TwoMatricesInTheOlderFeedForwards) {
  ModelConfig three;
  ModelConfig two;
  two.edition = Edition::k2024;
  const int64_t third = int64_t{2} * 4 * 256 * 12 * 768 * 3072;
  EXPECT_EQ(forward_flops(three) - forward_flops(two), third);
}

TEST(ModelConfig, RefusesModelsThatCannotExist) {
  ModelConfig model;
  EXPECT_EQ(refusal(model), "");
  model.num_heads = 5;
  EXPECT_THAT(refusal(model), HasSubstr("d_model 768 does not divide by num_heads 5"));
  model.num_heads = 256;
  EXPECT_THAT(refusal(model), HasSubstr("even d_head"));
  model.edition = Edition::k2024;
  EXPECT_EQ(refusal(model), "");

  model = ModelConfig{};
  model.bias = true;
  EXPECT_THAT(refusal(model), HasSubstr("edition 2025 has no --bias"));
  model = ModelConfig{};
  model.attn_pdrop = 0.1;
  EXPECT_THAT(refusal(model), HasSubstr("no dropout"));
  model = ModelConfig{};
  model.edition = Edition::kGpt2;
  EXPECT_THAT(refusal(model), HasSubstr("always has biases"));
}

TEST(ModelConfig, RefusesNumbersOutOfRange) {
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

TEST(ModelConfig, RefusesProductsThatOverflow) {
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
