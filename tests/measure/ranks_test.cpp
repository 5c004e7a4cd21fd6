// Compares steps of several ranks (threads in this test) with steps of one process over the whole batch.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "data/weights.h"
#include "exec/executor.h"
#include "measure/fill_sources.h"
#include "model/parameters.h"
#include "ops/kernels_cpu.h"
#include "prepare/step_graph.h"
#include "support/local_group.h"
#include "support/training.h"

namespace laptime::test {
namespace {

// A model whose matrix sizes can be divided evenly among 4 ranks, except for the vocabulary.
RunConfig ranks_config(Edition edition, Precision dtype, Mode mode) {
  RunConfig config = tiny_config(edition, dtype);
  config.model.batch_size = 4;
  config.mode = mode;
  config.init = WeightInit::kStream;
  config.batches = Batches::kFresh;
  config.lr = 1e-2;
  return config;
}

struct Trained {
  std::vector<float> losses;
  std::map<std::string, std::vector<float>> weights;
  int64_t sent_bytes = 0;  // bytes that rank 0 sends in a step
  int64_t planned_bytes = 0;
  std::array<int64_t, kRoleCount> peak_bytes{};  // peak of rank 0, by role
  std::array<int64_t, kRoleCount> resident{};
};

std::vector<float> floats_of(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Trained train(const RunConfig& config, int steps = 10) {
  Trained trained;
  const StartingWeights weights(config);
  const std::vector<ParameterSpec> parameters = parameter_list(config.step_model());
  std::map<std::string, std::vector<std::vector<float>>> parts;  // parameter -> shard of each rank
  for (const ParameterSpec& parameter : parameters) parts[parameter.name].resize(static_cast<size_t>(config.ranks));
  std::mutex mutex;
  run_ranks(static_cast<int>(config.ranks), [&](LocalGroup& group) {
    cpu::CpuBackend backend(cpu_kernels(cpu::widest_isa()), 1);
    backend.join(group);
    const Graph graph = lowered_graph(config, StepOutputs{.rank = group.rank()});
    Executor executor(make_plan(graph, first_kernel(backend)), backend);
    fill_weights(executor, config, weights, 1, group.rank());
    StepInputs inputs(config, group.rank());
    std::vector<float> losses;
    for (int step = 0; step < steps; ++step) {
      inputs.write(executor, step);
      executor.run();
      losses.push_back(floats_of(executor.read_output(output::kLoss)).at(0));
    }
    const std::lock_guard lock(mutex);
    for (const ParameterSpec& parameter : parameters)
      parts[parameter.name][static_cast<size_t>(group.rank())] = floats_of(executor.read_source(parameter.name));
    if (group.rank() != 0) {
      EXPECT_EQ(losses.size(), static_cast<size_t>(steps));
      return;
    }
    trained.losses = losses;
    trained.sent_bytes = group.sent_bytes() / steps;
    trained.peak_bytes = executor.plan().peak_bytes_by_role;
    for (const PlanStep& step : executor.plan().steps)
      trained.planned_bytes += step.queue == kCommunicationQueue ? step.bytes : 0;
    for (const Buffer& buffer : executor.plan().buffers) {
      if (buffer.lifetime != Lifetime::kStep) trained.resident[static_cast<size_t>(buffer.role)] += buffer.bytes;
    }
  });
  for (const ParameterSpec& parameter : parameters) {
    const std::vector<std::vector<float>>& of_ranks = parts[parameter.name];
    const auto elements = static_cast<size_t>(Shape(std::span(parameter.shape)).product());
    std::vector<float>& all = trained.weights[parameter.name];
    for (const std::vector<float>& part : of_ranks) {
      if (part.size() == elements) {
        EXPECT_EQ(part, of_ranks.front()) << parameter.name << " differs between ranks";
        all = part;
      } else {
        all.insert(all.end(), part.begin(), part.end());
      }
    }
    EXPECT_EQ(all.size(), elements) << parameter.name;
  }
  return trained;
}

double distance(const Trained& a, const Trained& b) {
  double difference = 0;
  double norm = 0;
  for (const auto& [name, values] : a.weights) {
    const std::vector<float>& others = b.weights.at(name);
    for (size_t i = 0; i < values.size(); ++i) {
      difference += std::pow(values[i] - others[i], 2);
      norm += std::pow(values[i], 2);
    }
  }
  return std::sqrt(difference / norm);
}

std::string what_of(const RunConfig& config) {
  return fmt::format("{} {} {}, {} ranks, --shard {}", name_of(config.model.edition), name_of(config.dtype),
                     name_of(config.mode), config.ranks, name_of(config.shard));
}

// Expects the losses of several ranks to match one process within the relative error `loss_error`, and the weights
// within the relative L2 distance `weight_error`.
void expect_alike(const RunConfig& whole, const std::vector<Shard>& shards, const std::vector<int64_t>& counts,
                  double loss_error, double weight_error) {
  const Trained one = train(whole);
  for (const Shard shard : shards) {
    for (const int64_t ranks : counts) {
      RunConfig config = whole;
      config.ranks = ranks;
      config.shard = shard;
      const Trained several = train(config);
      for (size_t step = 0; step < one.losses.size(); ++step)
        EXPECT_NEAR(several.losses[step], one.losses[step], loss_error * one.losses[step]) << what_of(config) << step;
      EXPECT_LT(distance(one, several), weight_error) << what_of(config);
      EXPECT_EQ(several.sent_bytes, several.planned_bytes) << what_of(config);
    }
  }
}

const std::vector<Shard> kAll{Shard::kNone, Shard::kOptimizer, Shard::kGradients, Shard::kParameters};

TEST(Ranks, SlowAgreeWithOneProcess) {
  for (const Edition edition : {Edition::k2025, Edition::kGpt2, Edition::kLlama}) {
    for (const Mode mode : {Mode::kEager, Mode::kCompile})
      expect_alike(ranks_config(edition, Precision::kFloat32, mode), kAll, {2, 4}, 1e-5, 1e-4);
  }
}

// The tolerance for weights is wide: if a gradient is almost zero, rounding errors decide the direction of the update.
TEST(Ranks, MatchOneProcessInBFloat16) {
  for (const Edition edition : {Edition::k2025, Edition::kGpt2, Edition::kLlama}) {
    RunConfig config = ranks_config(edition, Precision::kBFloat16, Mode::kCompile);
    config.lr = 1e-3;
    expect_alike(config, kAll, {2}, 4e-3, 0.2);
  }
}

// N ranks do the same arithmetic as N micro-batches, and add gradients in the same order.
TEST(Ranks, SlowAgreeWithMicroBatchesBitForBit) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
    for (const Edition edition : {Edition::k2025, Edition::kLlama}) {
      for (const int64_t count : {2, 4}) {
        RunConfig config = ranks_config(edition, dtype, Mode::kEager);
        config.micro_batches = count;
        const Trained one = train(config, 5);
        config.micro_batches = 1;
        config.ranks = count;
        for (const Shard shard : kAll) {
          config.shard = shard;
          const Trained several = train(config, 5);
          EXPECT_EQ(several.losses, one.losses) << what_of(config);
          EXPECT_EQ(several.weights, one.weights) << what_of(config);
        }
      }
    }
  }
}

TEST(Ranks, MatchOneProcessWithDropout) {
  RunConfig config = ranks_config(Edition::kGpt2, Precision::kFloat32, Mode::kEager);
  config.model.embd_pdrop = config.model.attn_pdrop = config.model.resid_pdrop = 0.2;
  expect_alike(config, {Shard::kNone, Shard::kParameters}, {2, 4}, 1e-5, 1e-4);
}

TEST(Ranks, MatchOneProcessWithMicroBatchesAndClipping) {
  RunConfig config = ranks_config(Edition::k2025, Precision::kFloat32, Mode::kEager);
  config.micro_batches = 2;
  config.clip_norm = 0.1;
  expect_alike(config, kAll, {2}, 1e-5, 1e-4);
}

TEST(Ranks, MatchOneProcessWithRecomputation) {
  RunConfig config = ranks_config(Edition::k2025, Precision::kFloat32, Mode::kCompile);
  config.recompute = "block";
  expect_alike(config, {Shard::kNone, Shard::kParameters}, {2}, 1e-5, 1e-4);
}

// The bytes of float32 parameters and AdamW states that each rank holds, and the bytes that rank 0 sends, follow ZeRO
// (Rajbhandari et al. 2020, section 5).
TEST(Ranks, HeldAndSentBytesMatchTheZeroPaper) {
  RunConfig config = ranks_config(Edition::k2025, Precision::kFloat32, Mode::kEager);
  config.model.vocab_size = 96;
  const auto of = [](const std::array<int64_t, kRoleCount>& bytes, Role role) {
    return bytes[static_cast<size_t>(role)];
  };
  const int64_t all = 4 * summarize(config.step_model()).parameter_count;
  for (const int64_t ranks : {2, 4}) {
    for (const Shard shard : kAll) {
      config.ranks = ranks;
      config.shard = shard;
      const Trained trained = train(config, 1);
      const bool divides = shard != Shard::kNone;
      EXPECT_EQ(of(trained.resident, Role::kOptimizerState), 2 * all / (divides ? ranks : 1)) << what_of(config);
      EXPECT_EQ(of(trained.resident, Role::kParameter), shard == Shard::kParameters ? all / ranks : all)
          << what_of(config);
      const int64_t loss = ranks == 2 ? 4 : 12;  // rank 0 sends the summed loss to every other rank
      // Token embedding and head are gathered only once: backward does not read the embedding, and reuses the gathered
      // head.
      const int64_t once = 2 * 4 * config.model.vocab_size * config.model.d_model;
      const int64_t numbers = shard == Shard::kParameters ? 3 * all - once : 2 * all;
      EXPECT_EQ(trained.planned_bytes, numbers / ranks * (ranks - 1) + loss) << what_of(config);
    }
  }
}

}  // namespace
}  // namespace laptime::test
