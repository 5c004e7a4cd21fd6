// The tensors that use a step's memory: those that forward saves for backward, and the largest allocations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/memory_ledger.h"
#include "record/step_trace.h"

namespace laptime {

// Equal tensors that one block saves, or all tensors that one op saves in a module.
struct SavedTensors {
  std::string scope;    // within the block: "attn.scores"; empty: the block itself
  std::string op;       // op that writes them
  std::string dtype{};  // empty, as is `shape`, if tensors of several types are summed
  std::string shape{};
  bool are_copies = false;  // autocast copies of parameters
  int64_t count = 0;        // number of tensors per block
  int64_t bytes = 0;        // total per block
  friend bool operator==(const SavedTensors&, const SavedTensors&) = default;
};

// Layers that save the same tensors.
struct SavedBlock {
  std::vector<int64_t> layers;        // indices of the layers, ascending
  int64_t bytes = 0;                  // saved bytes per layer
  int64_t copies = 0;                 // part of `bytes`: autocast copies of parameters
  std::vector<SavedTensors> tensors;  // tensors of one layer, most bytes first
};

struct SavedBytes {
  int64_t total = 0;
  int64_t copies = 0;               // part of `total`: autocast copies of parameters
  int64_t shared = 0;               // part of `total`: inputs and constants that backward reads
  std::vector<SavedBlock> blocks;   // in the order of their first layers
  SavedBlock rest;                  // tensors written outside the layers
  std::vector<SavedTensors> parts;  // saved bytes of the step by module ("attn", "inputs and constants") and op,
                                    // largest first; "block": in a layer but in none of its modules
};

// The saved tensors that exist when backward begins; with micro-batches, those of the first.
SavedBytes saved_bytes_of(const StepTrace& trace);

// "layers 0-11", "layer 3", "layers 0-2, 4"
std::string layers_text(const std::vector<int64_t>& layers);

// A group of equal tensors that one op writes in a module for one purpose; tensors of all layers are in the same group.
struct LargeTensors {
  std::string name;             // "layers.*.attn.weights"; empty if the tensors have none
  std::string scope;            // scope of the op that writes them
  TraceBuffer first;            // the first of these tensors; the trace owns its strings
  std::vector<size_t> buffers;  // indices of their buffers in the trace
  int64_t alive_at_peak = 0;    // number of tensors live at the peak
};

// At most `top` groups, largest single tensor first; among equal sizes, the group with the most tensors live at the
// peak first.
std::vector<LargeTensors> largest_tensors(const StepTrace& trace, size_t peak_launch, size_t top);

// A title for a group: the tensors' name or, if they have none, the op that writes them and the op's scope.
std::string title_of(const LargeTensors& tensors);

}  // namespace laptime
