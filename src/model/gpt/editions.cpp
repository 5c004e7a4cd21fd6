// The table of editions.
#include "model/gpt/editions.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace laptime {
namespace {

constexpr std::array<std::string_view, 1> kLayerNormKernel{"layer_norm"};

// Linear weights with std sqrt(2 / (d_in + d_out)), truncated at 3 std.
constexpr GptInit kGlorot{.distribution = Distribution::kTruncatedNormal, .embedding_std = 1};
constexpr GptInit kGpt2Init{
    .distribution = Distribution::kNormal, .embedding_std = 0.02, .linear_std = 0.02, .scales_residuals = true};

constexpr std::array kEditions{
    GptEdition{.edition = Edition::k2024,
               .about = "GPT of the course's 2024 assignment: RMSNorm, learned positions, GELU, torch's AdamW",
               .norm = nn::NormKind::kRms,
               .feed_forward = FeedForward::kGeluErf,
               .linear = LinearForm::kLinear,
               .loss = CrossEntropyForm::kLogSoftmax,
               .biases = Biases::kOptional,
               .head_bias = true,
               .may_tie = true,
               .may_drop = true,
               .init = kGpt2Init,
               .defaults = {.context_length = 128,
                            .batch_size = 16,
                            .vocab_size = 10'000,
                            .seed = 20'230'310,
                            .optimizer = Optimizer::kTorch,
                            .warmup = 1,
                            .steps = 5}},
    GptEdition{
        .edition = Edition::k2025,
        .about = "the course's 2025 assignment, the default: RMSNorm, RoPE on interleaved pairs, SwiGLU, its own AdamW",
        .norm = nn::NormKind::kRms,
        .rope = RopeForm::kInterleaved,
        .feed_forward = FeedForward::kSwiglu,
        .linear = LinearForm::kEinsum,
        .loss = CrossEntropyForm::kWrittenOut,
        .init = kGlorot,
        .defaults = {.context_length = 256,
                     .batch_size = 4,
                     .vocab_size = 10'000,
                     .seed = 1,
                     .optimizer = Optimizer::k2025,
                     .warmup = 5,
                     .steps = 10}},
    GptEdition{.edition = Edition::k2026,
               .about = "the course's later model: as 2025, with RoPE on two halves and weight decay before the update",
               .norm = nn::NormKind::kRms,
               .rope = RopeForm::kHalves,
               .feed_forward = FeedForward::kSwiglu,
               .linear = LinearForm::kEinsum,
               .loss = CrossEntropyForm::kWrittenOut,
               .init = kGlorot,
               .defaults = {.context_length = 512,
                            .batch_size = 4,
                            .vocab_size = 10'000,
                            .seed = 1,
                            .optimizer = Optimizer::k2026,
                            .warmup = 5,
                            .steps = 10}},
    GptEdition{
        .edition = Edition::kGpt2,
        .about =
            "GPT-2 as in llm.c and nanoGPT: LayerNorm, learned positions, GELU, biases, head tied to the embedding",
        .norm = nn::NormKind::kLayer,
        .feed_forward = FeedForward::kGeluTanh,
        .linear = LinearForm::kLinear,
        .loss = CrossEntropyForm::kLogSoftmax,
        .biases = Biases::kAlways,
        .may_tie = true,
        .kept_by_eager = kLayerNormKernel,
        .init = kGpt2Init,
        .defaults = {.context_length = 1024,
                     .batch_size = 4,
                     .vocab_size = 50'257,
                     .seed = 1,
                     .optimizer = Optimizer::kTorch,
                     .weight_tie = true,
                     .bias = true,
                     .warmup = 5,
                     .steps = 10}},
};

}  // namespace

std::span<const GptEdition> gpt_editions() { return kEditions; }

const GptEdition& gpt_edition(Edition edition) {
  const auto* const found =
      std::find_if(kEditions.begin(), kEditions.end(), [&](const GptEdition& row) { return row.edition == edition; });
  LAPTIME_CHECK(found != kEditions.end(), "edition {}", static_cast<int>(edition));
  return *found;
}

}  // namespace laptime
