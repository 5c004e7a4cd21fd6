// The names and layouts of the tensors that transformers stores, by model family.
#include "model/library_layout.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"

namespace laptime {
namespace {

// How q, k and v are joined in one tensor: not at all, one after the other, or head by head.
enum class Joined : uint8_t { kNo, kInTurn, kByHead };

// The name of a module here and in the library, and the layout of its weight in the library.
struct Module {
  std::string_view ours;
  std::string_view theirs;
  Joined joined = Joined::kNo;
  int64_t part = 0;            // index of the part in a joined tensor
  bool is_transposed = false;  // the stored weight is [in, out]
};

// The modules of a layer, whose names are prefixed with `layers` and the layer's number, and the other modules.
struct Names {
  std::string_view layers;
  std::span<const Module> of_layer;
  std::span<const Module> outside;
};

constexpr std::array kLlamaLayer{Module{"ln1", "input_layernorm"},
                                 Module{"attn.q_proj", "self_attn.q_proj"},
                                 Module{"attn.q_norm", "self_attn.q_norm"},
                                 Module{"attn.k_proj", "self_attn.k_proj"},
                                 Module{"attn.k_norm", "self_attn.k_norm"},
                                 Module{"attn.v_proj", "self_attn.v_proj"},
                                 Module{"attn.output_proj", "self_attn.o_proj"},
                                 Module{"ln2", "post_attention_layernorm"},
                                 Module{"ffn.w1", "mlp.gate_proj"},
                                 Module{"ffn.w3", "mlp.up_proj"},
                                 Module{"ffn.w2", "mlp.down_proj"}};
constexpr std::array kLlamaOutside{Module{"token_embeddings", "model.embed_tokens"}, Module{"ln_final", "model.norm"},
                                   Module{"lm_head", "lm_head"}};
constexpr std::array kGpt2Layer{Module{"ln1", "ln_1"},
                                Module{"attn.q_proj", "attn.c_attn", Joined::kInTurn, 0, true},
                                Module{"attn.k_proj", "attn.c_attn", Joined::kInTurn, 1, true},
                                Module{"attn.v_proj", "attn.c_attn", Joined::kInTurn, 2, true},
                                Module{"attn.output_proj", "attn.c_proj", Joined::kNo, 0, true},
                                Module{"ln2", "ln_2"},
                                Module{"ffn.w1", "mlp.c_fc", Joined::kNo, 0, true},
                                Module{"ffn.w2", "mlp.c_proj", Joined::kNo, 0, true}};
constexpr std::array kGpt2Outside{Module{"token_embeddings", "transformer.wte"},
                                  Module{"position_embeddings", "transformer.wpe"},
                                  Module{"ln_final", "transformer.ln_f"}, Module{"lm_head", "lm_head"}};
constexpr std::array kNeoxLayer{Module{"ln1", "input_layernorm"},
                                Module{"attn.q_proj", "attention.query_key_value", Joined::kByHead, 0},
                                Module{"attn.k_proj", "attention.query_key_value", Joined::kByHead, 1},
                                Module{"attn.v_proj", "attention.query_key_value", Joined::kByHead, 2},
                                Module{"attn.output_proj", "attention.dense"},
                                Module{"ln2", "post_attention_layernorm"},
                                Module{"ffn.w1", "mlp.dense_h_to_4h"},
                                Module{"ffn.w2", "mlp.dense_4h_to_h"}};
constexpr std::array kNeoxOutside{Module{"token_embeddings", "gpt_neox.embed_in"},
                                  Module{"ln_final", "gpt_neox.final_layer_norm"}, Module{"lm_head", "embed_out"}};

std::optional<Names> names_of(Edition edition) {
  switch (edition) {
    case Edition::kGpt2:
    case Edition::kGpt2Hf: return Names{"transformer.h.", kGpt2Layer, kGpt2Outside};
    case Edition::kLlama:
    case Edition::kQwen2:
    case Edition::kQwen3: return Names{"model.layers.", kLlamaLayer, kLlamaOutside};
    case Edition::kGptNeox: return Names{"gpt_neox.layers.", kNeoxLayer, kNeoxOutside};
    case Edition::k2024:
    case Edition::k2025:
    case Edition::k2026: return std::nullopt;
  }
  return std::nullopt;
}

constexpr std::string_view kLayers = "layers.";

}  // namespace

std::optional<LibraryPlace> library_place(const ModelConfig& model, const ParameterSpec& parameter) {
  const std::optional<Names> names = names_of(model.edition);
  if (!names) return std::nullopt;
  std::string_view module = parameter.name;
  const std::string_view kind = module.substr(module.rfind('.') + 1);  // "weight" or "bias"
  module.remove_suffix(kind.size() + 1);
  std::string prefix;
  std::span<const Module> modules = names->outside;
  if (module.starts_with(kLayers)) {
    module.remove_prefix(kLayers.size());
    prefix = fmt::format("{}{}.", names->layers, module.substr(0, module.find('.')));
    module.remove_prefix(module.find('.') + 1);
    modules = names->of_layer;
  }
  const auto found = std::ranges::find(modules, module, &Module::ours);
  LAPTIME_CHECK(found != modules.end(), "the transformers library has no name for {}", parameter.name);
  const int64_t rows = parameter.shape.front();
  LibraryPlace place{.tensor = fmt::format("{}{}.{}", prefix, found->theirs, kind),
                     .shape = parameter.shape,
                     .is_transposed = found->is_transposed && parameter.shape.size() == 2,
                     .group = rows,
                     .stride = rows,
                     .offset = 0};
  constexpr int64_t kParts = 3;
  if (found->joined != Joined::kNo) {
    place.shape.front() = kParts * rows;
    if (found->joined == Joined::kByHead) place.group = model.d_head();
    place.stride = kParts * place.group;
    place.offset = found->part * place.group;
  }
  if (place.is_transposed) std::reverse(place.shape.begin(), place.shape.end());
  return place;
}

std::vector<std::string> names_in_files(const ModelConfig& model, const std::string& tensor) {
  std::vector<std::string> names{tensor};
  constexpr std::string_view kFirst = "transformer.";
  if ((model.edition == Edition::kGpt2 || model.edition == Edition::kGpt2Hf) && tensor.starts_with(kFirst))
    names.push_back(tensor.substr(kFirst.size()));
  return names;
}

bool is_stored_buffer(std::string_view tensor) {
  constexpr std::array<std::string_view, 5> kBuffers{".attn.bias", ".attention.bias", ".attn.masked_bias",
                                                     ".attention.masked_bias", ".rotary_emb.inv_freq"};
  return std::ranges::any_of(kBuffers, [&](std::string_view end) { return tensor.ends_with(end); });
}

}  // namespace laptime
