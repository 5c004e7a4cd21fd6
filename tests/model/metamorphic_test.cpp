// Properties that hold for any weights: causality, permuted batches, normalised attention weights, norms under RoPE,
// and extreme values.
#include <gtest/gtest.h>

#include <cmath>

#include "support/training.h"

namespace laptime::test {
namespace {

constexpr Edition kEditions[] = {Edition::k2024, Edition::k2025, Edition::k2026, Edition::kGpt2};

RunConfig inference(Edition edition, Precision dtype = Precision::kFloat32) {
  RunConfig config = tiny_config(edition, dtype);
  config.pass = Pass::kInference;
  return config;
}

struct Sizes {
  int64_t batch, context, vocab, heads, d_head;
};
Sizes sizes_of(const RunConfig& config) {
  const ModelConfig& model = config.model;
  return {model.batch_size, model.context_length, model.vocab_size, model.num_heads, model.d_head()};
}

std::vector<int64_t> rows_rotated(const std::vector<int64_t>& ids, int64_t batch) {
  const size_t row = ids.size() / static_cast<size_t>(batch);
  std::vector<int64_t> rotated(ids.begin() + static_cast<std::ptrdiff_t>(row), ids.end());
  rotated.insert(rotated.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(row));
  return rotated;
}

TEST(Metamorphic, PermutedBatchRowsKeepTheLoss) {
  for (const Edition edition : kEditions) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      RunConfig config = tiny_config(edition, dtype);
      config.pass = Pass::kForwardBackward;
      Training training(config);
      training.step();
      const double loss = training.loss();
      const std::vector<double> logits = training.output(output::kLogits);
      const std::vector<double> grad = training.output("grad/layers.0.attn.q_proj.weight");
      training.set_batch(rows_rotated(training.tokens(), 3), rows_rotated(training.targets(), 3));
      training.step();
      EXPECT_NEAR(training.loss() / loss, 1, 1e-6);
      const std::vector<double> moved = training.output(output::kLogits);
      const size_t row = logits.size() / 3;
      const double tolerance = dtype == Precision::kFloat32 ? 1e-5 : 0.05;
      for (size_t i = 0; i < row; ++i) ASSERT_NEAR(moved[i], logits[i + row], tolerance) << i;
      const std::vector<double> other = training.output("grad/layers.0.attn.q_proj.weight");
      double difference = 0;
      double norm = 0;
      for (size_t i = 0; i < grad.size(); ++i) {
        difference += (grad[i] - other[i]) * (grad[i] - other[i]);
        norm += grad[i] * grad[i];
      }
      EXPECT_LT(std::sqrt(difference / norm), dtype == Precision::kFloat32 ? 1e-6 : 2e-2);
    }
  }
}

TEST(Metamorphic, LaterTokensDoNotChangeEarlierLogits) {
  for (const Edition edition : kEditions) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      Training training(inference(edition, dtype));
      const Sizes sizes = sizes_of(tiny_config(edition));
      training.step();
      const std::vector<double> before = training.output(output::kLogits);
      constexpr int64_t kRow = 1;
      constexpr int64_t kChanged = 7;
      std::vector<int64_t> tokens = training.tokens();
      int64_t& token = tokens[static_cast<size_t>(kRow * sizes.context + kChanged)];
      token = (token + 1) % sizes.vocab;
      training.set_batch(tokens, training.targets());
      training.step();
      const std::vector<double> after = training.output(output::kLogits);
      const auto begin = static_cast<size_t>((kRow * sizes.context + kChanged) * sizes.vocab);
      const auto end = static_cast<size_t>((kRow + 1) * sizes.context * sizes.vocab);
      bool changed = false;
      for (size_t i = 0; i < before.size(); ++i) {
        if (i >= begin && i < end) {
          changed = changed || before[i] != after[i];
        } else {
          ASSERT_EQ(before[i], after[i]) << "element " << i;  // identical bits
        }
      }
      EXPECT_TRUE(changed);
    }
  }
}

TEST(Metamorphic, AttentionWeightsSumToOneAndAreCausal) {
  for (const Edition edition : kEditions) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      const Sizes sizes = sizes_of(tiny_config(edition));
      const std::string name = "layers.1.attn.weights";
      Training training(inference(edition, dtype), {.shown = {name}});
      training.step();
      const std::vector<double> weights = training.output(name);
      ASSERT_EQ(static_cast<int64_t>(weights.size()), sizes.batch * sizes.heads * sizes.context * sizes.context);
      for (size_t row = 0; row < weights.size() / static_cast<size_t>(sizes.context); ++row) {
        const auto query = static_cast<int64_t>(row) % sizes.context;
        double sum = 0;
        for (int64_t key = 0; key < sizes.context; ++key) {
          const double weight = weights[row * static_cast<size_t>(sizes.context) + static_cast<size_t>(key)];
          if (key > query) {
            ASSERT_EQ(weight, 0);
          }
          sum += weight;
        }
        ASSERT_NEAR(sum, 1, 1e-6);
      }
    }
  }
}

// L2 norm of the d_head components of each head and position. Values are (B, h, T, d_head) if `split`, otherwise
// (B, T, h d_head).
std::vector<double> head_norms(const std::vector<double>& values, const Sizes& sizes, bool split) {
  std::vector<double> norms;
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.heads; ++h) {
      for (int64_t t = 0; t < sizes.context; ++t) {
        const int64_t row =
            split ? (b * sizes.heads + h) * sizes.context + t : (b * sizes.context + t) * sizes.heads + h;
        double sum = 0;
        for (int64_t i = 0; i < sizes.d_head; ++i) {
          const double value = values[static_cast<size_t>(row * sizes.d_head + i)];
          sum += value * value;
        }
        norms.push_back(std::sqrt(sum));
      }
    }
  }
  return norms;
}

TEST(Metamorphic, RopeKeepsNorms) {
  for (const Edition edition : {Edition::k2025, Edition::k2026}) {
    const Sizes sizes = sizes_of(tiny_config(edition));
    Training training(inference(edition), {.shown = {"layers.0.attn.q_proj", "layers.0.attn.rope_q"}});
    training.step();
    const std::vector<double> before = head_norms(training.output("layers.0.attn.q_proj"), sizes, false);
    const std::vector<double> after = head_norms(training.output("layers.0.attn.rope_q"), sizes, true);
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(after[i] / before[i], 1, 1e-6);
    EXPECT_NE(training.output("layers.0.attn.q_proj")[40], training.output("layers.0.attn.rope_q")[40]);
  }
}

// With logits up to +-80, nothing overflows, and the loss agrees with exact arithmetic.
TEST(Metamorphic, LargeLogitsStayFinite) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
    RunConfig config = tiny_config(Edition::k2025, dtype);
    config.pass = Pass::kForwardBackward;
    Training training(config);
    training.step();
    double largest = 0;
    for (const double logit : training.output(output::kLogits)) largest = std::max(largest, std::fabs(logit));
    std::vector<double> head = training.source("lm_head.weight");
    for (double& weight : head) weight *= 80 / largest;
    training.set_source("lm_head.weight", head);
    training.step();
    const std::vector<double> logits = training.output(output::kLogits);
    const Sizes sizes = sizes_of(config);
    double expected = 0;
    largest = 0;
    for (size_t row = 0; row < training.targets().size(); ++row) {
      const double* const x = logits.data() + row * static_cast<size_t>(sizes.vocab);
      double sum = 0;
      for (int64_t i = 0; i < sizes.vocab; ++i) {
        sum += std::exp(x[i]);
        largest = std::max(largest, std::fabs(x[i]));
      }
      expected += std::log(sum) - x[training.targets()[row]];
    }
    EXPECT_NEAR(largest, 80, 0.5);
    expected /= static_cast<double>(training.targets().size());
    // Under autocast, the difference from the largest logit is rounded to bfloat16.
    EXPECT_NEAR(training.loss() / expected, 1, dtype == Precision::kFloat32 ? 1e-6 : 1e-3);
    for (const ParameterSpec& parameter : parameter_list(config.model)) {
      for (const double value : training.output("grad/" + parameter.name))
        ASSERT_TRUE(std::isfinite(value)) << parameter.name;
    }
  }
}

// With a head of zeros, all logits are equal and the loss is log V. Row v of the head's gradient is the mean over
// tokens of (1/V - [target = v]) x.
TEST(Metamorphic, UniformLogitsGiveLogVocabLoss) {
  for (const Edition edition : {Edition::k2024, Edition::k2025}) {
    RunConfig config = tiny_config(edition);
    config.pass = Pass::kForwardBackward;
    Training training(config, {.shown = {"ln_final"}});
    training.set_source("lm_head.weight", std::vector<double>(training.source("lm_head.weight").size()));
    training.step();
    EXPECT_NEAR(training.loss(), std::log(97.0), 1e-6);
    const std::vector<double> x = training.output("ln_final");
    std::vector<double> expected(static_cast<size_t>(97 * 40));
    for (size_t row = 0; row < training.targets().size(); ++row) {
      for (int64_t v = 0; v < 97; ++v) {
        const double share =
            (1.0 / 97 - (training.targets()[row] == v ? 1 : 0)) / static_cast<double>(training.targets().size());
        for (size_t i = 0; i < 40; ++i) expected[static_cast<size_t>(v) * 40 + i] += share * x[row * 40 + i];
      }
    }
    const std::vector<double> grad = training.output("grad/lm_head.weight");
    for (size_t i = 0; i < grad.size(); ++i) ASSERT_NEAR(grad[i], expected[i], 1e-6);
  }
}

// Compares the whole backward pass with a central difference along the computed gradient.
TEST(Metamorphic, SlowPredictsLossChangesFromGradients) {
  for (const Edition edition : kEditions) {
    RunConfig config = tiny_config(edition);
    config.pass = Pass::kForwardBackward;
    Training training(config, {.references = true, .real = DType::kFloat64});
    training.step();
    std::vector<std::pair<std::string, std::vector<double>>> grads;
    double squares = 0;
    for (const ParameterSpec& parameter : parameter_list(config.model)) {
      grads.emplace_back(parameter.name, training.output("grad/" + parameter.name));
      for (const double value : grads.back().second) squares += value * value;
    }
    const auto loss_at = [&](double distance) {
      for (const auto& [name, grad] : grads) {
        std::vector<double> weights = training.source(name);
        for (size_t i = 0; i < weights.size(); ++i) weights[i] += distance * grad[i];
        training.set_source(name, weights);
      }
      training.step();
      return training.loss();
    };
    const double h = 1e-4 / std::sqrt(squares);
    const double up = loss_at(h);
    const double down = loss_at(-2 * h);
    EXPECT_NEAR((up - down) / (2 * h) / squares, 1, 1e-6);
  }
}

}  // namespace
}  // namespace laptime::test
