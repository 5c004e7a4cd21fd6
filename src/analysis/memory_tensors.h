// The tensors of a step that hold memory: those that forward saves for backward, and the largest allocations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/memory_ledger.h"
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

// The largest allocations of a step. Equal layers are one group.
struct LargeTensors {
  std::string name;   // "layers.*.attn.weights"; empty: none
  std::string op;     // that makes them; empty for a source
  std::string scope;  // of that op
  std::string phase;
  std::string dtype;
  std::string shape;
  MemoryCategory category = MemoryCategory::kTemporaries;
  int64_t bytes = 0;            // of one
  std::vector<size_t> buffers;  // of the trace
  int64_t alive_at_peak = 0;    // how many
};

// At most `top` groups, the largest single tensors first, and of tensors of one size those with most alive at the peak.
std::vector<LargeTensors> largest_tensors(const StepTrace& trace, size_t peak_launch, size_t top);

// What a group is called: its name, or the op and scope that make it.
std::string title_of(const LargeTensors& tensors);

}  // namespace laptime
