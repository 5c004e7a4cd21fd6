// The table of editions.
#include "model/gpt/editions.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace laptime {
namespace {

using Flags = std::string_view;
constexpr std::array kLayerNormKernel{Flags("layer_norm")};
constexpr std::array kLibraryKernels{Flags("layer_norm"), Flags("softmax")};
constexpr std::array k2024Options{Flags("weight-tie"), Flags("bias"), Flags("embd-pdrop"), Flags("attn-pdrop"),
                                  Flags("resid-pdrop")};
constexpr std::array kGpt2Options{Flags("weight-tie"),  Flags("bias"),        Flags("embd-pdrop"), Flags("attn-pdrop"),
                                  Flags("resid-pdrop"), Flags("max-context"), Flags("norm-eps")};
constexpr std::array kLlamaOptions{Flags("weight-tie"),   Flags("attn-pdrop"),   Flags("norm-eps"),
                                   Flags("num-kv-heads"), Flags("max-context"),  Flags("head-dim"),
                                   Flags("rope-theta"),   Flags("rope-scaling"), Flags("attention-bias"),
                                   Flags("mlp-bias"),     Flags("pad-token")};
constexpr std::array kQwen2Options{Flags("weight-tie"),   Flags("attn-pdrop"),   Flags("norm-eps"),
                                   Flags("num-kv-heads"), Flags("max-context"),  Flags("head-dim"),
                                   Flags("rope-theta"),   Flags("rope-scaling"), Flags("pad-token")};
constexpr std::array kQwen3Options{
    Flags("weight-tie"), Flags("attn-pdrop"), Flags("norm-eps"),     Flags("num-kv-heads"),   Flags("max-context"),
    Flags("head-dim"),   Flags("rope-theta"), Flags("rope-scaling"), Flags("attention-bias"), Flags("pad-token")};
constexpr std::array kGptNeoxOptions{Flags("weight-tie"),   Flags("embd-pdrop"),       Flags("attn-pdrop"),
                                     Flags("resid-pdrop"),  Flags("norm-eps"),         Flags("rope-theta"),
                                     Flags("rope-scaling"), Flags("rotary-share"),     Flags("attention-bias"),
                                     Flags("mlp-bias"),     Flags("parallel-residual")};

// Linear weights have std sqrt(2 / (d_in + d_out)), and embeddings have std 1; both are truncated at 3 std.
constexpr GptInit kGlorot{.distribution = Distribution::kTruncatedNormal, .embedding_std = 1};
constexpr GptInit kGpt2Init{
    .distribution = Distribution::kNormal, .embedding_std = 0.02, .linear_std = 0.02, .scales_residuals = true};

constexpr GptInit kLibraryInit{.distribution = Distribution::kNormal, .embedding_std = 0.02, .linear_std = 0.02};
constexpr GptDefaults kLibraryDefaults{.context_length = 2048,
                                       .batch_size = 4,
                                       .vocab_size = 32'000,
                                       .seed = 1,
                                       .optimizer = Optimizer::kTorch,
                                       .warmup = 5,
                                       .steps = 10};

constexpr GptDefaults kGptNeoxDefaults = [] {
  GptDefaults defaults = kLibraryDefaults;
  defaults.vocab_size = 50'304;
  defaults.projection_bias = true;
  defaults.parallel_residual = true;
  defaults.rotary_share = 0.25;
  return defaults;
}();

constexpr GptEdition k2025{
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
                 .steps = 10}};

constexpr GptEdition k2026 = [] {
  GptEdition edition = k2025;
  edition.edition = Edition::k2026;
  edition.about =
      "the course's later model: like edition 2025, but RoPE pairs the halves of a head, and weight decay comes before "
      "the update";
  edition.rope = RopeForm::kHalves;
  edition.defaults.context_length = 512;
  edition.defaults.optimizer = Optimizer::k2026;
  return edition;
}();

constexpr GptEdition kLlama{
    .edition = Edition::kLlama,
    .about = "Llama, Mistral, SmolLM2, TinyLlama as in transformers: RMSNorm, RoPE, SwiGLU, grouped queries",
    .norm = nn::NormKind::kRms,
    .rope = RopeForm::kRotateHalf,
    .feed_forward = FeedForward::kSilu,
    .linear = LinearForm::kLinear,
    .loss = CrossEntropyForm::kLogSoftmax,
    .is_of_library = true,
    .takes = kLlamaOptions,
    .kept_by_eager = kLibraryKernels,
    .init = kLibraryInit,
    .defaults = kLibraryDefaults};

constexpr GptEdition kQwen2 = [] {
  GptEdition edition = kLlama;
  edition.edition = Edition::kQwen2;
  edition.about = "Qwen2 and Qwen2.5 of transformers: like llama, with biases of q, k and v";
  edition.norm_eps = 1e-6;
  edition.qkv_bias = true;
  edition.takes = kQwen2Options;
  return edition;
}();

constexpr GptEdition kQwen3 = [] {
  GptEdition edition = kLlama;
  edition.edition = Edition::kQwen3;
  edition.about = "Qwen3 of transformers: like llama, with an RMSNorm on each head of q and k";
  edition.norm_eps = 1e-6;
  edition.head_norms = true;
  edition.takes = kQwen3Options;
  return edition;
}();

constexpr GptEdition kGpt2{
    .edition = Edition::kGpt2,
    .about = "GPT-2 as in llm.c and nanoGPT: LayerNorm, learned positions, GELU, biases, head tied to the embedding",
    .norm = nn::NormKind::kLayer,
    .feed_forward = FeedForward::kGeluTanh,
    .linear = LinearForm::kLinear,
    .loss = CrossEntropyForm::kLogSoftmax,
    .drops_residuals = true,
    .takes = kGpt2Options,
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
                 .steps = 10}};

constexpr GptEdition kGpt2Hf = [] {
  GptEdition edition = kGpt2;
  edition.edition = Edition::kGpt2Hf;
  edition.about = "GPT-2 of Hugging Face transformers: like gpt2, with the ops that transformers runs in eager mode";
  edition.feed_forward = FeedForward::kGeluNew;
  edition.is_of_library = true;
  edition.kept_by_eager = kLibraryKernels;
  return edition;
}();

constexpr std::array kEditions{
    GptEdition{.edition = Edition::k2024,
               .about = "GPT of the course's 2024 assignment: RMSNorm, learned positions, GELU, torch's AdamW",
               .norm = nn::NormKind::kRms,
               .feed_forward = FeedForward::kGeluErf,
               .linear = LinearForm::kLinear,
               .loss = CrossEntropyForm::kLogSoftmax,
               .head_bias = true,
               .takes = k2024Options,
               .init = kGpt2Init,
               .defaults = {.context_length = 128,
                            .batch_size = 16,
                            .vocab_size = 10'000,
                            .seed = 20'230'310,
                            .optimizer = Optimizer::kTorch,
                            .warmup = 1,
                            .steps = 5}},
    k2025,
    k2026,
    kGpt2,
    kGpt2Hf,
    kLlama,
    kQwen2,
    kQwen3,
    GptEdition{.edition = Edition::kGptNeox,
               .about = "GPT-NeoX and Pythia as in transformers: LayerNorm, RoPE on a part of each head, GELU, biases",
               .norm = nn::NormKind::kLayer,
               .rope = RopeForm::kRotateHalf,
               .feed_forward = FeedForward::kGeluErf,
               .linear = LinearForm::kLinear,
               .loss = CrossEntropyForm::kLogSoftmax,
               .drops_residuals = true,
               .is_of_library = true,
               .takes = kGptNeoxOptions,
               .kept_by_eager = kLibraryKernels,
               .init = kLibraryInit,
               .defaults = kGptNeoxDefaults},
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
