// Compares times and bytes of steps on several ranks with hand-computed values.
#include "predict/parallel_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "config/machine.h"
#include "predict/rank_bytes.h"

namespace laptime {
namespace {

// A layer takes 1 s forward, 2 s backward and 0.1 s in the optimizer, and attention is 0.25 s of forward. The ops
// outside the layers take 0.5 s, 1 s and 0.2 s. The host takes no time.
constexpr RankWork kWork{.layer_forward = {1, 0},
                         .layer_backward = {2, 0},
                         .layer_attention = {0.25, 0},
                         .layer_optimizer = {0.1, 0},
                         .ends_forward = {0.5, 0},
                         .ends_backward = {1, 0},
                         .ends_optimizer = {0.2, 0}};

// The model whose bytes are computed by hand; each step gives the number of layers.
const ModelConfig kModel{.d_model = 1000, .d_ff = 4000, .num_heads = 10, .vocab_size = 1000};

DataSheet machine() { return find_machine("h100"); }

LaunchTimes times(Program program = Program::kPyTorchCompile) {
  return {machine(), machine().bfloat16, program, Mode::kCompile};
}

ParallelStep step_of(int64_t layers, ParallelLayout layout = {}) {
  return {.layout = layout, .layers = layers, .tokens = 1000, .d_model = 1000, .parameters = 1e9};
}

ParallelTime time_of(const ParallelStep& step, Program program = Program::kPyTorchCompile) {
  return parallel_time(times(program), machine(), kWork, step);
}

TEST(ParallelTime, OneRankTakesTheSumOfItsWork) {
  EXPECT_NEAR(time_of(step_of(2)).step, 2 * (1 + 2) + 0.5 + 1 + 2 * 0.1 + 0.2, 1e-12);
  EXPECT_NEAR(time_of(step_of(2)).forward, 2 * 1 + 0.5, 1e-12);
  ParallelStep accumulating = step_of(2);
  accumulating.micro_batches = 3;
  EXPECT_NEAR(time_of(accumulating).step, 3 * 7.5 + 0.4, 1e-12);
}

TEST(ParallelTime, CheckpointingRecomputesForward) {
  ParallelStep step = step_of(2);
  const double none = time_of(step).step;
  step.checkpointing = Checkpointing::kFull;
  const double full = time_of(step).step;
  step.checkpointing = Checkpointing::kAttention;
  EXPECT_NEAR(time_of(step).step - none, 2 * 0.25, 1e-12);
  EXPECT_GT(full, none + 2 * 0.5);
  EXPECT_LT(full, none + 2 * 1.0);
}

TEST(ParallelTime, PipelineWaitsForItsFirstAndLastMicroBatch) {
  ParallelStep step = step_of(8, {.ranks = 4, .pipeline = 4});
  step.micro_batches = 6;
  const double micro = 2 * 3 + 1.5;
  EXPECT_NEAR(time_of(step).bubble, 3 * micro, 1e-12);
  EXPECT_NEAR(time_of(step).step, (6 + 3) * micro + 2 * 0.1 + 0.2, 1e-12);
  step.layout.chunks = 2;  // the rank with the head has fewer layers
  EXPECT_NEAR(time_of(step).bubble, 1.5 * (2 * 3 + 1.5 / 4), 1e-12);
}

TEST(ParallelTime, TensorParallelReductionsAddTime) {
  const ParallelTime time = time_of(step_of(2, {.ranks = 8, .tensor = 8}));
  const DataSheet sheet = machine();
  const double one = 7.0 / 8 * 2 * 1000 * 1000 / (sheet.link_bandwidth * sheet.reached_link) + sheet.link_latency;
  EXPECT_NEAR(time.exposed_tensor, 2 * 4 * 2 * one, 1e-12);
  EXPECT_LT(time_of(step_of(2, {.ranks = 8, .tensor = 8}), Program::kMegatron).exposed_tensor, time.exposed_tensor);
}

TEST(ParallelTime, ShardedParametersAreGatheredInEachMicroBatch) {
  ParallelStep step = step_of(2, {.ranks = 8, .shard = Shard::kParameters});
  const double once = time_of(step).exposed_data;
  EXPECT_GT(once, 0);
  step.micro_batches = 4;
  EXPECT_NEAR(time_of(step).exposed_data, 4 * once, 1e-12);
  step.layout.shard = Shard::kOptimizer;
  EXPECT_LT(time_of(step).exposed_data, 2 * once);
}

TEST(ParallelTime, ContextRanksExchangeParametersAsDataRanksDo) {
  for (const Shard shard : {Shard::kNone, Shard::kParameters}) {
    const double exposed = time_of(step_of(2, {.ranks = 8, .shard = shard})).exposed_data;
    EXPECT_GT(exposed, 0);
    EXPECT_DOUBLE_EQ(time_of(step_of(2, {.ranks = 8, .context = 8, .shard = shard})).exposed_data, exposed);
  }
}

TEST(ParallelTime, WiderValuesMoveMoreBytes) {
  const double link = machine().link_bandwidth * machine().reached_link;
  const auto more = [](ParallelStep step, double ParallelTime::*part) {
    const double narrow = time_of(step).*part;
    step.value_bytes = 4;
    return time_of(step).*part - narrow;
  };
  const double values = 7.0 / 8 * 1000 * 1000;  // values per link in each of the two halves of an all-reduce
  EXPECT_NEAR(more(step_of(2, {.ranks = 8, .tensor = 8}), &ParallelTime::exposed_tensor), 2 * 4 * 2 * 2 * values / link,
              1e-12);
  constexpr double kExposed = 0.3;  // fraction of overlapped communication that still costs time
  const double parameters = 7.0 / 8 * 1e9;
  EXPECT_NEAR(more(step_of(2, {.ranks = 8, .shard = Shard::kParameters}), &ParallelTime::exposed_data),
              kExposed * 3 * 2 * parameters / link, 1e-12);
  EXPECT_NEAR(more(step_of(2, {.ranks = 8, .shard = Shard::kOptimizer}), &ParallelTime::exposed_data),
              kExposed * 2 * parameters / link, 1e-12);
}

TEST(ParallelTime, ExchangedBytesDependOnTheProgram) {
  const DataSheet sheet = machine();
  constexpr double kExposed = 0.3;
  // A step with autocast exchanges `bytes` per parameter in `operations` collective operations.
  const auto expect = [&](Program program, Shard shard, int64_t micro_batches, double bytes, double operations) {
    ParallelStep step = step_of(2, {.ranks = 8, .shard = shard});
    step.micro_batches = micro_batches;
    const double moved = 7.0 / 8 * bytes * 1e9 / (sheet.link_bandwidth * sheet.reached_link);
    EXPECT_NEAR(time_of(step, program).exposed_data, kExposed * (moved + operations * sheet.link_latency), 1e-12)
        << name_of(program) << ' ' << name_of(shard) << ' ' << micro_batches;
  };
  constexpr Program kPyTorch = Program::kPyTorchCompile;
  expect(kPyTorch, Shard::kNone, 4, 4 + 4, 1);  // both halves of an all-reduce move float32
  expect(kPyTorch, Shard::kOptimizer, 4, 4 + 2, 1);
  expect(kPyTorch, Shard::kGradients, 1, 4 + 2, 1);
  expect(kPyTorch, Shard::kGradients, 4, 4 * 4 + 2, 1);
  expect(kPyTorch, Shard::kParameters, 4, 4 * (2 * 2 + 2), 4);
  expect(Program::kLaptime, Shard::kNone, 4, 4 + 4, 1);
  expect(Program::kLaptime, Shard::kOptimizer, 4, 4 + 4, 1);
  expect(Program::kLaptime, Shard::kGradients, 4, 4 + 4, 1);
  expect(Program::kLaptime, Shard::kParameters, 1, 2 * 4 + 4, 2);
  expect(Program::kLaptime, Shard::kParameters, 4, 4 * 2 * 4 + 4, 5);
}

TEST(ParallelTime, NetworkLimitsRingsAcrossNodes) {
  const auto exposed = [](int64_t ranks, int64_t tensor) {
    ParallelStep step = step_of(2, {.ranks = ranks, .tensor = tensor, .shard = Shard::kOptimizer});
    step.parameters = 1e12;
    return time_of(step).exposed_data;
  };
  EXPECT_GT(exposed(64, 1), exposed(8, 1));
  // Eight rings, each with an eighth of the gradients, share the network of a node.
  EXPECT_NEAR(exposed(64, 8) / exposed(64, 1), (7.0 / 8) / (63.0 / 64), 0.05);
}

TEST(ParallelTime, RejectsMachinesWithoutLinks) {
  DataSheet sheet = machine();
  sheet.link_devices = 0;
  EXPECT_THROW(parallel_time(times(), sheet, kWork, step_of(2, {.ranks = 2})), Error);
}

TEST(ParallelTime, OneRankNeedsNoLinks) {
  DataSheet sheet = machine();
  sheet.link_devices = 0;
  const auto time = [&](ParallelLayout layout) { return parallel_time(times(), sheet, kWork, step_of(2, layout)); };
  EXPECT_DOUBLE_EQ(time({.shard = Shard::kParameters, .shards_in_node = true}).step, time({}).step);
  EXPECT_NEAR(time({.shard = Shard::kGradients, .offloads = true}).optimizer, 1e9 * 32 / 130e9, 1e-9);
}

TEST(RankBytes, ShardingDividesStatesAmongRanks) {
  const auto bytes = [&](Shard shard) {
    return rank_bytes(kModel, false, step_of(10, {.ranks = 8, .shard = shard}), {});
  };
  EXPECT_DOUBLE_EQ(bytes(Shard::kNone).parameters, 4e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kNone).optimizer, 8e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kOptimizer).optimizer, 1e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kOptimizer).gradients, 4e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kGradients).gradients, 0.5e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kGradients).parameters, 4e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kParameters).parameters, 0.5e9);
}

TEST(RankBytes, GradientsThatAreReducedOnceStayWhole) {
  const StoredTypes once{.gathered_bytes = 4, .reduces_once = true};
  const auto bytes = [&](Shard shard, int64_t micro_batches, const StoredTypes& stored) {
    ParallelStep step = step_of(10, {.ranks = 8, .shard = shard});
    step.micro_batches = micro_batches;
    return rank_bytes(kModel, false, step, stored);
  };
  EXPECT_DOUBLE_EQ(bytes(Shard::kOptimizer, 2, once).gradients, 4e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kGradients, 1, once).gradients, 0.5e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kGradients, 2, once).gradients, 4e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kGradients, 2, {}).gradients, 0.5e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kParameters, 1, once).gradients, 0.5e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kParameters, 2, once).gradients, 4e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kParameters, 2, {}).gradients, 0.5e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kParameters, 1, once).gathered, 2 * bytes(Shard::kParameters, 1, {}).gathered);
}

TEST(RankBytes, DividesStatesOnlyWithinAReplica) {
  const auto bytes = [&](int64_t ranks, int64_t most_sharers) {
    return rank_bytes(kModel, false, step_of(10, {.ranks = ranks, .shard = Shard::kParameters}),
                      {.most_sharers = most_sharers});
  };
  EXPECT_DOUBLE_EQ(bytes(64, 0).optimizer, 8e9 / 64);
  EXPECT_DOUBLE_EQ(bytes(64, 8).optimizer, 8e9 / 8);
  EXPECT_DOUBLE_EQ(bytes(64, 8).parameters, 4e9 / 8);
  EXPECT_DOUBLE_EQ(bytes(4, 8).optimizer, 8e9 / 4);
}

TEST(RankBytes, ActivationsMatchPublishedFormulas) {
  ParallelStep step = step_of(10);
  step.kv_width = 1000;
  EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step, {}).activations, 10 * 32 * 1000.0 * 1000);
  step.checkpointing = Checkpointing::kFull;
  // Backward of the recomputed layer also holds the gradients of its widest value and of two narrow values.
  EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step, {}).activations, (10 * 2 + 32 + 12) * 1000.0 * 1000);
  step.checkpointing = Checkpointing::kSelective;
  EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step, {}).activations, (10 * 18 + 32 - 18 + 12) * 1000.0 * 1000);
}

TEST(RankBytes, Float32NeedsNoCopiesOfParameters) {
  const auto bytes = [&](Shard shard, double value_bytes, const StoredTypes& stored) {
    ParallelStep step = step_of(10, {.ranks = 8, .shard = shard});
    step.value_bytes = value_bytes;
    return rank_bytes(kModel, false, step, stored);
  };
  const StoredTypes wide{.norm_bytes = 8};
  EXPECT_DOUBLE_EQ(bytes(Shard::kNone, 4, wide).activations, 2 * bytes(Shard::kNone, 2, {}).activations);
  EXPECT_DOUBLE_EQ(bytes(Shard::kNone, 2, {}).gathered, 2e9);
  EXPECT_DOUBLE_EQ(bytes(Shard::kNone, 4, wide).gathered, 0);
  EXPECT_DOUBLE_EQ(bytes(Shard::kParameters, 4, wide).gathered, 2 * bytes(Shard::kParameters, 2, {}).gathered);
}

TEST(RankBytes, UnfusedAttentionStoresScores) {
  ModelConfig model = kModel;
  model.context_length = 100;
  const ParallelStep step = step_of(10);
  const double all = rank_bytes(model, false, step, {.score_bytes = 5}).activations;
  EXPECT_DOUBLE_EQ(all - rank_bytes(model, false, step, {}).activations, 5 * 10 * 1000.0 * 100 * 10);
}

TEST(RankBytes, CountsActivationsThatFrameworksKeep) {
  ParallelStep step = step_of(10, {.ranks = 2, .tensor = 2});
  step.kv_width = 250;
  const auto saved = [&](const StoredTypes& stored, bool has_gate = false) {
    return rank_bytes(kModel, has_gate, step, stored).activations / (10 * 1000.0 * 1000);
  };
  const double fused = saved({});
  EXPECT_DOUBLE_EQ(fused, (2 * 4 + 2 * (2 + 0.5) + 2 * 8) / 2);
  EXPECT_DOUBLE_EQ(saved({.repeats_heads = true}) - fused, 2 * 1.5 / 2);
  EXPECT_DOUBLE_EQ(saved({.keeps_layouts = true}) - fused, 2 * 1.5 / 2);
  EXPECT_DOUBLE_EQ(saved({.gathers_inputs = true}) - fused, 2);
  EXPECT_DOUBLE_EQ(saved({.norm_bytes = 10}) - fused, 6);
  EXPECT_DOUBLE_EQ(saved({.fuses_gate = false}, true) - saved({}, true), 2 * 4 / 2.0);
}

TEST(RankBytes, CountsHeadsWiderThanTheModel) {
  ModelConfig model = kModel;
  ParallelStep step = step_of(10);
  const auto saved = [&](const StoredTypes& stored) {
    return rank_bytes(model, false, step, stored).activations / (10 * 1000.0 * 1000);
  };
  const auto increase = [&](Checkpointing checkpointing, const StoredTypes& stored) {
    step.checkpointing = checkpointing;
    model.head_dim = 100;
    const double narrow = saved(stored);
    model.head_dim = 200;
    return saved(stored) - narrow;
  };
  EXPECT_DOUBLE_EQ(increase(Checkpointing::kNone, {}), 2 * 2);  // queries and output, 2 bytes each
  EXPECT_DOUBLE_EQ(increase(Checkpointing::kNone, {.repeats_heads = true}), 2 * 4);
  EXPECT_DOUBLE_EQ(increase(Checkpointing::kNone, {.keeps_layouts = true}), 2 * 3);
  EXPECT_DOUBLE_EQ(increase(Checkpointing::kFull, {}), 2 * 3 / 10.0);  // queries, output and a gradient of one layer
  EXPECT_DOUBLE_EQ(increase(Checkpointing::kSelective, {}), 2 * 2 + 2 * 1 / 10.0);
}

TEST(RankBytes, ReplicatedGradientsNeedBuckets) {
  const StoredTypes buckets{.buckets_gradients = true};
  const auto gathered = [&](Shard shard) {
    return rank_bytes(kModel, false, step_of(10, {.ranks = 8, .shard = shard}), buckets).gathered;
  };
  EXPECT_DOUBLE_EQ(gathered(Shard::kNone) - gathered(Shard::kOptimizer), 4e9);
}

TEST(RankBytes, PeakIsAtStartOrEndOfBackwardIfGradientsAreFreed) {
  ParallelStep step = step_of(10);
  const StoredTypes frees{.frees_gradients = true};
  const RankBytes at_end = rank_bytes(kModel, false, step, frees);
  EXPECT_DOUBLE_EQ(at_end.gradients, 4e9);
  EXPECT_DOUBLE_EQ(at_end.activations, 0);
  step.tokens *= 100;
  const RankBytes at_begin = rank_bytes(kModel, false, step, frees);
  EXPECT_DOUBLE_EQ(at_begin.gradients, 0);
  EXPECT_GT(at_begin.activations, 4e9);
  step.micro_batches = 2;
  EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step, frees).gradients, 4e9);
}

TEST(RankBytes, FreedGradientShardsDoNotAddToThePeak) {
  for (const Shard shard : {Shard::kGradients, Shard::kParameters}) {
    ParallelStep step = step_of(10, {.ranks = 8, .shard = shard});
    step.tokens *= 100;
    EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step, {.frees_gradients = true}).gradients, 0);
    EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step, {}).gradients, 0.5e9);
  }
}

TEST(RankBytes, PlannedStepsAddOnlyCommunicationBuffers) {
  const StoredTypes planned{.planned = PlannedActivations{.layer = 1e6}};
  EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step_of(10), planned).framework, 0);
  EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step_of(10, {.ranks = 2}), planned).framework, 1.2 * (1 << 30));
  EXPECT_GT(rank_bytes(kModel, false, step_of(10), {}).framework, 0.6 * (1 << 30));
}

TEST(RankBytes, StageBalancingIncludesTheWorkOfTheHead) {
  const ModelConfig model{.d_model = 1000, .d_ff = 4000, .num_layers = 8, .num_heads = 10, .vocab_size = 100'000};
  ParallelStep step = step_of(8, {.ranks = 4, .pipeline = 4});
  step.kv_width = 1000;
  step.micro_batches = 16;
  step.parameters = 8 * 50e6 + 2 * 100e6;  // the head has the work of two layers
  const double even = rank_bytes(model, false, step, {}).activations;
  EXPECT_DOUBLE_EQ(rank_bytes(model, false, step, {.balances_stages = true}).activations, even * 3 / 2);
}

TEST(RankBytes, PipelineStageKeepsGatheredParametersBetweenMicroBatches) {
  ParallelStep step = step_of(8, {.ranks = 8, .pipeline = 2, .shard = Shard::kParameters});
  step.parameters = 8 * 1e8 + 2 * 1e6;
  EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step, {}).gathered, 2 * (2 * 1e8 + 1e6));
  EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step, {}).gradients, 4 * (4 * 1e8 + 1e6) / 4);
  step.micro_batches = 2;
  EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step, {}).gathered, 2 * (4 * 1e8 + 1e6));
  EXPECT_DOUBLE_EQ(rank_bytes(kModel, false, step, {}).gradients, 4 * (4 * 1e8 + 1e6));
}

TEST(RankBytes, PipelineHoldsMicroBatchesInFlight) {
  const ModelConfig model{.d_model = 1000, .d_ff = 4000, .num_layers = 8, .num_heads = 10, .vocab_size = 10};
  ParallelStep step = step_of(8, {.ranks = 4, .pipeline = 4});
  step.kv_width = 1000;
  const double one = rank_bytes(model, false, step, {}).activations;
  step.micro_batches = 16;
  EXPECT_DOUBLE_EQ(rank_bytes(model, false, step, {}).activations, 4 * one);
}

}  // namespace
}  // namespace laptime
