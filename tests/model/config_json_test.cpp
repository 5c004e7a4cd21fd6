// Reads the config.json of a model: both versions of the format, the defaults of transformers, rejected keys, and the
// names of known models.
#include "model/config_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "config/known_models.h"
#include "model/named_model.h"
#include "model/parameters.h"
#include "points/resolve.h"
#include "support/error_of.h"
#include "support/golden_path.h"

namespace laptime {
namespace {

using testing::HasSubstr;

ModelConfig parse(const Json& document) { return parse_model_config(document.dump(), "config.json"); }

std::string refusal(const Json& document) {
  return test::error_of([&] { parse(document); });
}

Json llama() {
  return Json{{"model_type", "llama"},    {"hidden_size", 64}, {"intermediate_size", 128}, {"num_hidden_layers", 2},
              {"num_attention_heads", 4}, {"vocab_size", 100}, {"hidden_act", "silu"}};
}
Json gpt2() {
  return Json{{"model_type", "gpt2"}, {"n_embd", 64},      {"n_layer", 2},
              {"n_head", 4},          {"n_positions", 32}, {"vocab_size", 100}};
}
Json gpt_neox() {
  return Json{{"model_type", "gpt_neox"}, {"hidden_size", 64},        {"intermediate_size", 256},
              {"num_hidden_layers", 2},   {"num_attention_heads", 4}, {"vocab_size", 100}};
}

TEST(ConfigJson, BothVersionsDescribeTheSameModel) {
  for (const char* name : test::kGoldenFolders) {
    const std::string folder = test::golden_folder(name);
    EXPECT_EQ(read_model_config(folder + "/config.json"), read_model_config(folder + "/config_v4.json")) << name;
  }
}

TEST(ConfigJson, ReadsALlama3Config) {
  const ModelConfig model = read_model_config(test::golden_folder("llama3_tied") + "/config.json");
  EXPECT_EQ(model.edition, Edition::kLlama);
  EXPECT_EQ(model.rope_scaling, "llama3:32:1:4:64");
  EXPECT_EQ(model.rope_theta, 500'000);
  EXPECT_EQ(model.kv_heads(), 1);
  EXPECT_EQ(model.d_head(), 16);
  EXPECT_TRUE(model.weight_tie);
  EXPECT_EQ(model.context_length, 2048);
}

TEST(ConfigJson, UsesTransformersDefaults) {
  const ModelConfig model = parse(llama());
  EXPECT_EQ(model.kv_heads(), 4);
  EXPECT_EQ(model.d_head(), 16);
  EXPECT_EQ(model.norm_eps, 1e-6);
  EXPECT_EQ(model.rope_theta, 10'000);
  EXPECT_FALSE(model.weight_tie);
  Json mistral = llama();
  mistral["model_type"] = "mistral";
  mistral["num_attention_heads"] = 16;
  EXPECT_EQ(parse(mistral).kv_heads(), 8);
  EXPECT_EQ(parse(mistral).max_context, 4096);
  mistral["num_key_value_heads"] = nullptr;
  EXPECT_EQ(parse(mistral).kv_heads(), 16);
  Json qwen3 = llama();
  qwen3["model_type"] = "qwen3";
  qwen3["num_attention_heads"] = 32;
  EXPECT_EQ(parse(qwen3).d_head(), 128);
  const ModelConfig small = parse(gpt2());
  EXPECT_EQ(small.d_ff, 256);
  EXPECT_TRUE(small.weight_tie);
  EXPECT_EQ(small.attn_pdrop, 0.1);
  Json unbounded = gpt2();
  unbounded.erase("n_positions");
  EXPECT_EQ(parse(unbounded).max_context, 1024);
  EXPECT_EQ(parse(unbounded).context_length, 1024);
  const ModelConfig neox = parse(gpt_neox());
  EXPECT_EQ(neox.rotary_share, 0.25);
  EXPECT_TRUE(neox.parallel_residual);
  EXPECT_FALSE(neox.weight_tie);
  Json repeated = gpt_neox();
  repeated["rope_theta"] = 10'000;
  repeated["partial_rotary_factor"] = 0.25;
  EXPECT_EQ(parse(repeated).rotary_share, 0.25);
  Json qwen2 = llama();
  qwen2["model_type"] = "qwen2";
  qwen2["num_key_value_heads"] = 2;
  EXPECT_FALSE(parse(qwen2).max_context);
  qwen2["use_sliding_window"] = true;
  qwen2["max_window_layers"] = 0;
  EXPECT_EQ(parse(qwen2).max_context, 4096);
}

TEST(ConfigJson, ReadsBiasesOfProjections) {
  Json document = llama();
  document["attention_bias"] = true;
  document["mlp_bias"] = true;
  EXPECT_TRUE(parse(document).attention_bias);
  EXPECT_TRUE(parse(document).mlp_bias);
  Json neox = gpt_neox();
  neox["attention_bias"] = false;
  EXPECT_FALSE(parse(neox).attention_bias);
}

struct Refused {
  Json base;
  std::string key;
  Json value;
};

TEST(ConfigJson, RejectsKeysThatChangeTheComputation) {
  Json qwen2 = llama();
  qwen2["model_type"] = "qwen2";
  qwen2["num_key_value_heads"] = 2;
  const std::vector<Refused> all{
      {llama(), "num_local_experts", 8},
      {llama(), "num_experts", 64},
      {llama(), "n_routed_experts", 64},
      {llama(), "moe_intermediate_size", 768},
      {llama(), "router_aux_loss_coef", 0.001},
      {llama(), "attn_logit_softcapping", 50.0},
      {llama(), "final_logit_softcapping", 30.0},
      {llama(), "query_pre_attn_scalar", 256},
      {llama(), "quantization_config", Json{{"bits", 4}}},
      {llama(), "attention_chunk_size", 8192},
      {llama(), "embedding_multiplier", 12.0},
      {llama(), "residual_multiplier", 0.22},
      {llama(), "logits_scaling", 8.0},
      {llama(), "logit_scale", 0.0625},
      {llama(), "use_qk_norm", true},
      {llama(), "clip_qkv", 8.0},
      {llama(), "alibi", true},
      {llama(), "add_cross_attention", true},
      {llama(), "is_encoder_decoder", true},
      {llama(), "num_nextn_predict_layers", 1},
      {llama(), "auto_map", Json{{"AutoModelForCausalLM", "modeling.Model"}}},
      {llama(), "hidden_act", "gelu"},
      {llama(), "partial_rotary_factor", 0.5},
      {llama(), "rope_scaling", Json{{"type", "linear"}, {"factor", 2.0}}},
      {llama(), "rope_scaling", Json{{"rope_type", "yarn"}, {"factor", 4.0}}},
      {llama(), "rope_scaling", Json{{"type", "dynamic"}, {"factor", 2.0}}},
      {llama(), "rope_parameters", Json{{"rope_type", "longrope"}, {"rope_theta", 1e4}}},
      {llama(), "num_key_value_heads", 3},
      {llama(), "architectures", Json::array({"LlamaForSequenceClassification"})},
      {llama(), "layer_types", Json::array({"full_attention", "linear_attention"})},
      {llama(), "sliding_window", 4096},
      {qwen2, "layer_types", Json::array({"chunked_attention"})},
      {gpt2(), "scale_attn_by_inverse_layer_idx", true},
      {gpt2(), "scale_attn_weights", false},
      {gpt2(), "reorder_and_upcast_attn", true},
      {gpt2(), "activation_function", "relu"},
      {gpt2(), "activation_function", "gelu_pytorch_tanh"},
      {gpt2(), "add_cross_attention", true},
      {llama(), "compression_config", Json{{"quantization_status", "compressed"}}},
      {gpt2(), "pruned_heads", Json{{"0", Json::array({1})}}},
      {llama(), "rope_parameters", Json{{"full_attention", Json{{"rope_type", "yarn"}, {"factor", 4.0}}}}},
      {llama(), "rope_scaling", Json{{"rope_type", "llama3"}, {"mscale", 0.7}}},
      {gpt_neox(), "rope_theta", 5000.0},
      {gpt_neox(), "partial_rotary_factor", 0.5},
      {gpt_neox(), "hidden_act", "gelu_fast"},
      {gpt_neox(), "rotary_pct", 0.0},
      {gpt_neox(), "rotary_pct", 1.5},
  };
  for (const Refused& one : all) {
    Json document = one.base;
    document[one.key] = one.value;
    EXPECT_THAT(refusal(document), HasSubstr("config.json")) << document.dump();
    EXPECT_THAT(refusal(document), HasSubstr("'" + one.key + "'")) << document.dump();
    EXPECT_THAT(refusal(document), HasSubstr("not supported")) << document.dump();
  }
}

TEST(ConfigJson, RejectsTwoDifferentRopeScalings) {
  const Json llama3{{"rope_type", "llama3"},
                    {"factor", 8.0},
                    {"low_freq_factor", 1.0},
                    {"high_freq_factor", 4.0},
                    {"original_max_position_embeddings", 64}};
  const Json plain{{"rope_type", "default"}, {"rope_theta", 5e5}};
  for (const auto& [scaling, parameters] : {std::pair(llama3, plain), std::pair(plain, llama3)}) {
    Json document = llama();
    document["rope_scaling"] = scaling;
    document["rope_parameters"] = parameters;
    EXPECT_THAT(refusal(document), HasSubstr("'rope_parameters' is different from rope_scaling, which is not "
                                             "supported; keep only one of the two keys"));
    document["rope_parameters"] = scaling;
    EXPECT_EQ(refusal(document), "");
  }
}

TEST(ConfigJson, IgnoresKeysWithoutEffect) {
  Json document = llama();
  const Json usual{{"bos_token_id", 1},
                   {"torch_dtype", "bfloat16"},
                   {"use_cache", true},
                   {"pretraining_tp", 1},
                   {"initializer_range", 0.02},
                   {"transformers_version", "4.40.0"},
                   {"_name_or_path", "a/b"},
                   {"rope_scaling", nullptr},
                   {"sliding_window", nullptr},
                   {"num_experts", 0},
                   {"is_encoder_decoder", false},
                   {"attn_logit_softcapping", nullptr},
                   {"_attn_implementation_autoset", true},
                   {"quantization_config", nullptr}};
  for (const auto& [key, value] : usual.items()) document[key] = value;
  EXPECT_EQ(parse(document), parse(llama()));
}

TEST(ConfigJson, SlidingWindowLimitsTheContext) {
  Json mistral = llama();
  mistral["model_type"] = "mistral";
  mistral["num_key_value_heads"] = 2;
  mistral["sliding_window"] = 128;
  EXPECT_EQ(parse(mistral).max_context, 128);
  EXPECT_EQ(parse(mistral).context_length, 128);
  mistral["sliding_window"] = nullptr;
  EXPECT_FALSE(parse(mistral).max_context.has_value());
  Json qwen = llama();
  qwen["model_type"] = "qwen2";
  qwen["num_key_value_heads"] = 2;
  qwen["sliding_window"] = 128;
  qwen["use_sliding_window"] = false;
  EXPECT_FALSE(parse(qwen).max_context.has_value());
  qwen["use_sliding_window"] = true;
  qwen["max_window_layers"] = 1;
  EXPECT_EQ(parse(qwen).max_context, 128);
}

TEST(ConfigJson, LayersBelowMaxWindowLayersHaveFullAttention) {
  for (const char* const type : {"qwen2", "qwen3"}) {
    Json qwen = llama();
    qwen["model_type"] = type;
    qwen["num_key_value_heads"] = 2;
    qwen["sliding_window"] = 1024;
    qwen["use_sliding_window"] = true;
    qwen["num_hidden_layers"] = 28;
    EXPECT_FALSE(parse(qwen).max_context.has_value()) << type;  // max_window_layers is 28 by default
    EXPECT_EQ(parse(qwen).context_length, 2048) << type;
    qwen["num_hidden_layers"] = 29;
    EXPECT_EQ(parse(qwen).max_context, 1024) << type;
    qwen["max_window_layers"] = 29;
    EXPECT_FALSE(parse(qwen).max_context.has_value()) << type;
    qwen["layer_types"] = Json::array({"sliding_attention"});  // overrides max_window_layers
    EXPECT_EQ(parse(qwen).max_context, 1024) << type;
  }
}

TEST(ConfigJson, ErrorNamesMissingOrMalformedKeys) {
  for (const char* key :
       {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "intermediate_size"}) {
    for (const Json& value :
         {Json("many"), Json(-1), Json(0), Json(1.5), Json(1e30), Json(nullptr), Json::array({1})}) {
      Json document = llama();
      document[key] = value;
      EXPECT_THAT(refusal(document), HasSubstr(key)) << value.dump();
    }
  }
  EXPECT_THAT(refusal(Json{{"hidden_size", 64}}), HasSubstr("model_type"));
  EXPECT_THAT(refusal(Json{{"model_type", "mixtral"}}), HasSubstr("only llama, mistral, qwen2, qwen3, gpt2"));
  EXPECT_THAT(refusal(Json::array({1})), HasSubstr("object"));
  const auto of_text = [](std::string_view text) {
    return test::error_of([&] { parse_model_config(text, "config.json"); });
  };
  EXPECT_THAT(of_text("{\"model_type\": \"llama\""), HasSubstr("not valid JSON"));
  EXPECT_THAT(of_text(std::string(100, '[')), HasSubstr("deep"));
}

TEST(ConfigJson, ErrorNamesTheKeyOfAValueOutOfRange) {
  const auto with = [](Json document, const char* key, const Json& value) {
    document[key] = value;
    return refusal(document);
  };
  for (const Json& layers : {Json(100'000), Json(0), Json("six")})
    EXPECT_THAT(with(llama(), "num_hidden_layers", layers), HasSubstr("from 1 to 4096"));
  EXPECT_THAT(with(llama(), "hidden_size", 1 << 29), HasSubstr("config.json, 'hidden_size'"));
  EXPECT_THAT(with(llama(), "rms_norm_eps", -1), HasSubstr("config.json: 'rms_norm_eps'"));
  EXPECT_THAT(with(llama(), "attention_dropout", 2), HasSubstr("config.json: 'attention_dropout'"));
  EXPECT_THAT(with(llama(), "num_attention_heads", 5), HasSubstr("'num_attention_heads' is 5"));
  Json neox = gpt_neox();
  neox["head_dim"] = 16;  // gpt_neox ignores this key, so the number of heads must divide hidden_size
  EXPECT_THAT(with(neox, "num_attention_heads", 5), HasSubstr("'num_attention_heads' is 5"));
  EXPECT_THAT(with(gpt_neox(), "rope_theta", 5000.0),
              HasSubstr("gpt_neox reads 'rotary_emb_base' instead, here 10000"));
  EXPECT_THAT(with(llama(), "vocab_size", int64_t{1} << 40), HasSubstr("'vocab_size' is 1099511627776"));
  EXPECT_THAT(with(gpt2(), "n_layer", 100'000), HasSubstr("config.json, 'n_layer'"));
  EXPECT_THAT(with(gpt2(), "resid_pdrop", 1), HasSubstr("config.json: 'resid_pdrop'"));
  EXPECT_THAT(with(gpt_neox(), "hidden_dropout", 1), HasSubstr("config.json: 'hidden_dropout'"));
}

TEST(ConfigJson, ReadsThePadToken) {
  Json document = llama();
  EXPECT_FALSE(parse(document).pad_token);
  document["pad_token_id"] = 3;
  EXPECT_EQ(parse(document).pad_token, 3);
  document["pad_token_id"] = -1;
  EXPECT_EQ(parse(document).pad_token, parse(document).vocab_size - 1);
  document["pad_token_id"] = parse(llama()).vocab_size;
  EXPECT_THAT(refusal(document), HasSubstr("'pad_token_id'"));
  Json neox = gpt_neox();
  neox["pad_token_id"] = 3;
  EXPECT_FALSE(parse(neox).pad_token);
}

// Parameter counts computed by transformers, which equal those of the published checkpoints
// (tests/golden_hf/models.csv).
TEST(KnownModels, HaveTheParameterCountsOfTheCheckpoints) {
  struct Known {
    const char* name;
    int64_t parameters;
  };
  constexpr Known kAll[] = {
      {"SmolLM2-135M", 134'515'008},     {"SmolLM2-360M", 361'821'120},     {"SmolLM2-1.7B", 1'711'376'384},
      {"Llama-3.2-1B", 1'235'814'400},   {"Llama-3.2-3B", 3'212'749'824},   {"Llama-3.1-8B", 8'030'261'248},
      {"Llama-3.1-70B", 70'553'706'496}, {"TinyLlama-1.1B", 1'100'048'384}, {"Mistral-7B-v0.1", 7'241'732'096},
      {"Qwen2.5-0.5B", 494'032'768},     {"Qwen2.5-1.5B", 1'543'714'304},   {"Qwen2.5-7B", 7'615'616'512},
      {"Qwen3-0.6B", 596'049'920},       {"Qwen3-1.7B", 1'720'574'976},     {"Qwen3-4B", 4'022'468'096},
      {"Qwen3-8B", 8'190'735'360},       {"gpt2-124M", 124'439'808},        {"gpt2", 124'439'808},
      {"gpt2-medium", 354'823'168},      {"gpt2-large", 774'030'080},       {"gpt2-xl", 1'557'611'200},
      {"gpt2-355M", 354'823'168},        {"gpt2-774M", 774'030'080},        {"gpt2-1558M", 1'557'611'200},
      {"pythia-70m", 70'426'624},        {"pythia-160m", 162'322'944},      {"pythia-410m", 405'334'016},
      {"pythia-1b", 1'011'781'632},      {"pythia-1.4b", 1'414'647'808},    {"pythia-2.8b", 2'775'208'960},
      {"pythia-6.9b", 6'857'302'016},
  };
  for (const Known& known : kAll) {
    const ResolvedConfig resolved = resolve({{"model", known.name}});
    EXPECT_EQ(resolved.invalid, "") << known.name;
    EXPECT_EQ(summarize(resolved.config.model).parameter_count, known.parameters) << known.name;
  }
}

TEST(KnownModels, IgnoreCase) {
  EXPECT_EQ(canonical_model_name("--model", "smollm2-135m"), "SmolLM2-135M");
  EXPECT_EQ(canonical_model_name("--model", "PYTHIA-160M"), "pythia-160m");
  EXPECT_EQ(canonical_model_name("--model", "meta-llama/Llama-3.2-1B"), "Llama-3.2-1B");
  EXPECT_EQ(canonical_model_name("--model", "openai-community/gpt2-xl"), "gpt2-xl");
  EXPECT_EQ(canonical_model_name("--model", "huggingface.co/Qwen/Qwen3-0.6B"), "Qwen3-0.6B");
  EXPECT_EQ(canonical_model_name("--model", "https://huggingface.co/meta-llama/Llama-3.2-1B"), "Llama-3.2-1B");
  EXPECT_EQ(canonical_model_name("--model", "GPT2"), "gpt2");
  EXPECT_EQ(canonical_model_name("--model", "s"), "small");
  EXPECT_THROW(canonical_model_name("--model", "Llama-9-1B"), Error);
}

TEST(KnownModels, BecomeCustomIfADimensionChanges) {
  const ResolvedConfig resolved = resolve({{"model", "SmolLM2-135M"}, {"num-layers", "2"}, {"context", "64"}});
  EXPECT_EQ(resolved.invalid, "");
  EXPECT_EQ(resolved.config.model.name, "custom");
  EXPECT_EQ(resolved.config.model.edition, Edition::kLlama);
  EXPECT_EQ(resolved.config.model.kv_heads(), 3);
  EXPECT_EQ(resolve({{"model", "SmolLM2-135M"}, {"context", "64"}}).config.model.name, "SmolLM2-135M");
}

// A model is named after its folder, or "custom" if a different known model has that name.
TEST(NamedModel, IsNamedAfterItsFolder) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "named_models";
  const auto name_in = [&](const std::string& name, const Json& document) {
    std::filesystem::create_directories(folder / name);
    std::ofstream(folder / name / "config.json") << document.dump();
    return named_model((folder / name / "config.json").string())->model.name;
  };
  EXPECT_EQ(name_in("mine", gpt2()), "mine");
  for (const char* const taken : {"small", "XL", "8B", "gpt2-124M", "attention", "SmolLM2-135M", "gpt2"})
    EXPECT_EQ(name_in(taken, gpt2()), "custom") << taken;
  const Json published{{"model_type", "gpt2"}, {"n_embd", 768},       {"n_layer", 12},
                       {"n_head", 12},         {"n_positions", 1024}, {"vocab_size", 50257}};
  EXPECT_EQ(name_in("GPT2", published), "gpt2");
  Json other_norms = published;
  other_norms["layer_norm_epsilon"] = 1e-6;
  EXPECT_EQ(name_in("GPT2", other_norms), "custom");
  std::filesystem::remove_all(folder);
}

TEST(KnownModels, RejectContextsLongerThanTheWindow) {
  EXPECT_THAT(resolve({{"model", "Mistral-7B-v0.1"}, {"context", "8192"}}).invalid,
              HasSubstr("sliding window of 4096"));
  EXPECT_EQ(resolve({{"model", "Mistral-7B-v0.1"}, {"context", "4096"}}).invalid, "");
}

TEST(Families, RejectOptionsOfOtherFamilies) {
  const std::vector<GivenOption> custom{
      {"model", "custom"}, {"d-model", "64"}, {"num-layers", "1"}, {"num-heads", "4"}};
  const auto with = [&](const std::vector<GivenOption>& more) {
    std::vector<GivenOption> given = custom;
    given.insert(given.end(), more.begin(), more.end());
    return resolve(given).invalid;
  };
  EXPECT_EQ(with({{"edition", "llama"}, {"num-kv-heads", "2"}}), "");
  EXPECT_THAT(with({{"num-kv-heads", "2"}}), HasSubstr("edition 2025 has no --num-kv-heads; leave it out, or use "
                                                       "--edition llama or qwen2 or qwen3"));
  EXPECT_THAT(with({{"edition", "llama"}, {"num-kv-heads", "3"}}), HasSubstr("must divide num_heads"));
  EXPECT_THAT(with({{"edition", "llama"}, {"parallel-residual", "true"}}), HasSubstr("use --edition gpt_neox"));
  EXPECT_THAT(with({{"edition", "llama"}, {"head-dim", "15"}}), HasSubstr("RoPE"));
  EXPECT_THAT(with({{"edition", "gpt2"}, {"rope-theta", "500"}}), HasSubstr("has no --rope-theta"));
}

}  // namespace
}  // namespace laptime
