// What forward saves for backward: per block, per module and op, and in all. Storages count once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/step_trace.h"

namespace laptime {

// Saved tensors of one block that are alike.
struct SavedTensors {
  std::string scope;  // within the block: "attn.scores"; empty: the block itself
  std::string op;     // that makes them
  std::string dtype;
  std::string shape;
  int64_t count = 0;        // per block
  int64_t bytes = 0;        // of all of them, per block
  bool are_copies = false;  // of parameters, by autocast
  friend bool operator==(const SavedTensors&, const SavedTensors&) = default;
};

// Layers that save the same.
struct SavedBlock {
  std::vector<int64_t> layers;        // ascending
  int64_t bytes = 0;                  // per layer
  int64_t copies = 0;                 // of these: autocast's copies of parameters
  std::vector<SavedTensors> tensors;  // of one layer, those with most bytes first
};

// Saved bytes of all layers by module and op.
struct SavedPart {
  std::string part;  // "attn", "lm_head"; "block": of a layer, but of none of its modules
  std::string op;
  int64_t count = 0;
  int64_t bytes = 0;
};

struct SavedBytes {
  int64_t total = 0;
  int64_t copies = 0;              // of these: autocast's copies of parameters
  int64_t shared = 0;              // of inputs and constants that backward reads
  std::vector<SavedBlock> blocks;  // in the order of their first layers
  SavedBlock rest;                 // of tensors made outside of the layers
  std::vector<SavedPart> parts;    // most bytes first
};

SavedBytes saved_bytes_of(const StepTrace& trace);

// "layers 0-11", "layer 3", "layers 0-2, 4"
std::string layers_text(const std::vector<int64_t>& layers);

}  // namespace laptime
