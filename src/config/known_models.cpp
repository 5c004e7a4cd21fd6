// The table of well-known models, taken from their published config.json files.
#include "config/known_models.h"

#include <algorithm>
#include <array>

#include "base/ranges.h"
#include "base/words.h"

namespace laptime {
namespace {

// clang-format off
constexpr std::array kKnown{
    //         name               edition            width d_ff   lay h   kv  head vocab    max_pos  win   tied   eps   theta      rot   factor
    KnownModel{"SmolLM2-135M",    Edition::kLlama,   576,  1536,  30, 9,  3,  64,  49'152,  8192,    0,    true,  1e-5, 100'000,   1,    1},
    KnownModel{"SmolLM2-360M",    Edition::kLlama,   960,  2560,  32, 15, 5,  64,  49'152,  8192,    0,    true,  1e-5, 100'000,   1,    1},
    KnownModel{"SmolLM2-1.7B",    Edition::kLlama,   2048, 8192,  24, 32, 32, 64,  49'152,  8192,    0,    true,  1e-5, 130'000,   1,    1},
    KnownModel{"Llama-3.2-1B",    Edition::kLlama,   2048, 8192,  16, 32, 8,  64,  128'256, 131'072, 0,    true,  1e-5, 500'000,   1,    32},
    KnownModel{"Llama-3.2-3B",    Edition::kLlama,   3072, 8192,  28, 24, 8,  128, 128'256, 131'072, 0,    true,  1e-5, 500'000,   1,    32},
    KnownModel{"Llama-3.1-8B",    Edition::kLlama,   4096, 14336, 32, 32, 8,  128, 128'256, 131'072, 0,    false, 1e-5, 500'000,   1,    8},
    KnownModel{"Llama-3.1-70B",   Edition::kLlama,   8192, 28672, 80, 64, 8,  128, 128'256, 131'072, 0,    false, 1e-5, 500'000,   1,    8},
    KnownModel{"TinyLlama-1.1B",  Edition::kLlama,   2048, 5632,  22, 32, 4,  64,  32'000,  2048,    0,    false, 1e-5, 10'000,    1,    1},
    KnownModel{"Mistral-7B-v0.1", Edition::kLlama,   4096, 14336, 32, 32, 8,  128, 32'000,  32'768,  4096, false, 1e-5, 10'000,    1,    1},
    KnownModel{"Qwen2.5-0.5B",    Edition::kQwen2,   896,  4864,  24, 14, 2,  64,  151'936, 32'768,  0,    true,  1e-6, 1'000'000, 1,    1},
    KnownModel{"Qwen2.5-1.5B",    Edition::kQwen2,   1536, 8960,  28, 12, 2,  128, 151'936, 131'072, 0,    true,  1e-6, 1'000'000, 1,    1},
    KnownModel{"Qwen2.5-7B",      Edition::kQwen2,   3584, 18944, 28, 28, 4,  128, 152'064, 131'072, 0,    false, 1e-6, 1'000'000, 1,    1},
    KnownModel{"Qwen3-0.6B",      Edition::kQwen3,   1024, 3072,  28, 16, 8,  128, 151'936, 40'960,  0,    true,  1e-6, 1'000'000, 1,    1},
    KnownModel{"Qwen3-1.7B",      Edition::kQwen3,   2048, 6144,  28, 16, 8,  128, 151'936, 40'960,  0,    true,  1e-6, 1'000'000, 1,    1},
    KnownModel{"Qwen3-4B",        Edition::kQwen3,   2560, 9728,  36, 32, 8,  128, 151'936, 40'960,  0,    true,  1e-6, 1'000'000, 1,    1},
    KnownModel{"Qwen3-8B",        Edition::kQwen3,   4096, 12288, 36, 32, 8,  128, 151'936, 40'960,  0,    false, 1e-6, 1'000'000, 1,    1},
    KnownModel{"gpt2",            Edition::kGpt2Hf,  768,  3072,  12, 12, 12, 64,  50'257,  1024,    0,    true,  1e-5, 0,         1,    1},
    KnownModel{"gpt2-medium",     Edition::kGpt2Hf,  1024, 4096,  24, 16, 16, 64,  50'257,  1024,    0,    true,  1e-5, 0,         1,    1},
    KnownModel{"gpt2-large",      Edition::kGpt2Hf,  1280, 5120,  36, 20, 20, 64,  50'257,  1024,    0,    true,  1e-5, 0,         1,    1},
    KnownModel{"gpt2-xl",         Edition::kGpt2Hf,  1600, 6400,  48, 25, 25, 64,  50'257,  1024,    0,    true,  1e-5, 0,         1,    1},
    KnownModel{"pythia-70m",      Edition::kGptNeox, 512,  2048,  6,  8,  8,  64,  50'304,  2048,    0,    false, 1e-5, 10'000,    0.25, 1},
    KnownModel{"pythia-160m",     Edition::kGptNeox, 768,  3072,  12, 12, 12, 64,  50'304,  2048,    0,    false, 1e-5, 10'000,    0.25, 1},
    KnownModel{"pythia-410m",     Edition::kGptNeox, 1024, 4096,  24, 16, 16, 64,  50'304,  2048,    0,    false, 1e-5, 10'000,    0.25, 1},
    KnownModel{"pythia-1b",       Edition::kGptNeox, 2048, 8192,  16, 8,  8,  256, 50'304,  2048,    0,    false, 1e-5, 10'000,    0.25, 1},
    KnownModel{"pythia-1.4b",     Edition::kGptNeox, 2048, 8192,  24, 16, 16, 128, 50'304,  2048,    0,    false, 1e-5, 10'000,    0.25, 1},
    KnownModel{"pythia-2.8b",     Edition::kGptNeox, 2560, 10240, 32, 32, 32, 80,  50'304,  2048,    0,    false, 1e-5, 10'000,    0.25, 1},
    KnownModel{"pythia-6.9b",     Edition::kGptNeox, 4096, 16384, 32, 32, 32, 128, 50'432,  2048,    0,    false, 1e-5, 10'000,    0.25, 1},
};
// clang-format on

}  // namespace

std::span<const KnownModel> known_models() { return kKnown; }

const KnownModel* find_known_model(std::string_view name) {
  return find_in(kKnown, lowered(name), [](const KnownModel& known) { return lowered(known.name); });
}

int64_t default_context(int64_t max_positions) {
  constexpr int64_t kUsual = 2048;
  return std::min(kUsual, max_positions);
}

ModelConfig config_of(const KnownModel& known) {
  ModelConfig model;
  model.name = known.name;
  model.edition = known.edition;
  model.d_model = known.d_model;
  model.d_ff = known.d_ff;
  model.num_layers = known.num_layers;
  model.num_heads = known.num_heads;
  if (known.num_kv_heads != known.num_heads) model.num_kv_heads = known.num_kv_heads;
  if (known.head_dim * known.num_heads != known.d_model) model.head_dim = known.head_dim;
  if (known.window > 0) model.max_context = known.window;
  model.vocab_size = known.vocab_size;
  model.context_length = default_context(known.max_positions);
  model.weight_tie = known.is_tied;
  model.norm_eps = known.norm_eps;
  if (known.edition == Edition::kGpt2Hf) {
    model.bias = true;
    model.max_context = known.max_positions;
  } else {
    model.rope_theta = known.rope_theta;
  }
  if (known.rotary_share != 1) model.rotary_share = known.rotary_share;
  model.rope_scaling = rope_scaling_word({.factor = known.llama3_factor});
  model.attention_bias = model.mlp_bias = model.parallel_residual = known.edition == Edition::kGptNeox;
  return model;
}

}  // namespace laptime
