// Findings from the buffers of a trace: the use of memory in a step, and its peak.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/finding.h"
#include "analysis/memory_ledger.h"
#include "record/record.h"
#include "record/step_trace.h"

namespace laptime {

// True if the step ran, so that the planned bytes were actually held; otherwise the bytes are predicted.
bool was_held(const Record& record);

// The memory available to the step, and what limits it.
struct UsableMemory {
  int64_t bytes = 0;
  bool is_limit = false;           // whether `bytes` is the value of --memory-limit
  std::optional<int64_t> whole{};  // `bytes` / kUsableFraction: the memory's size; only for predictions without a limit
};
// The memory that was available to the record's step; none if the record does not state it.
std::optional<UsableMemory> usable_memory(const Record& record);
// Subject of the memory_share finding for bytes that no tensor requested.
inline constexpr std::string_view kAlignmentAndGaps = "alignment_and_gaps";
// Adds available_bytes, is_limit and whole_bytes if they are known.
void add_usable(const std::optional<UsableMemory>& usable, Json& values);

// All findings about the buffers of one point, in this order:
//   memory_peak        bytes, phase, op, scope, held_bytes, requested_bytes, fits, available_bytes, is_limit,
//                      whole_bytes
//   memory_share       of each category and of gaps, largest first: bytes, share
//   phase_peak         of each phase: bytes, op, scope, gradients_bytes, optimizer_state_bytes, saved_bytes,
//                      after_bytes, first_step_bytes (in a framework that allocates optimizer state in the first step)
//   saved_for_backward bytes, layer_bytes, layers, copies_bytes, layer_copies_bytes, has_unsaved_copies;
//                      layer_count and model_layers if other layers save something else or nothing
//   optimizer_memory   state_bytes, temporaries_bytes, runs_in_backward
//   residual_tensor    bytes, dtype, shape
std::vector<Finding> memory_findings(const Record& record, const StepTrace& trace);

// The largest group of layers that save the same tensors; null if no layer saves any.
const SavedBlock* usual_block(const SavedBytes& saved);

}  // namespace laptime
