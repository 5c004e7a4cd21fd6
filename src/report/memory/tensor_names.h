// Names of tensors and scopes with the number of the layer taken out, so that equal layers can be one row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace laptime {

// "layers.3.attn.scores" -> "layers.*.attn.scores"
std::string any_layer(std::string_view name);

// What follows the layer: "layers.3.attn.scores" and layer 3 -> "attn.scores". The whole scope if the layer is -1.
std::string within_layer(std::string_view scope, int64_t layer);

}  // namespace laptime
