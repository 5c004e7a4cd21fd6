// Defaults that follow from the edition, the model and the data.
#include "points/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/proc_text.h"
#include "config/model_presets.h"
#include "config/option_table.h"
#include "model/model_card.h"

namespace laptime {
namespace {

using testing::HasSubstr;

RunConfig config_of(const std::vector<GivenOption>& given) {
  const ResolvedConfig resolved = resolve(given);
  EXPECT_EQ(resolved.invalid, "");
  return resolved.config;
}

std::string reason(const std::vector<GivenOption>& given) { return resolve(given).invalid; }

TEST(Resolve, DefaultsToSmall2025) {
  const RunConfig config = config_of({});
  EXPECT_EQ(config, RunConfig{});
  EXPECT_EQ(config.model.context_length, 256);
  EXPECT_EQ(config.model.batch_size, 4);
  EXPECT_EQ(config.optimizer, Optimizer::k2025);
  EXPECT_FALSE(config.warmup.has_value());
  EXPECT_FALSE(config.steps.has_value());
}

// The parts of a list, without the spaces after its separators.
std::vector<std::string> parts(std::string_view list, char separator) {
  std::vector<std::string> found;
  for (const std::string_view part : split(list, separator))
    found.emplace_back(part.substr(part.find_first_not_of(' ')));
  return found;
}

// Help texts such as "256; 2024: 128; 8B: 32768" for --context state the defaults that resolve fills in. The first one
// is for editions without an entry of their own.
TEST(Resolve, HelpStatesTheResolvedDefaults) {
  for (const std::string_view flag : {"vocab", "context", "batch", "weight-tie", "bias", "seed", "optimizer",
                                      "attention-bias", "mlp-bias", "parallel-residual", "rotary-share"}) {
    std::string_view words = find_option<RunConfig>(flag).value().otherwise;
    const std::string_view of_model = "the named model's, otherwise ";
    if (words.starts_with(of_model)) words.remove_prefix(of_model.size());
    const std::vector<std::string> entries = parts(words, ';');
    std::map<std::string, std::string, std::less<>> stated;
    for (const std::string_view edition : names_of_choices<Edition>()) stated.emplace(edition, entries.front());
    for (size_t i = 1; i < entries.size(); ++i) {
      const size_t colon = entries[i].find(": ");
      for (const std::string& name : parts(entries[i].substr(0, colon), ','))
        stated[name] = entries[i].substr(colon + 2);
    }
    for (const auto& [name, expected] : stated) {
      const bool is_edition = std::ranges::count(names_of_choices<Edition>(), name) > 0;
      const RunConfig config = config_of({{is_edition ? "edition" : "model", name}});
      const std::string found = option_text(config, flag).value();
      EXPECT_EQ(found == "auto" ? "1" : found, expected) << flag << ' ' << name;  // auto: the whole head is rotated
    }
  }
}

TEST(Resolve, GivenWidthScalesTheFeedForwardLayerOfPresetsOnly) {
  EXPECT_EQ(config_of({{"model", "small"}, {"d-model", "1536"}}).model.d_ff, 6144);
  EXPECT_EQ(config_of({{"model", "SmolLM2-135M"}, {"d-model", "1152"}}).model.d_ff, 1536);
}

TEST(Resolve, GivenOptionsOverrideTheEdition) {
  const RunConfig config = config_of(
      {{"edition", "2024"}, {"batch", "3"}, {"context", "7"}, {"vocab", "11"}, {"seed", "5"}, {"optimizer", "2025"}});
  EXPECT_EQ(config.model.batch_size, 3);
  EXPECT_EQ(config.model.context_length, 7);
  EXPECT_EQ(config.model.vocab_size, 11);
  EXPECT_EQ(config.seed, 5);
  EXPECT_EQ(config.optimizer, Optimizer::k2025);
}

TEST(Resolve, WarmupOrStepsAloneDeterminesTheOther) {
  EXPECT_EQ(config_of({{"steps", "3"}}).warmup, 5);
  EXPECT_EQ(config_of({{"warmup", "0"}}).steps, 10);
  EXPECT_EQ(config_of({{"edition", "2024"}, {"steps", "3"}}).warmup, 1);
  EXPECT_EQ(config_of({{"edition", "2024"}, {"warmup", "0"}}).steps, 5);
  const RunConfig both = config_of({{"warmup", "2"}, {"steps", "7"}});
  EXPECT_EQ(both.warmup, 2);
  EXPECT_EQ(both.steps, 7);
  EXPECT_THAT(reason({{"warmup", "auto"}, {"steps", "7"}}), HasSubstr("must both be"));
}

TEST(Resolve, SomeModelNamesSelectTheEdition) {
  const RunConfig gpt2 = config_of({{"model", "gpt2-355M"}});
  EXPECT_EQ(gpt2.model.edition, Edition::kGpt2);
  EXPECT_EQ(gpt2.model.d_model, 1024);
  EXPECT_EQ(gpt2.model.d_ff, 4096);
  EXPECT_EQ(gpt2.model.vocab_size, 50'257);
  const RunConfig large = config_of({{"model", "8B"}});
  EXPECT_EQ(large.model.edition, Edition::k2026);
  EXPECT_EQ(large.model.d_ff, 11'008);
  EXPECT_EQ(large.model.vocab_size, 151'936);
  EXPECT_EQ(large.model.context_length, 32'768);
  EXPECT_EQ(config_of({{"model", "8B"}, {"context", "512"}}).model.context_length, 512);
  EXPECT_THAT(reason({{"model", "8B"}, {"edition", "2024"}}), HasSubstr("model 8B belongs to edition 2026, not 2024"));
}

TEST(Resolve, XlHasDifferentDimensionsIn2026) {
  const ModelConfig older = config_of({{"model", "xl"}}).model;
  EXPECT_EQ(older.d_model, 1600);
  EXPECT_EQ(older.num_layers, 48);
  EXPECT_EQ(older.num_heads, 25);
  const ModelConfig later = config_of({{"model", "XL"}, {"edition", "2026"}}).model;
  EXPECT_EQ(later.name, "xl");
  EXPECT_EQ(later.d_model, 2560);
  EXPECT_EQ(later.d_ff, 10'240);
  EXPECT_EQ(later.num_layers, 32);
  EXPECT_EQ(later.num_heads, 32);
}

TEST(Resolve, AliasesNameTheSameModels) {
  const std::vector<std::pair<std::string_view, std::string_view>> aliases{
      {"S", "small"}, {"M", "medium"}, {"L", "large"}, {"XL", "xl"}, {"2p7", "2.7B"}};
  for (const auto& [alias, name] : aliases) {
    EXPECT_EQ(config_of({{"model", alias}}), config_of({{"model", name}}));
    EXPECT_EQ(config_of({{"model", alias}}).model.name, name);
  }
}

TEST(Resolve, ChangedDimensionsMakeACustomModel) {
  const ModelConfig wider = config_of({{"d-model", "96"}}).model;
  EXPECT_EQ(wider.name, "custom");
  EXPECT_EQ(wider.d_ff, 384);
  EXPECT_EQ(wider.num_layers, 12);
  EXPECT_EQ(config_of({{"d-model", "768"}, {"num-layers", "12"}}).model.name, "small");
  const ModelConfig shallow = config_of({{"model", "medium"}, {"num-layers", "2"}}).model;
  EXPECT_EQ(shallow.name, "custom");
  EXPECT_EQ(shallow.d_ff, 4096);
  EXPECT_THAT(reason({{"model", "custom"}, {"d-model", "64"}}), HasSubstr("custom needs --d-model"));
  EXPECT_EQ(config_of({{"model", "custom"}, {"d-model", "64"}, {"num-layers", "2"}, {"num-heads", "4"}}).model.d_ff,
            256);
}

TEST(Resolve, DataSelectsFreshBatches) {
  EXPECT_EQ(config_of({}).batches, Batches::kFixed);
  EXPECT_EQ(config_of({{"data", "tokens.bin"}}).batches, Batches::kFresh);
  EXPECT_EQ(config_of({{"data", "tokens.bin"}, {"batches", "fixed"}}).batches, Batches::kFixed);
  EXPECT_THAT(reason({{"data-format", "bytes"}}), HasSubstr("--data-format needs --data"));
}

TEST(Resolve, CroppingRequiresAPositionTable) {
  const RunConfig cropped = config_of({{"edition", "2024"}, {"crop-context", "64"}});
  EXPECT_EQ(cropped.step_context(), 64);
  EXPECT_EQ(cropped.step_model().context_length, 64);
  EXPECT_EQ(cropped.model.context_length, 128);
  EXPECT_THAT(reason({{"crop-context", "64"}}), HasSubstr("edition 2025 has none; give --edition 2024 or gpt2"));
  EXPECT_THAT(reason({{"edition", "2024"}, {"crop-context", "129"}}), HasSubstr("more than"));
}

TEST(Resolve, AttentionModelHasItsOwnDefaults) {
  const RunConfig config = config_of({{"model", "attention"}});
  EXPECT_EQ(card_of(config.model).name, "attention");
  EXPECT_EQ(config.pass, Pass::kForwardBackward);
  EXPECT_EQ(config.model.batch_size, 8);
  EXPECT_EQ(config.model.d_model, 64);
  EXPECT_EQ(config.model.context_length, 256);
  EXPECT_EQ(config.model.num_heads, 1);
  EXPECT_TRUE(config.model.causal);
  EXPECT_FALSE(config.model.projections);
  EXPECT_EQ(config_of({{"model", "attention"}, {"d-model", "3"}}).model.name, "attention");
  EXPECT_EQ(config_of({{"model", "attention"}, {"steps", "100"}}).warmup, 5);
  EXPECT_EQ(config_of({{"model", "attention"}, {"memory-limit", "1GiB"}}).recompute, "none");
  EXPECT_EQ(config_of({{"model", "attention"}, {"causal", "false"}, {"mode", "compile"}}).model.causal, false);
}

TEST(Resolve, AttentionModelRejectsOptionsThatDoNotApply) {
  for (const std::string_view flag : card_of(kAttentionModel).refused_options) {
    ASSERT_TRUE(find_option<RunConfig>(flag).has_value()) << flag;
    const std::string text = option_text(RunConfig(), flag).value();
    EXPECT_EQ(reason({{"model", "attention"}, {flag, text.empty() ? "a" : std::string_view(text)}}),
              fmt::format("model attention does not support --{}; leave it out", flag));
  }
  for (const std::string_view flag : {"vocab", "num-heads", "d-ff", "lr", "optimizer", "recompute", "data", "weights"})
    EXPECT_FALSE(card_of(kAttentionModel).takes(flag)) << flag;
  EXPECT_THAT(reason({{"model", "attention"}, {"pass", "step"}}), HasSubstr("no optimizer"));
  EXPECT_THAT(reason({{"model", "attention"}, {"edition", "2024"}}), HasSubstr("belongs to edition 2025, not 2024"));
  EXPECT_THAT(reason({{"model", "attention"}, {"context", "2147483647"}, {"batch", "2147483647"}}),
              HasSubstr("63 bits"));
  EXPECT_THAT(reason({{"causal", "false"}}), HasSubstr("--causal false needs --model attention"));
  EXPECT_THAT(reason({{"projections", "true"}}), HasSubstr("--projections needs --model attention"));
}

TEST(Resolve, RejectsBadOptions) {
  EXPECT_THROW(resolve({{"contxt", "1"}}), Error);
  EXPECT_THROW(resolve({{"context", "x"}}), Error);
}

TEST(Resolve, MemoryLimitChoosesRecomputationExceptForRanks) {
  EXPECT_EQ(config_of({{"memory-limit", "1GiB"}}).recompute, "auto");
  EXPECT_EQ(config_of({{"memory-limit", "1GiB"}, {"ranks", "2"}}).recompute, "none");
  EXPECT_THAT(reason({{"recompute", "auto"}, {"ranks", "2"}}), HasSubstr("--ranks 2 excludes --recompute auto"));
}

TEST(Precision, MixedIsBfloat16) {
  EXPECT_EQ(autocast_dtype(Precision::kMixed), DType::kBFloat16);
  EXPECT_EQ(autocast_dtype(Precision::kBFloat16), DType::kBFloat16);
  EXPECT_EQ(autocast_dtype(Precision::kFloat16), DType::kFloat16);
  EXPECT_EQ(autocast_dtype(Precision::kFloat32), std::nullopt);
  EXPECT_FALSE(is_mixed(Precision::kTf32));
}

TEST(CanonicalText, CoversOnlyOptionsThatChangeTheResult) {
  RunConfig config;
  const std::string text = canonical_text(config);
  EXPECT_THAT(text, HasSubstr("model=small edition=2025 d_model=768"));
  EXPECT_THAT(text, HasSubstr("clip_norm=none"));
  config.timeout = 7;
  EXPECT_EQ(canonical_text(config), text);
  config.eps = 1e-9;
  EXPECT_NE(canonical_text(config), text);
}

}  // namespace
}  // namespace laptime
