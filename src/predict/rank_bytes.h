// rank_bytes: the peak memory of one rank.
#pragma once

#include <cstdint>
#include <optional>

#include "config/machine.h"
#include "config/model_config.h"
#include "predict/parallel_step.h"

namespace laptime {

// Bytes of the activations that one micro-batch allocates and frees on a rank. Bytes from a plan also include gradients
// of values outside the layers, and 16-bit copies of parameters that are freed within the step.
struct PlannedActivations {
  double layer = 0;            // kept by each layer from forward to backward
  double working = 0;          // peak bytes beyond what all layers keep, while a layer runs
  double loss = 0;             // peak bytes beyond what all layers keep, while head and loss run
  double late = 0;             // peak bytes beyond all gradients, once backward has reached the first layer
  bool stores_copies = false;  // 16-bit copies of parameters outlive the step
};

// How a framework stores parameters, gradients and optimizer state, and which values it saves for backward.
struct StoredTypes {
  // True: 16-bit parameters, and float32 copies that the optimizer updates (Megatron). False: float32 parameters and,
  // with autocast, 16-bit copies that live as long as they are used.
  bool keeps_master = false;
  bool all_16_bits = false;    // parameters and gradients in 16 bits
  double moment_bytes = 4;     // per value of each of AdamW's two moments
  double score_bytes = 0;      // saved per attention score; 0: attention is fused
  bool repeats_heads = false;  // saves keys and values for every query head, not for every key-value head
  // True: queries keep the buffer of all three projections alive, and the output is saved in two layouts.
  bool keeps_layouts = false;
  bool gathers_inputs = false;     // each tensor parallel rank saves the whole outputs of norms
  bool fuses_gate = true;          // one kernel applies activation and gate, and backward recomputes them
  double norm_bytes = 4;           // per value of a norm: input, output and any float32 intermediates
  double logit_bytes = 10;         // per logit at the peak of the loss; 0: the loss is computed tile by tile
  bool frees_gradients = false;    // each step frees its gradients, unless it accumulates micro-batches
  bool buckets_gradients = false;  // data-parallel replicas copy gradients into buckets (DistributedDataParallel)
  bool balances_stages = false;    // pipeline ranks get layers by the work of layers and head, not by number
  double live_parameters = 0;  // number of gathered parameters kept for reuse; 0: those of two layers and the embedding
  double gathered_bytes = 0;   // per gathered parameter; 0: as many as per activation
  bool reduces_once = false;   // each rank adds up whole gradients and reduces them once per step
  double bucket_bytes = 0;     // bytes of gradients that wait to be reduced
  double last_bucket = 0;      // bytes of gradients that are reduced together once backward has ended
  bool receives_gradients = false;  // a reduction needs memory for the gradients of the other ranks
  int64_t most_sharers = 0;  // maximum ranks that divide a sharded tensor (HSDP: the ranks of a node); 0: no limit
  std::optional<PlannedActivations> planned{};  // known from a plan: replaces all terms of activations and of the loss
};

struct RankBytes {
  double parameters = 0, gradients = 0, optimizer = 0;
  // Copies of parameters, gathered or in 16 bits, and buckets of gradients. If parameters are sharded, only the copies
  // in use count.
  double gathered = 0;
  double activations = 0;  // saved for backward by all micro-batches in flight, and recomputed for one layer
  double loss = 0;         // logits, their logarithms, and the gradients of both
  // Communication buffers. If the bytes of a step are not known from a plan, also the device context and the gaps of
  // the allocator.
  double framework = 0;

  // Bytes that the program requests. The allocator reserves more, because it holds memory in blocks.
  double allocated() const { return parameters + gradients + optimizer + gathered + activations + loss; }
  double reserved() const { return allocated() * (1 + kGaps); }
  double total() const { return allocated() + framework; }

  static constexpr double kGaps = 0.05;  // fraction of the allocated bytes
};

// Activations follow Korthikanti et al. 2022, and sharded states follow Rajbhandari et al. 2020. `model` is the whole
// model; its batch size is one micro-batch of a rank.
RankBytes rank_bytes(const ModelConfig& model, bool has_gate, const ParallelStep& step, const StoredTypes& stored);

}  // namespace laptime
