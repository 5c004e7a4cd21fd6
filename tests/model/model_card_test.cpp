// Model cards, and the summaries of the graphs that the cards build.
#include "model/model_card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "config/model_presets.h"
#include "config/option_table.h"
#include "model/gpt/editions.h"
#include "points/resolve.h"

namespace laptime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ModelConfig model_of(const std::vector<GivenOption>& given) {
  const ResolvedConfig resolved = resolve(given);
  EXPECT_EQ(resolved.invalid, "");
  return resolved.config.model;
}

ParameterSpec spec_of(const ModelConfig& model, const std::string& name) {
  for (const ParameterSpec& parameter : parameter_list(model)) {
    if (parameter.name == name) return parameter;
  }
  ADD_FAILURE() << "no parameter " << name;
  return {};
}

TEST(ModelCard, EveryNamedModelHasACard) {
  std::set<std::string_view> used;
  for (const ModelPreset& preset : model_presets()) {
    EXPECT_EQ(card_of(preset.name).name, preset.card);
    used.insert(preset.card);
  }
  EXPECT_EQ(used.size(), all_models().size());
  EXPECT_EQ(card_of(kCustomModel).name, "gpt");
}

TEST(ModelCard, RejectedOptionsExist) {
  for (const ModelCard* card : all_models()) {
    for (const std::string_view flag : card->refused_options) {
      EXPECT_TRUE(find_option<RunConfig>(flag).has_value()) << card->name << " --" << flag;
      EXPECT_FALSE(card->takes(flag));
    }
    EXPECT_TRUE(card->takes("model"));
  }
}

// Every new option must be reviewed for the attention model: it either has an effect there or is rejected.
TEST(ModelCard, AttentionAcceptsOnlyReviewedOptions) {
  const std::set<std::string_view> taken{
      "model", "edition", "d-model", "context",           "batch",        "causal", "projections", "dtype",  "mode",
      "keep",  "lower",   "kernels", "memory-limit",      "pass",         "device", "threads",     "warmup", "steps",
      "seed",  "budget",  "timeout", "float32-precision", "reproducible", "delay"};
  for (const OptionRow& row : option_rows<RunConfig>()) {
    EXPECT_EQ(card_of(kAttentionModel).takes(row.option.flag), taken.contains(row.option.flag))
        << "--" << row.option.flag << ": add it here or to refused_options in src/model/attention/attention.cpp";
  }
}

TEST(ModelCard, DescribesTheModelInOneLine) {
  const auto text = [](const ModelConfig& model) { return card_of(model).describe(model); };
  EXPECT_EQ(text(model_of({{"edition", "2024"}, {"bias", "true"}, {"weight-tie", "true"}})),
            "edition 2024, 12 layers x 768, 12 heads, d_ff 3072, vocabulary 10000, batch 16 x 128 tokens, tied head, "
            "biases");
  EXPECT_EQ(text(model_of({{"model", "attention"}, {"causal", "false"}, {"projections", "true"}})),
            "attention alone, full, d 64, batch 8 x 256 positions, with projections");
}

TEST(ModelCard, EagerModeKeepsCompositesThatFrameworksFuse) {
  const auto kept = [](const ModelConfig& model) { return card_of(model).kept_by_eager(model); };
  EXPECT_THAT(kept(model_of({{"model", "gpt2-124M"}})), ElementsAre("layer_norm"));
  EXPECT_THAT(kept(model_of({})), IsEmpty());
  EXPECT_THAT(kept(model_of({{"model", "attention"}})), IsEmpty());
}

TEST(ModelCard, EveryEditionIsInTheTable) {
  for (const auto& edition : choices_of(Edition{})) EXPECT_EQ(gpt_edition(edition.value).edition, edition.value);
  EXPECT_EQ(gpt_editions().size(), choices_of(Edition{}).size());
}

TEST(ModelSummary, AssignsParametersToRegions) {
  const ModelConfig model = model_of({{"model", "custom"}, {"d-model", "8"}, {"num-layers", "2"}, {"num-heads", "2"}});
  EXPECT_EQ(spec_of(model, "layers.1.attn.q_proj.weight").region, (Region{1, "attn"}));
  EXPECT_EQ(spec_of(model, "layers.0.ln2.weight").region, (Region{0, "ln2"}));
  EXPECT_EQ(spec_of(model, "lm_head.weight").region, (Region{-1, "lm_head"}));
}

TEST(ModelSummary, MarksCroppableAndDuplicatedParameters) {
  ModelConfig model = model_of({{"edition", "2024"}});
  EXPECT_TRUE(spec_of(model, "position_embeddings.weight").rows_may_be_cropped);
  EXPECT_FALSE(spec_of(model, "token_embeddings.weight").rows_may_be_cropped);
  EXPECT_EQ(spec_of(model, "token_embeddings.weight").stored_again_as, "");
  model.weight_tie = true;
  EXPECT_EQ(spec_of(model, "token_embeddings.weight").stored_again_as, "lm_head.weight");
}

}  // namespace
}  // namespace laptime
