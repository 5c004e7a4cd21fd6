// Plans of steps on several ranks, the search for the fastest plan, and price files.
#include "cluster/parallel_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "cluster/parallel_answer.h"
#include "points/resolve.h"
#include "support/config_of.h"

namespace laptime {
namespace {

using test::config_of;

using testing::HasSubstr;
using testing::Not;

RunConfig step(const std::vector<GivenOption>& more = {}) {
  std::vector<GivenOption> given{{"model", "Llama-3.1-8B"},
                                 {"context", "4096"},
                                 {"batch", "64"},
                                 {"dtype", "bfloat16"},
                                 {"device", "roofline:h100"}};
  given.insert(given.end(), more.begin(), more.end());
  return resolve(given).config;
}

RunConfig small(const char* device) { return config_of(fmt::format("model small batch 8 device {}", device)); }

ParallelChoice choice(int64_t ranks, int64_t tensor = 1, Shard shard = Shard::kParameters) {
  ParallelChoice choice;
  choice.layout.ranks = ranks;
  choice.layout.tensor = tensor;
  choice.layout.shard = shard;
  return choice;
}

TEST(ParallelPlan, RejectsIndivisibleBatchAndRanks) {
  SharePlans plans;
  const auto refusal = [&](const ParallelChoice& one) {
    return plan_parallel(step(), Program::kMegatron, one, plans).refusal;
  };
  EXPECT_EQ(refusal(choice(8)), "");
  EXPECT_THAT(refusal(choice(24)), HasSubstr("batch (64) must be divisible by data ranks x micro-batches (24)"));
  EXPECT_THAT(refusal(choice(8, 3)), HasSubstr("ranks (8) must be divisible"));
}

TEST(ParallelPlan, RejectsTensorRanksThatDoNotDivideKvHeads) {
  SharePlans plans;
  const auto refusal = [&](const char* heads, const char* kv_heads, int64_t tensor) {
    const RunConfig config =
        config_of(fmt::format("model custom edition llama d-model 768 num-heads {} num-kv-heads {} num-layers 4 "
                              "batch 8 device roofline:h100",
                              heads, kv_heads));
    return plan_parallel(config, Program::kLaptime, choice(8, tensor, Shard::kNone), plans).refusal;
  };
  EXPECT_THAT(refusal("12", "6", 4), HasSubstr("num_kv_heads (6) cannot be split evenly over 4 tensor-parallel ranks"));
  EXPECT_EQ(refusal("12", "6", 2), "");
  EXPECT_EQ(refusal("12", "2", 4), "");  // two ranks share a key head
}

TEST(ParallelPlan, IntervalDependsOnModeProgramAndRanks) {
  SharePlans plans;
  const DataSheet h100 = find_machine("h100");
  const auto relative_high = [&](Mode mode, Program program, int64_t ranks = 1) {
    RunConfig config = small("roofline:h100");
    config.mode = mode;
    const ParallelPlan plan = plan_parallel(config, program, choice(ranks, 1, Shard::kNone), plans);
    return *plan.high / plan.time.step;
  };
  ASSERT_NE(h100.eager.high, h100.compile.high);
  EXPECT_DOUBLE_EQ(relative_high(Mode::kEager, Program::kLaptime), h100.laptime_eager.high);
  EXPECT_DOUBLE_EQ(relative_high(Mode::kCompile, Program::kLaptime), h100.laptime_compile.high);
  EXPECT_DOUBLE_EQ(relative_high(Mode::kCompile, Program::kPyTorchEager), h100.eager.high);
  EXPECT_DOUBLE_EQ(relative_high(Mode::kEager, Program::kPyTorchCompile), h100.compile.high);
  EXPECT_DOUBLE_EQ(relative_high(Mode::kEager, Program::kPyTorchEager, 2), h100.parallel.high);
  EXPECT_DOUBLE_EQ(relative_high(Mode::kEager, Program::kLaptime, 2), h100.laptime_eager.high * h100.parallel.high);
}

TEST(ParallelPlan, FewPublishedTimesGiveNoInterval) {
  SharePlans plans;
  const DataSheet machine = find_machine("a100-40");
  ASSERT_GT(machine.compile.figures, 0);
  ASSERT_FALSE(machine.compile.has_interval());
  ASSERT_TRUE(machine.eager.has_interval());
  const RunConfig config = small("roofline:a100-40");
  const auto low = [&](Program program) {
    return plan_parallel(config, program, choice(1, 1, Shard::kNone), plans).low;
  };
  EXPECT_TRUE(low(Program::kPyTorchEager));
  EXPECT_FALSE(low(Program::kPyTorchCompile));
}

// Seconds for which each of four tensor-parallel ranks computes in a micro-batch; d_model is 1024.
double computation(Program program, const char* context, const char* d_ff) {
  const RunConfig config = config_of(
      fmt::format("model medium batch 4 dtype bfloat16 context {} d-ff {} device roofline:h100", context, d_ff));
  SharePlans plans;
  const ParallelPlan plan = plan_parallel(config, program, choice(4, 4, Shard::kNone), plans);
  EXPECT_EQ(plan.refusal, "");
  return plan.time.forward + plan.time.backward;
}

TEST(ParallelPlan, SizesEqualToDModelAreNotDividedTwice) {
  for (const Program program : {Program::kLaptime, Program::kPyTorchEager, Program::kMegatron}) {
    EXPECT_GT(computation(program, "1024", "4032"), computation(program, "1016", "4032")) << name_of(program);
    EXPECT_GT(computation(program, "512", "4096"), computation(program, "512", "4064")) << name_of(program);
  }
}

TEST(ParallelPlan, SharesOfDifferentTensorRanksAreCachedSeparately) {
  const auto time = [](const char* heads, const char* d_ff, const char* vocab, int64_t tensor, SharePlans& plans) {
    const RunConfig config =
        config_of(fmt::format("model custom d-model 512 num-heads {} head-dim 64 d-ff {} vocab {} num-layers 4 "
                              "batch 8 device roofline:h100",
                              heads, d_ff, vocab));
    const ParallelPlan plan =
        plan_parallel(config, Program::kMegatron, choice(2 * tensor, tensor, Shard::kNone), plans);
    EXPECT_EQ(plan.refusal, "");
    return plan.time.step;
  };
  SharePlans both, alone;
  time("8", "2048", "8192", 2, both);
  EXPECT_DOUBLE_EQ(time("16", "4096", "16384", 4, both), time("16", "4096", "16384", 4, alone));
}

TEST(ParallelPlan, MoreRanksReduceTimeAndMemory) {
  SharePlans plans;
  const ParallelPlan few = plan_parallel(step(), Program::kMegatron, choice(8), plans);
  const ParallelPlan many = plan_parallel(step(), Program::kMegatron, choice(64), plans);
  EXPECT_LT(many.time.step, few.time.step);
  EXPECT_GT(many.time.step, few.time.step / 8);
  EXPECT_LT(many.bytes.total(), few.bytes.total());
}

TEST(ParallelPlan, Float32NeedsMoreActivationBytes) {
  SharePlans plans;
  const auto bytes = [&](const char* dtype, Program program) {
    return plan_parallel(step({{"dtype", dtype}, {"mode", "compile"}}), program, choice(8, 1, Shard::kNone), plans)
        .bytes;
  };
  for (const char* dtype : {"float32", "tf32"}) {
    const RankBytes wide = bytes(dtype, Program::kLaptime);
    const RankBytes narrow = bytes("bfloat16", Program::kLaptime);
    EXPECT_GT(wide.activations, 1.7 * narrow.activations);  // not 2: statistics of norms and softmax are always float32
    EXPECT_DOUBLE_EQ(wide.parameters, narrow.parameters);
    EXPECT_GT(narrow.gathered, 0);
    EXPECT_EQ(wide.gathered, 0);
    EXPECT_DOUBLE_EQ(bytes(dtype, Program::kMegatron).parameters, 2 * bytes("bfloat16", Program::kMegatron).parameters);
  }
}

TEST(ParallelPlan, ShardChangesNothingWithoutDataParallelRanks) {
  SharePlans plans;
  for (const Program program : {Program::kLaptime, Program::kPyTorchEager, Program::kMegatron}) {
    const ParallelPlan whole = plan_parallel(step(), program, choice(8, 8, Shard::kNone), plans);
    const ParallelPlan sharded = plan_parallel(step(), program, choice(8, 8, Shard::kParameters), plans);
    EXPECT_DOUBLE_EQ(sharded.time.step, whole.time.step);
    EXPECT_DOUBLE_EQ(sharded.bytes.total(), whole.bytes.total());
    EXPECT_EQ(choice_of(sharded).words(), "--tensor-parallel 8");
  }
}

TEST(ParallelPlan, RecomputedLayersKeepTheirInputs) {
  SharePlans plans;
  const auto activations = [&](const char* layers) {
    ParallelChoice one = choice(8);
    one.checkpointing = Checkpointing::kFull;
    const RunConfig config = step({{"mode", "compile"}, {"num-layers", layers}});
    return plan_parallel(config, Program::kLaptime, one, plans).bytes.activations;
  };
  const double inputs = 2.0 * 8 * 4096 * 4096 * 16;  // bfloat16 inputs of 16 layers: 8 sequences x 4096 tokens x 4096
  const double more = activations("32") - activations("16");
  EXPECT_GE(more, inputs);
  EXPECT_LE(more, 2.1 * inputs);
}

TEST(ParallelPlan, Bfloat16MomentsHalveOptimizerState) {
  SharePlans plans;
  const auto bytes = [&](const char* moments) {
    return plan_parallel(step({{"moments", moments}}), Program::kLaptime, choice(8), plans).bytes;
  };
  EXPECT_DOUBLE_EQ(bytes("bfloat16").optimizer, bytes("float32").optimizer / 2);
  EXPECT_DOUBLE_EQ(bytes("bfloat16").parameters, bytes("float32").parameters);
  EXPECT_DOUBLE_EQ(bytes("bfloat16").gradients, bytes("float32").gradients);
}

TEST(ParallelPlan, MemoryLimitLowersTheAvailableBytes) {
  SharePlans plans;
  const auto available = [&](const char* limit) {
    return plan_parallel(step({{"memory-limit", limit}}), Program::kMegatron, choice(8), plans).available;
  };
  EXPECT_DOUBLE_EQ(available("40GiB"), 40.0 * (1 << 30));
  EXPECT_DOUBLE_EQ(available("400GiB"), plan_parallel(step(), Program::kMegatron, choice(8), plans).available);
}

TEST(ParallelPlan, CroppedContextReducesTheTokensOfAStep) {
  SharePlans plans;
  const RunConfig config =
      config_of("model small edition gpt2 context 1024 crop-context 256 batch 8 device roofline:h100");
  const ParallelPlan plan = plan_parallel(config, Program::kLaptime, choice(2), plans);
  EXPECT_EQ(plan.refusal, "");
  EXPECT_EQ(plan.run.tokens, 8 * 256);
  EXPECT_EQ(plan.run.step.tokens, 4 * 256);
  EXPECT_EQ(share_of(plan.run).model.context_length, 256);
}

TEST(ParallelPlan, SuggestsTensorParallelismWithSmallMicroBatches) {
  SharePlans plans;
  const RunConfig config = step({{"context", "65536"}});
  EXPECT_EQ(remedy_of(config, Program::kMegatron, choice(8, 1, Shard::kNone), plans),
            "--tensor-parallel 8 --micro-batches 64");
}

TEST(ParallelPlan, SuggestsTensorRanksThatDivideTheHeads) {
  SharePlans plans;
  const RunConfig config = config_of(
      "model custom d-model 7680 num-heads 20 num-layers 20 context 131072 batch 8 dtype "
      "bfloat16 device roofline:h100");
  EXPECT_EQ(remedy_of(config, Program::kMegatron, choice(8, 1, Shard::kNone), plans),
            "--shard parameters --tensor-parallel 4 --micro-batches 4 --recompute block");
}

// In eager mode a launch adds each gradient to that of the earlier micro-batches, and moves 12 bytes per parameter.
TEST(ParallelPlan, BackwardTimeIncludesGradientAccumulation) {
  SharePlans plans;
  const auto seconds = [&](Program program, int64_t micro_batches, Shard shard) {
    ParallelChoice one = choice(8, 1, shard);
    one.micro_batches = micro_batches;
    const ParallelPlan plan =
        plan_parallel(step({{"batch", fmt::format("{}", 8 * micro_batches)}}), program, one, plans);
    EXPECT_EQ(plan.refusal, "");
    return plan.time.backward * static_cast<double>(micro_batches);
  };
  const auto added = [&](Program program, Shard shard) {
    return seconds(program, 4, shard) - 4 * seconds(program, 1, shard);
  };
  const DataSheet h100 = find_machine("h100");
  const auto sum = [&](Program program) {
    return LaunchTimes(h100, h100.bfloat16, program).kernel({.bytes = 12 * 8.03e9});
  };
  for (const Program program : {Program::kLaptime, Program::kPyTorchEager, Program::kPyTorchCompile})
    EXPECT_NEAR(added(program, Shard::kNone) / (3 * sum(program)), 1, 0.1) << name_of(program);
  // Ranks that reduce each micro-batch's gradients add only their parts. Megatron adds inside its matrix products.
  const double part = 3 * sum(Program::kPyTorchEager) / 8;
  EXPECT_NEAR(added(Program::kPyTorchEager, Shard::kParameters) / part, 1, 0.2);
  EXPECT_NEAR(added(Program::kMegatron, Shard::kNone), 0, 1e-6);
}

TEST(ParallelPlan, ClippingTimeGrowsWithTheNumberOfLayers) {
  SharePlans plans;
  const auto optimizer = [&](const std::vector<GivenOption>& more) {
    return plan_parallel(step(more), Program::kLaptime, choice(8, 1, Shard::kNone), plans).time.optimizer;
  };
  const double few = optimizer({{"num-layers", "8"}, {"clip-norm", "1"}}) - optimizer({{"num-layers", "8"}});
  const double many = optimizer({{"num-layers", "32"}, {"clip-norm", "1"}}) - optimizer({{"num-layers", "32"}});
  const double layer = 12 * 4096.0 * 4096;  // parameters of a layer, at least
  const DataSheet h100 = find_machine("h100");
  EXPECT_GT(many - few, 24 * 12 * layer / h100.bandwidth);
}

TEST(ParallelPlan, Storing16BitsDependsOnProgramAndSharding) {
  SharePlans plans;
  const auto stores = [&](Program program, Shard shard) {
    return plan_parallel(step(), program, choice(8, 1, shard), plans).run.stores_16_bits;
  };
  EXPECT_FALSE(stores(Program::kLaptime, Shard::kParameters));
  EXPECT_TRUE(stores(Program::kPyTorchEager, Shard::kParameters));
  EXPECT_FALSE(stores(Program::kPyTorchEager, Shard::kGradients));
  EXPECT_TRUE(stores(Program::kMegatron, Shard::kNone));
}

TEST(ParallelPlan, SuggestsTheFewestMicroBatchesThatFit) {
  SharePlans plans;
  const RunConfig config = step({{"batch", "4096"}});
  const auto plan = [&](int64_t micro_batches) {
    ParallelChoice one = choice(8, 1, Shard::kGradients);
    one.micro_batches = micro_batches;
    return plan_parallel(config, Program::kMegatron, one, plans);
  };
  ASSERT_FALSE(plan(128).fits());
  ASSERT_TRUE(plan(256).fits());
  EXPECT_EQ(remedy_of(config, Program::kMegatron, choice_of(plan(1)), plans),
            "--shard gradients --micro-batches 256");  // not 512, the number of a rank's sequences
  // Not 80, the number of a rank's sequences.
  EXPECT_EQ(remedy_of(step({{"batch", "640"}}), Program::kMegatron, choice_of(plan(1)), plans),
            "--shard gradients --micro-batches 40");
}

TEST(ParallelPlan, SlowFindsTheFastestPlanThatFits) {
  SharePlans plans;
  const std::vector<ParallelPlan> found = best_plans(step(), Program::kMegatron, 8, plans);
  ASSERT_GT(found.size(), 10U);
  ASSERT_TRUE(found.front().fits());
  const ParallelPlan& best = found.front();
  for (const ParallelPlan& plan : found) {
    // Of equally fast plans, the smallest is the best.
    const double least = plan.bytes.total() < best.bytes.total() ? 1.001 : 0.999;
    EXPECT_TRUE(!plan.fits() || plan.time.step > least * best.time.step) << choice_of(plan).words();
  }
  EXPECT_THAT(json_of(best_answer(found, {}))["tables"]["next"].size(), 3U);
}

// laptime exchanges as many bytes with divided optimizer state as with divided gradients.
TEST(ParallelPlan, SearchPrefersTheSmallestOfEquallyFastPlans) {
  SharePlans plans;
  const RunConfig config = config_of("model xl context 128 batch 2 mode compile device roofline:h100");
  const std::vector<ParallelPlan> found = best_plans(config, Program::kLaptime, 2, plans);
  EXPECT_EQ(choice_of(found[0]).words(), "--shard gradients");
  EXPECT_EQ(choice_of(found[1]).words(), "--shard optimizer");
  EXPECT_NEAR(found[0].time.step / found[1].time.step, 1, 0.001);
}

TEST(ParallelPlan, SearchTriesEveryDivisor) {
  SharePlans plans;
  // 6 layers and 6 heads, which 3 ranks can divide.
  const RunConfig config = config_of("model custom d-model 384 num-heads 6 num-layers 6 batch 9 device roofline:h100");
  std::set<std::pair<int64_t, int64_t>> divisions;
  std::set<int64_t> micro_batches;
  for (const ParallelPlan& plan : best_plans(config, Program::kMegatron, 3, plans)) {
    divisions.insert({plan.run.step.layout.tensor, plan.run.step.layout.pipeline});
    micro_batches.insert(plan.run.step.micro_batches);
  }
  EXPECT_THAT(divisions, testing::UnorderedElementsAre(std::pair(1, 1), std::pair(3, 1), std::pair(1, 3)));
  EXPECT_GE(*micro_batches.rbegin(), 3);  // shortens the bubbles of a pipeline
}

TEST(ParallelPlan, SearchKeepsTensorParallelRanksInANode) {
  SharePlans plans;
  const RunConfig config = config_of("model custom d-model 384 num-heads 6 num-layers 5 batch 12 device roofline:h100");
  const auto most = [&](int64_t ranks) {
    int64_t tensor = 0;
    for (const ParallelPlan& plan : best_plans(config, Program::kMegatron, ranks, plans))
      tensor = std::max(tensor, plan.run.step.layout.tensor);
    return tensor;
  };
  EXPECT_EQ(most(6), 6);
  EXPECT_EQ(most(12), 2);  // some groups of 3 or 6 would span two nodes of 8
}

TEST(ParallelPlan, SlowNoNumberOfMicroBatchesBeatsTheSearch) {
  SharePlans plans;
  const RunConfig config = step({{"batch", "96"}});
  const ParallelPlan best = best_plans(config, Program::kPyTorchEager, 8, plans).front();
  for (const int64_t micro_batches : {1, 2, 3, 4, 6, 12}) {
    for (const Checkpointing checkpointing : {Checkpointing::kNone, Checkpointing::kFull}) {
      ParallelChoice one = choice(8);
      one.micro_batches = micro_batches;
      one.checkpointing = checkpointing;
      const ParallelPlan plan = plan_parallel(config, Program::kPyTorchEager, one, plans);
      EXPECT_TRUE(!plan.fits() || plan.time.step > 0.999 * best.time.step) << micro_batches;
    }
  }
}

TEST(ParallelPlan, PredictsAMachineFromTheUsersFile) {
  const std::string path = fmt::format("{}own_{}.toml", testing::TempDir(), getpid());
  std::filesystem::copy_file(std::string(LAPTIME_SOURCE_DIR) + "/machines/h100.toml", path,
                             std::filesystem::copy_options::overwrite_existing);
  SharePlans plans;
  const auto seconds = [&](const std::string& machine) {
    const ParallelPlan plan =
        plan_parallel(step({{"device", "roofline:" + machine}}), Program::kMegatron, choice(8), plans);
    EXPECT_EQ(plan.refusal, "");
    return plan.time.step;
  };
  EXPECT_EQ(seconds(path), seconds("h100"));
  std::filesystem::remove(path);
}

TEST(ParallelPlan, StatesWhyNoLayoutCanBePredicted) {
  SharePlans plans;
  const std::vector<ParallelPlan> found = best_plans(small("roofline:l4"), Program::kLaptime, 2, plans);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found.front().refusal, HasSubstr("l4: the machine file describes no links"));
  EXPECT_TRUE(best_plans(small("roofline:l4"), Program::kLaptime, 1, plans).front().fits());
  EXPECT_TRUE(best_plans(small("roofline:h100"), Program::kLaptime, 5, plans).empty());
}

TEST(ParallelAnswer, TrainingTakesWholeSteps) {
  SharePlans plans;
  const ParallelPlan plan = plan_parallel(step(), Program::kMegatron, choice(8), plans);
  const auto row = [&](const ParallelQuery& query) {
    return json_of(parallel_answer({plan}, query))["tables"]["parallel"][0];
  };
  const Prices prices{{"h100", 3.6}};
  const double step_cost = plan.time.step / 3600 * 8 * 3.6;
  const Json short_one = row({.tokens = 300, .prices = prices});
  EXPECT_DOUBLE_EQ(short_one["training_s"].get<double>(), plan.time.step);
  EXPECT_DOUBLE_EQ(short_one["cost"].get<double>(), step_cost);
  EXPECT_DOUBLE_EQ(row({.tokens = plan.run.tokens * 2 + 1})["training_s"].get<double>(), 3 * plan.time.step);
  const Json without_tokens = row({.prices = prices});
  EXPECT_TRUE(without_tokens["training_s"].is_null());
  EXPECT_DOUBLE_EQ(without_tokens["cost"].get<double>(), std::ceil(1e9 / plan.run.tokens) * step_cost);
}

TEST(ParallelAnswer, CostStatesTheNumberOfTokens) {
  SharePlans plans;
  const ParallelPlan plan = plan_parallel(small("roofline:h100"), Program::kLaptime, choice(8), plans);
  const auto text = [&](double tokens) {
    return markdown_of(parallel_answer({plan}, {.tokens = tokens, .prices = {{"h100", 2.0}}}));
  };
  EXPECT_THAT(text(1e12), HasSubstr(" for 1T tokens"));
  EXPECT_THAT(text(20'400), HasSubstr(" for 20,400 tokens"));
}

TEST(ParallelAnswer, StatesTheStepsAndTimeOfATrainingRun) {
  SharePlans plans;
  ParallelPlan plan = plan_parallel(small("roofline:h100"), Program::kLaptime, choice(8), plans);
  plan.time.step = 1;
  plan.low = 0.5;
  plan.high = 2;
  const std::string text = markdown_of(best_answer({plan}, {.tokens = 7200 * plan.run.tokens}));
  EXPECT_THAT(text, HasSubstr("7200 steps, 2 h (60 min to 4 h) for 14.7M tokens"));
  EXPECT_THAT(markdown_of(best_answer({plan}, {})), Not(HasSubstr(" steps, ")));
}

TEST(Prices, AcceptMachinesAsWrittenForTheDeviceOption) {
  for (const char* name : {"H100", "\"roofline:h100\"", "\"Roofline:H100\""}) {
    EXPECT_EQ(parse_prices(fmt::format("{} = 2.5\n", name), "p.toml").at("h100"), 2.5) << name;
  }
  EXPECT_EQ(parse_prices("H100 = 2.5\n", "p.toml", {"H100"}).at("H100"), 2.5);
  EXPECT_THROW(parse_prices("H100 = 2.5\nh100 = 3\n", "p.toml"), Error);
}

TEST(Prices, RejectTextPricesAndUnknownMachines) {
  EXPECT_EQ(parse_prices("h100 = 2.5\n", "p.toml").at("h100"), 2.5);
  EXPECT_EQ(parse_prices("own = 2.5\n", "p.toml", {priced_name("roofline:my/own.toml")}).at("own"), 2.5);
  EXPECT_EQ(parse_prices("\"my.gpu\" = 2.5\n", "p.toml", {priced_name("roofline:my.gpu.toml")}).at("my.gpu"), 2.5);
  EXPECT_THROW(parse_prices("h100 = \"2\"\n", "p.toml"), Error);
  try {
    parse_prices("h10 = 2\n", "p.toml");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("p.toml:1: h10: unknown machine"));
  }
}

}  // namespace
}  // namespace laptime
