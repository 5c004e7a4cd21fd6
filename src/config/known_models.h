// Well-known models by their names on the Hugging Face hub.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "config/model_config.h"

namespace laptime {

struct KnownModel {
  std::string_view name = {};
  Edition edition = Edition::kLlama;
  int64_t d_model = 0;
  int64_t d_ff = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab_size = 0;
  int64_t max_positions = 0;
  int64_t window = 0;  // sliding window of attention; 0: none
  bool is_tied = false;
  double norm_eps = 0;
  double rope_theta = 0;  // 0: no RoPE; positions are learned
  double rotary_share = 1;
  double llama3_factor = 1;  // factor of Llama 3's scaling of RoPE frequencies; 1: no scaling
};

std::span<const KnownModel> known_models();

// Looks up a name, ignoring case; nullptr if there is no such model.
const KnownModel* find_known_model(std::string_view name);

ModelConfig config_of(const KnownModel& known);

// The default context length of a model: 2048, or `max_positions` if that is smaller.
int64_t default_context(int64_t max_positions);

}  // namespace laptime
