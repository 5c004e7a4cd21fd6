// Records of laptime and of other programs, converted to runs whose figures are predicted.
#include "cluster/recorded_runs.h"

#include <gtest/gtest.h>

#include "cluster/described_run.h"
#include "cluster/predicted_run.h"

namespace laptime {
namespace {

Record record(const std::string& system, const std::string& more = "") {
  Record record;
  record.name = "step/model:small";
  record.config = Json::parse(
      R"({"model": "small", "edition": "2025", "num_layers": 3, "d_model": 768, "d_ff": 3072, "num_heads": 12,
          "vocab_size": 10000, "context_length": 512, "batch_size": 4, "dtype": "bfloat16", "pass": "step")" +
      more + (system.empty() ? "" : R"(, "system": ")" + system + R"(")") + "}");
  record.machine = Json::parse(R"({"cpu_model": "a host", "card": {"name": "NVIDIA H200"}})");
  record.time["step"].median = 0.25;
  record.memory.peak_bytes = int64_t{3} << 30;
  return record;
}

DescribedRun run_of(const std::string& more) { return described(runs_of_records({record("", more)})[0]); }

TEST(RecordedRuns, LaptimeRecordGivesOnlyItsTime) {
  const std::vector<PublishedRun> runs = runs_of_records({record("", R"(, "mode": "compile")")});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].quantity, "step_time_s");
  EXPECT_EQ(runs[0].value, "0.25");
  const DescribedRun run = described(runs[0]);
  EXPECT_EQ(run.refusal, "");
  EXPECT_EQ(run.program, Program::kLaptime);
  EXPECT_EQ(run.config.mode, Mode::kCompile);
  EXPECT_EQ(run.config.device, "roofline:h200");
  EXPECT_EQ(run.config.model.num_layers, 3);
  EXPECT_TRUE(run.is_recorded);
}

TEST(RecordedRuns, RecordOfAnotherProgramGivesTimeAndPeak) {
  const std::vector<PublishedRun> runs = runs_of_records({record("pytorch", R"(, "implementation": "torch.compile")")});
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(described(runs[0]).program, Program::kPyTorchCompile);
  EXPECT_EQ(runs[1].quantity, "peak_memory_gib");
  EXPECT_EQ(runs[1].value, "3");
  EXPECT_EQ(described(runs_of_records({record("pytorch")})[0]).program, Program::kPyTorchEager);
}

TEST(RecordedRuns, ReadMicroBatchesRecomputationAndOptimizer) {
  const DescribedRun plain = run_of("");
  EXPECT_EQ(plain.step.micro_batches, 1);
  EXPECT_EQ(plain.step.checkpointing, Checkpointing::kNone);
  EXPECT_EQ(plain.config.optimizer, Optimizer::k2025);
  const DescribedRun run = run_of(R"(, "micro_batches": 2, "recompute": "block", "optimizer": "torch",
                                     "moments": "bfloat16")");
  EXPECT_EQ(run.refusal, "");
  EXPECT_EQ(run.step.micro_batches, 2);
  EXPECT_EQ(run.config.model.batch_size, 2);
  EXPECT_EQ(run.step.checkpointing, Checkpointing::kFull);
  EXPECT_EQ(run.config.optimizer, Optimizer::kTorch);
  EXPECT_EQ(run.config.moments, MomentType::kBFloat16);
  EXPECT_FALSE(run.all_16_bits);  // parameters and gradients stay in float32
  EXPECT_EQ(run_of(R"(, "recompute": "every=2")").refusal,
            "a step that recomputes only some layers cannot be predicted");
}

TEST(RecordedRuns, DivideTheBatchAmongRanks) {
  const DescribedRun run = run_of(R"(, "ranks": 2, "shard": "none", "micro_batches": 2)");
  EXPECT_EQ(run.refusal, "");
  EXPECT_EQ(run.step.layout.ranks, 2);
  EXPECT_EQ(run.step.layout.data(), 2);
  EXPECT_EQ(run.config.model.batch_size, 1);
  EXPECT_EQ(run.step.micro_batches, 2);
  EXPECT_EQ(run.tokens, 4 * 512);
  for (const Shard shard : {Shard::kNone, Shard::kOptimizer, Shard::kGradients, Shard::kParameters})
    EXPECT_EQ(run_of(fmt::format(R"(, "ranks": 2, "shard": "{}")", name_of(shard))).step.layout.shard, shard);
}

TEST(RecordedRuns, RefuseMicroBatchesOfDifferentSizes) {
  EXPECT_EQ(run_of(R"(, "micro_batches": 3)").refusal, "micro-batches of different sizes are not predicted");
  const DescribedRun many = run_of(R"(, "micro_batches": 8)");  // four sequences give at most four
  EXPECT_EQ(many.step.micro_batches, 4);
  EXPECT_EQ(many.config.model.batch_size, 1);
}

TEST(RecordedRuns, KeepOptionsThatChangeLaunches) {
  const DescribedRun run = run_of(
      R"(, "mode": "compile", "keep": "linear", "lower": null, "clip_norm": 1.5, "optimizer_in_backward": false,
         "loss_scale": "dynamic")");
  ASSERT_EQ(run.refusal, "");
  EXPECT_EQ(run.config.keep, "linear");
  EXPECT_EQ(run.config.lower, std::nullopt);
  EXPECT_EQ(run.config.clip_norm, 1.5);
  EXPECT_EQ(run.config.loss_scale, "dynamic");
  EXPECT_EQ(run_of(R"(, "mode": "compile", "lower": "linear")").config.lower, "linear");
  EXPECT_TRUE(run_of(R"(, "optimizer_in_backward": true)").config.optimizer_in_backward);
  Record dropping = record("", R"(, "resid_pdrop": 0.1, "max_context": 1024, "weight_tie": false)");
  dropping.config.json()["edition"] = "gpt2";
  dropping.config.json()["model"] = "custom";
  const ModelConfig model = described(runs_of_records({dropping})[0]).config.model;
  EXPECT_EQ(model.resid_pdrop, 0.1);
  EXPECT_EQ(model.max_context, 1024);
  EXPECT_FALSE(model.weight_tie);
}

TEST(RecordedRuns, FuseAttentionOnlyIfTheImplementationDoes) {
  const auto attention_of = [](const std::string& system, const std::string& implementation) {
    const std::string more = fmt::format(R"(, "mode": "eager", "implementation": "{}")", implementation);
    return described(runs_of_records({record(system, more)})[0]).attention;
  };
  EXPECT_EQ(attention_of("transformers", "eager"), AttentionKernel::kUnfused);
  EXPECT_EQ(attention_of("transformers", "sdpa"), AttentionKernel::kSecond);
  EXPECT_EQ(attention_of("pytorch", "reference"), AttentionKernel::kUnfused);
  EXPECT_EQ(attention_of("pytorch", "tuned"), AttentionKernel::kSecond);
  EXPECT_EQ(attention_of("megatron", "main"), AttentionKernel::kThird);
}

TEST(RecordedRuns, GivePeaksOnlyForWholeSteps) {
  Record inference = record("pytorch");
  inference.config.json()["pass"] = "inference";
  inference.time["inference"].median = 0.1;
  const std::vector<PublishedRun> runs = runs_of_records({inference});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].quantity, "inference_time_s");
}

TEST(RecordedRuns, UseTheCroppedContext) {
  const DescribedRun run = run_of(R"(, "crop_context": 128)");
  EXPECT_EQ(run.config.model.context_length, 128);
  EXPECT_EQ(run.step.tokens, 4 * 128);
  EXPECT_EQ(run.step.micro_batches, 1);
}

TEST(RecordedRuns, StayInFloat32WithBFloat16Moments) {
  Record wide = record("", R"(, "moments": "bfloat16")");
  wide.config.json()["dtype"] = "float32";
  EXPECT_EQ(described(runs_of_records({wide})[0]).config.dtype, Precision::kFloat32);
}

TEST(RecordedRuns, KeepTimesBelowAMillisecond) {
  Record fast = record("");
  fast.time["step"].median = 95e-6;
  EXPECT_DOUBLE_EQ(predict_runs(runs_of_records({fast})).runs[0].value(), 95e-6);
}

TEST(RecordedRuns, KeepHeadsAndSharedEmbedding) {
  const auto run_of = [](const std::string& weight_tie) {
    Record grouped = record("", fmt::format(R"(, "num_kv_heads": 4, "head_dim": 128, "weight_tie": {})", weight_tie));
    grouped.config.json()["model"] = "custom";
    grouped.config.json()["edition"] = "llama";
    return described(runs_of_records({grouped})[0]);
  };
  const DescribedRun run = run_of("true");
  ASSERT_EQ(run.refusal, "");
  EXPECT_EQ(run.config.model.kv_heads(), 4);
  EXPECT_EQ(run.config.model.d_head(), 128);
  EXPECT_DOUBLE_EQ(run.step.kv_width, 4 * 128);
  EXPECT_DOUBLE_EQ(run_of("false").step.parameters - run.step.parameters, 10000 * 768);
}

TEST(RecordedRuns, TreatMixedDtypeAsAutocast) {
  const auto run_of = [](const char* dtype) {
    Record mixed = record("");
    mixed.config.json()["dtype"] = dtype;
    return described(runs_of_records({mixed})[0]);
  };
  EXPECT_FALSE(run_of("mixed").stores_16_bits);
  EXPECT_EQ(run_of("mixed").stores_16_bits, run_of("bfloat16").stores_16_bits);
}

TEST(RecordedRuns, OmitFailedPredictedDelayedAndUnsupportedRecords) {
  Record failed = record("");
  failed.status = Status::kFailed;
  Record predicted = record("");
  predicted.verdict.rating = kPredicted;
  Record attention = record("");
  attention.config = Json::parse(R"({"model": "attention", "pass": "forward"})");
  Record unknown = record("");
  unknown.config = Json::parse(R"({"pass": "step"})");
  const Record delayed = record("", R"(, "delay": "matmul=10ms")");
  EXPECT_TRUE(runs_of_records({failed, predicted, attention, unknown, delayed}).empty());
}

}  // namespace
}  // namespace laptime
