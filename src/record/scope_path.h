// Names of scopes and tensors: their modules, and the same name with the number of the layer taken out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace laptime {

// The modules of a scope, outermost first. An index belongs to the name before it: "layers.3.attn.scores" has the
// modules "layers.3", "attn" and "scores".
std::vector<std::string_view> modules_of(std::string_view scope);

// "layers.3.attn.scores" -> "layers.*.attn.scores"
std::string any_layer(std::string_view name);

// What follows the layer: "layers.3.attn.scores" and layer 3 -> "attn.scores". The whole scope if the layer is -1.
std::string within_layer(std::string_view scope, int64_t layer);

}  // namespace laptime
