// ParallelLayout: how the ranks of a step share its work.
#pragma once

#include <array>
#include <cstdint>

#include "config/option.h"

namespace laptime {

// Tensors that data-parallel ranks divide in addition to the batch: none, the optimizer's state (ZeRO-1), gradients too
// (ZeRO-2), or parameters too (ZeRO-3, FSDP). Rajbhandari et al. 2020.
enum class Shard : uint8_t { kNone, kOptimizer, kGradients, kParameters };
constexpr auto choices_of(Shard) { return choices<Shard>("none", "optimizer", "gradients", "parameters"); }

// Activations that backward recomputes: none; those of the attention core; those of every second layer or every second
// matrix product (selective); or those of all layers (full).
enum class Checkpointing : uint8_t { kNone, kAttention, kSelective, kFull };
constexpr auto choices_of(Checkpointing) { return choices<Checkpointing>("none", "attention", "selective", "full"); }

// ranks = tensor * pipeline * context * data().
struct ParallelLayout {
  int64_t ranks = 1;
  int64_t tensor = 1;          // ranks that divide heads, d_ff and the vocabulary
  int64_t pipeline = 1;        // ranks that divide the layers
  int64_t context = 1;         // ranks that divide the sequence
  int64_t chunks = 1;          // groups of layers on each pipeline rank (interleaved schedule)
  bool fills_bubbles = false;  // zero-bubble schedule: weight gradients are computed in the bubbles of the pipeline
  Shard shard = Shard::kNone;
  bool shards_in_node = false;  // shards within a node and replicates across nodes (HSDP)
  bool offloads = false;        // the optimizer's state is in host memory, and the host updates it

  int64_t data() const { return ranks / (tensor * pipeline * context); }
  // Ranks that compute with the same parameters. They sum gradients, and `shard` divides tensors among them.
  int64_t sharers() const { return data() * context; }
  // `shard`, or none if there is only one rank to divide tensors among.
  Shard effective_shard() const { return sharers() == 1 ? Shard::kNone : shard; }
};

}  // namespace laptime
