// Reads tables of published runs and interprets the text of their cells.
#include "cluster/published_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "cluster/predicted_run.h"
#include "cluster/published_answer.h"
#include "cluster/stored_types.h"

namespace laptime {
namespace {

using testing::HasSubstr;

constexpr const char* kHeader =
    "id,source,source_commit_or_date,hardware,gpus,nodes,interconnect,model_family,model_name,parameters,layers,d_"
    "model,"
    "d_ff,heads,kv_heads,vocab,sequence_length,micro_batch,global_batch_tokens,dtype,mode,flash_attention,parallelism,"
    "activation_checkpointing,quantity,value,note\n";
constexpr const char* kRow =
    "a,who,2024,H100 80GB,64,8,NVLink in node; 1600 Gb/s RoCE per node,Llama,Llama 3 "
    "70B,70552387584,80,8192,28672,64,8,"
    "128256,8192,1,1048576,bf16,megatron,yes,tp=4 pp=4 cp=2 vp=5,full,tokens_per_s_per_gpu,900,causal attention "
    "FLOPs\n";

PublishedRun row(std::string_view from = {}, std::string_view to = {}) {
  std::string text = std::string(kHeader) + kRow;
  if (!from.empty()) text.replace(text.rfind(from), from.size(), to);
  return parse_published_runs(text, "t.csv").at(0);
}

std::string error_of(const std::string& text) {
  try {
    parse_published_runs(text, "t.csv");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(PublishedRun, RejectsMalformedTables) {
  EXPECT_THAT(error_of("id,hardwar\n"), HasSubstr("t.csv:1: unknown column 'hardwar'"));
  EXPECT_THAT(error_of("id,id\n"), HasSubstr("occurs twice"));
  EXPECT_THAT(error_of("id,source\n"), HasSubstr("the column 'source_commit_or_date' is missing"));
  EXPECT_THAT(error_of(std::string(kHeader) + "a,b\n"), HasSubstr("t.csv:2: 2 cells, but the header has 27"));
  std::string text = std::string(kHeader) + kRow;
  text.replace(text.rfind(",900,"), 5, ",fast,");
  EXPECT_THAT(error_of(text), HasSubstr("t.csv:2: value: 'fast' is not a positive number"));
}

TEST(PublishedRun, RejectsCellsThatAreNotCounts) {
  for (const auto& [from, to, column, cell] :
       std::vector<std::array<std::string, 4>>{{",8192,1,", ",\"8,192\",1,", "sequence_length", "8,192"},
                                               {",64,8,NVLink", ",\"1,024\",8,NVLink", "gpus", "1,024"},
                                               {",64,8,NVLink", ",abc,8,NVLink", "gpus", "abc"},
                                               {",64,8,NVLink", ",-8,8,NVLink", "gpus", "-8"},
                                               {",64,8,NVLink", ",64,none,NVLink", "nodes", "none"},
                                               {",80,8192,28672", ",2.5,8192,28672", "layers", "2.5"},
                                               {",80,8192,28672", ",80,0,28672", "d_model", "0"},
                                               {",80,8192,28672", ",80,8192,inf", "d_ff", "inf"},
                                               {",64,8,128256", ",1e,8,128256", "heads", "1e"},
                                               {",64,8,128256", ",64, 8,128256", "kv_heads", " 8"},
                                               {",128256,", ",-1,", "vocab", "-1"},
                                               {",8192,1,", ",8192,12abc,", "micro_batch", "12abc"},
                                               {",1048576,", ",4M,", "global_batch_tokens", "4M"},
                                               {",70552387584,", ",70B,", "parameters", "70B"}}) {
    std::string text = std::string(kHeader) + kRow;
    text.replace(text.rfind(from), from.size(), to);
    EXPECT_THAT(error_of(text), HasSubstr(fmt::format("t.csv:2: {}: '{}' is not", column, cell)));
  }
  EXPECT_EQ(row(",64,8,NVLink", ",,8,NVLink").gpus, "");
}

constexpr const char* kFiguresHeader =
    "source,hardware,software,edition,model,context_length,batch_size,pass,mode,dtype,arithmetic,certainty,warmup,"
    "steps,status,time_s,std_s,min_s,max_s,note\n";

TEST(PublishedRun, RejectsMalformedTimeTables) {
  EXPECT_THAT(error_of(std::string(kFiguresHeader) + "a,b\n"), HasSubstr("t.csv:2: 2 cells"));
  EXPECT_THAT(error_of(std::string(kFiguresHeader) +
                       "me,H100,PyTorch,2025,small,-8,4,forward,eager,float32,tf32,proven,5,10,ok,0.02,,,,\n"),
              HasSubstr("t.csv:2: column context_length: '-8' is not a number"));
}

TEST(PublishedRun, ReadsTimeTables) {
  const std::vector<PublishedRun> runs = parse_published_runs(
      std::string(kFiguresHeader) +
          "me,H100,PyTorch,2025,small,256,4,forward,eager,float32,tf32,proven,5,10,ok,0.02,,,,\n"
          "me,H100,PyTorch,2025,xl,1024,4,forward,eager,float32,tf32,proven,5,10,out_of_memory,,,,,\n",
      "t.csv");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].quantity, "forward_time_s");
  const DescribedRun run = described(runs[0]);
  EXPECT_EQ(run.refusal, "");
  EXPECT_EQ(run.config.dtype, Precision::kTf32);
  EXPECT_EQ(run.step.layers, 12);
}

TEST(DescribedRun, CountsTheProductsOfAnEdition) {
  PublishedRun run = row("tp=4 pp=4 cp=2 vp=5", "none");
  run.model_family = "edition 2025";
  run.model_name = "small";
  run.layers = run.d_model = run.d_ff = run.heads = run.kv_heads = run.vocab = "";
  EXPECT_EQ(described(run).counted_parameters, 128'625'408 - 10'000 * 768);
}

TEST(DescribedRun, ReadsLayoutModelAndBatch) {
  const DescribedRun run = described(row());
  ASSERT_EQ(run.refusal, "");
  EXPECT_EQ(run.config.device, "roofline:h100");
  EXPECT_EQ(run.program, Program::kMegatron);
  EXPECT_EQ(run.config.model.edition, Edition::kLlama);
  EXPECT_EQ(run.config.model.kv_heads(), 8);
  const ParallelLayout& layout = run.step.layout;
  EXPECT_EQ(layout.tensor, 4);
  EXPECT_EQ(layout.pipeline, 4);
  EXPECT_EQ(layout.context, 2);
  EXPECT_EQ(layout.chunks, 5);
  EXPECT_EQ(layout.data(), 2);
  EXPECT_EQ(layout.shard, Shard::kOptimizer);
  EXPECT_EQ(run.step.micro_batches, 1048576 / 8192 / 2);
  EXPECT_EQ(run.step.checkpointing, Checkpointing::kFull);
  EXPECT_DOUBLE_EQ(run.step.network_bandwidth, 200e9);
  EXPECT_EQ(run.counted_attention, CountedAttention::kCausal);
  EXPECT_LT(run.counted_parameters, run.step.parameters);  // excludes the embedding, which no product reads
}

TEST(DescribedRun, Float32StoresNo16BitCopies) {
  const DescribedRun run = described(row(",bf16,", ",fp32,"));
  EXPECT_EQ(run.step.value_bytes, 4);
  EXPECT_EQ(described(row()).step.value_bytes, 2);
  const StoredTypes stored = stored_types(run);
  EXPECT_FALSE(stored.keeps_master);
  EXPECT_EQ(stored.norm_bytes, 8);
  EXPECT_EQ(stored.logit_bytes, 4);
}

TEST(PublishedRun, ParsesTheFirstNumberInAText) {
  EXPECT_EQ(number_in("9.5e-05"), 9.5e-5);
  EXPECT_EQ(number_in(".5"), 0.5);
  EXPECT_EQ(number_in("80 GB"), 80);
  EXPECT_EQ(number_in("8x7B"), 8);
  EXPECT_EQ(number_in("none"), std::nullopt);
}

TEST(DescribedRun, RejectsContextParallelismWithoutFusedAttention) {
  EXPECT_EQ(described(row(",megatron,yes,", ",megatron,no,")).refusal,
            "context parallelism without fused attention is not predicted");
  EXPECT_EQ(described(row(",megatron,yes,tp=4 pp=4 cp=2", ",megatron,no,tp=4 pp=4 cp=1")).refusal, "");
}

TEST(PredictedRun, RecomputesUnfusedAttention) {
  const auto seconds = [](std::string_view checkpointing) {
    const PublishedRun run = row(",megatron,yes,tp=4 pp=4 cp=2 vp=5,full,tokens_per_s_per_gpu,900",
                                 fmt::format(",megatron,no,tp=8,{},step_time_s,20", checkpointing));
    return predict_runs({run}).runs.at(0).predicted.value();
  };
  EXPECT_GT(seconds("selective (attention core)"), 1.02 * seconds("none"));
}

TEST(DescribedRun, StatesWhyARunCannotBePredicted) {
  EXPECT_THAT(described(row("H100 80GB", "TPU v5p")).refusal, HasSubstr("no machine file describes 'TPU v5p'"));
  EXPECT_THAT(described(row("Llama 3 70B", "Mixtral 8x7B")).refusal, HasSubstr("mixtures of experts"));
  EXPECT_THAT(described(row("tp=4", "tp=3")).refusal, HasSubstr("not a multiple"));
  EXPECT_THAT(described(row(",megatron,", ",xla (jax pax),")).refusal, HasSubstr("XLA"));
}

TEST(DescribedRun, ChoosesALayoutThatFitsIfNoneIsStated) {
  const DescribedRun run = described(row("tp=4 pp=4 cp=2 vp=5", "not stated"));
  ASSERT_EQ(run.refusal, "");
  EXPECT_GT(run.step.layout.tensor * run.step.layout.pipeline, 1);  // 70B parameters do not fit on one GPU
  SharePlans plans;
  EXPECT_LE(bytes_of(run, plans).total(), static_cast<double>(machine_of(run).memory));
}

TEST(DescribedRun, HsdpShardsWithinANode) {
  SharePlans plans;
  const auto optimizer = [&](std::string_view parallelism) {
    return bytes_of(described(row("tp=4 pp=4 cp=2 vp=5", parallelism)), plans).optimizer;
  };
  EXPECT_DOUBLE_EQ(optimizer("hsdp"), optimizer("fsdp") * 64 / 8);
}

TEST(StoredTypes, DependOnTheDescribedProgram) {
  const auto stored = [](std::string_view mode) {
    return stored_types(described(row(",megatron,", fmt::format(",{},", mode))));
  };
  const StoredTypes megatron = stored("megatron");
  EXPECT_TRUE(megatron.keeps_master);
  EXPECT_EQ(megatron.logit_bytes, 6);
  const StoredTypes eager = stored("eager");
  EXPECT_FALSE(eager.keeps_master);
  EXPECT_TRUE(eager.buckets_gradients);
  EXPECT_EQ(eager.norm_bytes, 10);
  EXPECT_EQ(eager.logit_bytes, 18);  // bfloat16 logits and four float32 values, one of them only in loss_parallel
  const StoredTypes nanotron = stored("nanotron eager");
  EXPECT_TRUE(nanotron.keeps_master && nanotron.gathers_inputs && nanotron.balances_stages);
  EXPECT_EQ(nanotron.norm_bytes, 4);
  EXPECT_EQ(stored("HuggingFace + DeepSpeed").norm_bytes, 8);
  EXPECT_EQ(stored("HuggingFace + DeepSpeed").live_parameters, 1e9);
  EXPECT_EQ(stored("HuggingFace + DeepSpeed + Liger").logit_bytes, 0);
  EXPECT_EQ(stored("torch.compile").logit_bytes, 4);
  EXPECT_TRUE(stored("torch.compile").buckets_gradients);
  EXPECT_EQ(stored("torch.compile; loss not compiled").logit_bytes, 18);
  EXPECT_FALSE(stored("thunder (torchcompile)").buckets_gradients);
  EXPECT_EQ(stored("thunder (nvfuser)").logit_bytes, 14);
  EXPECT_EQ(stored("thunder (nvfuser)").norm_bytes, 8);
}

TEST(StoredTypes, ScoresNeedAMaskOnlyWithDropout) {
  const auto of_score = [](Precision dtype, bool stores_16_bits, double pdrop, Program program) {
    DescribedRun run;
    run.program = program;
    run.attention = AttentionKernel::kUnfused;
    run.config.dtype = dtype;
    run.config.model.attn_pdrop = pdrop;
    run.step.value_bytes = activation_bytes(dtype);
    run.stores_16_bits = stores_16_bits;
    return stored_types(run).score_bytes;
  };
  constexpr Program kEager = Program::kPyTorchEager;
  EXPECT_DOUBLE_EQ(of_score(Precision::kFloat32, false, 0, kEager), 4);
  EXPECT_DOUBLE_EQ(of_score(Precision::kFloat32, false, 0.1, kEager), 4 + 4 + 1);
  EXPECT_DOUBLE_EQ(of_score(Precision::kBFloat16, false, 0, kEager), 4 + 2);
  EXPECT_DOUBLE_EQ(of_score(Precision::kBFloat16, false, 0.1, kEager), 4 + 2 + 1);
  EXPECT_DOUBLE_EQ(of_score(Precision::kBFloat16, true, 0, kEager), 2);
  EXPECT_DOUBLE_EQ(of_score(Precision::kBFloat16, true, 0.1, kEager), 2 + 2 + 1);
  EXPECT_DOUBLE_EQ(of_score(Precision::kBFloat16, false, 0, Program::kPyTorchCompile), 2);
  EXPECT_DOUBLE_EQ(stored_types(DescribedRun()).score_bytes, 0);
}

TEST(DescribedRun, RecognisesMachineNames) {
  EXPECT_EQ(machine_of_words("A100 40GB SXM4")->name, "a100-40");
  EXPECT_EQ(machine_of_words("A100 (8 per node)")->name, "a100");
  EXPECT_EQ(machine_of_words("GB200 (NVL72)")->name, "gb200");
  EXPECT_EQ(machine_of_words("MI300 (192 GB)")->name, "mi300x");
  EXPECT_EQ(machine_of_words("RTX 4090 under WSL")->name, "rtx4090");
  EXPECT_EQ(machine_of_words("NVIDIA H100 NVL")->name, "h100-nvl");
  EXPECT_EQ(machine_of_words("Intel Gaudi 2 96 GB")->name, "gaudi2");
  EXPECT_EQ(machine_of_words("a GPU"), nullptr);
}

TEST(DescribedRun, RecognisesWholeNamesOnly) {
  for (const char* hardware : {"NVIDIA A800-SXM4-80GB", "NVIDIA L40", "NVIDIA RTX A1000", ""})
    EXPECT_EQ(machine_of_words(hardware), nullptr) << hardware;
  EXPECT_EQ(machine_of_words("H100 80GB SXM5 (NVLink)")->name, "h100");
  EXPECT_EQ(machine_of_words("DGX A100 640GB (80 GB cards)")->name, "a100");
}

TEST(PredictedRun, QuantitiesOfOneRunAreConsistent) {
  const PredictedRuns predicted =
      predict_runs({row(), row("tokens_per_s_per_gpu,900", "step_time_s,20"), row("tokens_per_s_per_gpu", "mfu"),
                    row("tokens_per_s_per_gpu", "tokens_per_s"), row("tokens_per_s_per_gpu", "joules")});
  const auto value = [&](size_t at) { return predicted.runs.at(at).predicted.value(); };
  EXPECT_NEAR(value(0) * 64 * value(1), 1048576, 1);
  EXPECT_NEAR(value(3), 64 * value(0), 1e-6 * value(3));
  EXPECT_GT(value(2), 0.1);
  EXPECT_LT(value(2), 0.7);
  EXPECT_THAT(predicted.runs[4].refusal, HasSubstr("the quantity 'joules' is not predicted"));
  EXPECT_EQ(predicted.shares.size(), 1U);
  const PredictedRun& first = predicted.runs[0];
  EXPECT_LT(*first.low, *first.predicted);
  EXPECT_GT(*first.high, *first.predicted);
}

// Sums the bytes of unaligned matrices over the products of one run, as given to tools/fit_machines.
double unaligned_sum(const PublishedRun& run) {
  const Json json = json_of(published_work_answer(predict_runs({run}), "t.csv"));
  double sum = 0;
  for (const Json& launch : json["tables"]["launches"]) {
    if (launch["kind"] == "product") sum += launch["unaligned"].get<double>();
  }
  return sum;
}

TEST(PredictedRun, ListsBytesOfUnalignedMatrices) {
  EXPECT_EQ(unaligned_sum(row()), 0);
  // A rank has 12,565 vocabulary entries, so rows of logits and their gradient are not multiples of 16 bytes.
  EXPECT_GE(unaligned_sum(row("128256", "50257")), 3 * 2.0 * 4096 * 12565);
}

TEST(PredictedRun, GroupsModelsOfAnySize) {
  const PredictedRuns predicted = predict_runs({row("70552387584", "1e31")});
  ASSERT_TRUE(predicted.runs[0].predicted);
  EXPECT_THAT(markdown_of(published_answer(predicted, "t.csv", false)), HasSubstr("100B and more"));
}

TEST(PredictedRun, ShowsNoTitleWithoutRows) {
  const auto shows_rows = [](const std::vector<PublishedRun>& runs, std::string_view table) {
    const PointAnswer answer = published_answer(predict_runs(runs), "t.csv", true);
    const auto part = std::ranges::find(answer.parts, table, [](const AnswerPart& one) { return one.table.name; });
    EXPECT_TRUE(part->for_data);
    return part->for_people;
  };
  const PublishedRun doubted = row("causal attention", "FLAG causal attention");
  EXPECT_FALSE(shows_rows({row()}, "flagged"));
  EXPECT_TRUE(shows_rows({row()}, "published"));
  EXPECT_TRUE(shows_rows({doubted}, "flagged"));
  EXPECT_FALSE(shows_rows({doubted}, "published"));
}

TEST(PredictedRun, ListsFlaggedRunsInASeparateTable) {
  const PredictedRuns predicted = predict_runs({row(), row("causal attention", "FLAG causal attention")});
  const Json json = json_of(published_answer(predicted, "t.csv", false));
  EXPECT_EQ(json["tables"]["published"].size(), 1U);
  EXPECT_EQ(json["tables"]["flagged"].size(), 1U);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json["tables"]["published"][0].items()) keys.push_back(key);
  EXPECT_THAT(keys,
              testing::UnorderedElementsAre("id", "quantity", "value", "predicted", "low", "high", "error", "reason"));
}

}  // namespace
}  // namespace laptime
