// The use of memory in a step, launch by launch (MemoryLedger) and tensor by tensor.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "record/step_trace.h"

namespace laptime {

// The purpose of a buffer, in the order in which charts stack the categories. Buffers that live for the whole run come
// first.
enum class MemoryCategory : uint8_t {
  kParameters,
  kOptimizerState,
  kInputs,  // inputs and constants: tokens, targets, masks, tables
  kGradients,
  kAutocastCopies,
  kSaved,        // activations that forward keeps for backward
  kTemporaries,  // every other value of the step, including gradients of activations
  kWorkspace,
};
inline constexpr size_t kMemoryCategoryCount = 8;

std::string_view key_of(MemoryCategory category);  // "saved_activations"
std::string title_of(MemoryCategory category);     // "saved activations"
MemoryCategory category_at(size_t index);
MemoryCategory category_of(const TraceBuffer& buffer);

// Bytes of tensors by category, as requested, without rounding.
struct CategoryBytes {
  std::array<int64_t, kMemoryCategoryCount> bytes{};

  int64_t operator[](MemoryCategory category) const { return bytes[static_cast<size_t>(category)]; }
  int64_t& operator[](MemoryCategory category) { return bytes[static_cast<size_t>(category)]; }
  int64_t total() const;
};

// The launches of a phase, and the launch at which memory peaks.
struct PhasePeak {
  std::string phase;
  size_t first = 0;  // index of the first launch
  size_t last = 0;
  size_t peak = 0;  // index of the first launch that reaches the peak
};

// A section of the step: one phase, or several whose launches alternate ("backward and optimizer").
struct Section {
  std::string title;
  size_t first = 0;  // index of the first launch
  size_t last = 0;
};

class MemoryLedger {
 public:
  MemoryLedger(const Record& record, const StepTrace& trace);

  size_t launches() const { return held_.size(); }
  // Bytes held while a launch runs.
  const CategoryBytes& held(size_t launch) const { return held_[launch]; }
  // Divides the step into `columns` stretches of launches; returns the launch with the most memory in each stretch.
  std::vector<size_t> most_held(size_t columns) const;
  size_t peak_launch() const { return peak_launch_; }
  const CategoryBytes& peak() const { return held_[peak_launch_]; }
  // Bytes at the peak that no tensor requested: alignment, gaps in the arena, and unused ends of pages.
  int64_t rounding() const { return planned_ - peak().total(); }
  // The record's predicted peak; if the record has none, the bytes that the plan places.
  int64_t planned() const { return planned_; }
  int64_t resident() const { return resident_; }  // bytes requested by buffers that live for the whole run

  // The phases, in the order in which they begin.
  const std::vector<PhasePeak>& phases() const { return phases_; }
  std::vector<Section> sections() const;
  // True if launches of the optimizer precede the last launch of backward.
  bool optimizer_runs_in_backward() const;

 private:
  std::vector<CategoryBytes> held_;
  std::vector<PhasePeak> phases_;
  size_t peak_launch_ = 0;
  int64_t planned_ = 0;
  int64_t resident_ = 0;
};

// Equal tensors that one block saves, or all tensors that one op saves in a module.
struct SavedTensors {
  std::string scope;    // within the block: "attn.scores"; empty: the block itself
  std::string op;       // op that writes them
  std::string dtype{};  // empty, like `shape`, if tensors of several types are summed
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

// The saved tensors that exist when backward begins; with micro-batches, those of the first micro-batch.
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
