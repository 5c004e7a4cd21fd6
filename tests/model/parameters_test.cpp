// The names, shapes, order and initial values of parameters.
#include "model/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace laptime {
namespace {

using testing::ElementsAre;

ModelConfig tiny(Edition edition) {
  ModelConfig model;
  model.edition = edition;
  model.d_model = 40;
  model.d_ff = 104;
  model.num_layers = 2;
  model.num_heads = 5;
  model.vocab_size = 97;
  model.context_length = 18;
  return model;
}

std::vector<std::string> names_of(const ModelConfig& model) {
  std::vector<std::string> names;
  for (const ParameterSpec& parameter : parameter_list(model)) names.push_back(parameter.name);
  return names;
}

ParameterSpec find(const ModelConfig& model, const std::string& name) {
  for (const ParameterSpec& parameter : parameter_list(model)) {
    if (parameter.name == name) return parameter;
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

TEST(Parameters, Follow2025Order) {
  ModelConfig model = tiny(Edition::k2025);
  model.num_layers = 1;
  EXPECT_THAT(names_of(model),
              ElementsAre("token_embeddings.weight", "layers.0.ln1.weight", "layers.0.attn.q_proj.weight",
                          "layers.0.attn.k_proj.weight", "layers.0.attn.v_proj.weight",
                          "layers.0.attn.output_proj.weight", "layers.0.ln2.weight", "layers.0.ffn.w1.weight",
                          "layers.0.ffn.w2.weight", "layers.0.ffn.w3.weight", "ln_final.weight", "lm_head.weight"));
}

TEST(Parameters, Follow2024OrderWithTiedHeadAndBias) {
  ModelConfig model = tiny(Edition::k2024);
  model.num_layers = 1;
  model.weight_tie = true;
  model.bias = true;
  EXPECT_THAT(names_of(model),
              ElementsAre("token_embeddings.weight", "position_embeddings.weight", "layers.0.ln1.weight",
                          "layers.0.attn.q_proj.weight", "layers.0.attn.q_proj.bias", "layers.0.attn.k_proj.weight",
                          "layers.0.attn.k_proj.bias", "layers.0.attn.v_proj.weight", "layers.0.attn.v_proj.bias",
                          "layers.0.attn.output_proj.weight", "layers.0.attn.output_proj.bias", "layers.0.ln2.weight",
                          "layers.0.ffn.w1.weight", "layers.0.ffn.w1.bias", "layers.0.ffn.w2.weight",
                          "layers.0.ffn.w2.bias", "ln_final.weight", "lm_head.bias"));
}

TEST(Parameters, FollowGpt2Order) {
  ModelConfig model = tiny(Edition::kGpt2);
  model.num_layers = 1;
  model.weight_tie = true;
  model.bias = true;
  EXPECT_THAT(
      names_of(model),
      ElementsAre("token_embeddings.weight", "position_embeddings.weight", "layers.0.ln1.weight", "layers.0.ln1.bias",
                  "layers.0.attn.q_proj.weight", "layers.0.attn.q_proj.bias", "layers.0.attn.k_proj.weight",
                  "layers.0.attn.k_proj.bias", "layers.0.attn.v_proj.weight", "layers.0.attn.v_proj.bias",
                  "layers.0.attn.output_proj.weight", "layers.0.attn.output_proj.bias", "layers.0.ln2.weight",
                  "layers.0.ln2.bias", "layers.0.ffn.w1.weight", "layers.0.ffn.w1.bias", "layers.0.ffn.w2.weight",
                  "layers.0.ffn.w2.bias", "ln_final.weight", "ln_final.bias"));
}

TEST(Parameters, LinearWeightsHaveShapeOutByIn) {
  const ModelConfig model = tiny(Edition::k2025);
  EXPECT_THAT(find(model, "layers.1.ffn.w1.weight").shape, ElementsAre(104, 40));
  EXPECT_THAT(find(model, "layers.1.ffn.w2.weight").shape, ElementsAre(40, 104));
  EXPECT_THAT(find(model, "lm_head.weight").shape, ElementsAre(97, 40));
  EXPECT_THAT(find(tiny(Edition::k2024), "position_embeddings.weight").shape, ElementsAre(18, 40));
}

TEST(Parameters, Follow2025Initialisation) {
  const ModelConfig model = tiny(Edition::k2025);
  const ParameterSpec w1 = find(model, "layers.0.ffn.w1.weight");
  EXPECT_EQ(w1.init.distribution, Distribution::kTruncatedNormal);
  EXPECT_DOUBLE_EQ(w1.init.std, std::sqrt(2.0 / 144));
  EXPECT_DOUBLE_EQ(w1.stream.std, std::sqrt(2.0 / 144));
  EXPECT_DOUBLE_EQ(find(model, "lm_head.weight").init.std, std::sqrt(2.0 / 137));
  EXPECT_DOUBLE_EQ(find(model, "token_embeddings.weight").init.std, 1.0);
  const ParameterSpec norm = find(model, "ln_final.weight");
  EXPECT_EQ(norm.init.distribution, Distribution::kOnes);
  EXPECT_DOUBLE_EQ(norm.stream.mean, 1.0);
  EXPECT_DOUBLE_EQ(norm.stream.std, 0.05);
}

TEST(Parameters, FollowOlderInitialisations) {
  for (const Edition edition : {Edition::k2024, Edition::kGpt2}) {
    ModelConfig model = tiny(edition);
    model.bias = true;
    const ParameterSpec w1 = find(model, "layers.0.ffn.w1.weight");
    EXPECT_EQ(w1.init.distribution, Distribution::kNormal);
    EXPECT_DOUBLE_EQ(w1.init.std, 0.02);
    for (const char* residual : {"layers.1.ffn.w2.weight", "layers.1.attn.output_proj.weight"}) {
      EXPECT_DOUBLE_EQ(find(model, residual).init.std, 0.02 / std::sqrt(4.0));
      EXPECT_DOUBLE_EQ(find(model, residual).stream.std, 0.02 / std::sqrt(4.0));
    }
    const ParameterSpec bias = find(model, "layers.0.attn.q_proj.bias");
    EXPECT_EQ(bias.init.distribution, Distribution::kZeros);
    EXPECT_DOUBLE_EQ(bias.stream.std, 0.02);
    EXPECT_DOUBLE_EQ(bias.stream.mean, 0.0);
  }
}

}  // namespace
}  // namespace laptime
