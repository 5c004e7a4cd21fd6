// rank_bytes: what one of several devices holds at the peak of a step of a framework that stores values in 16 bits.
#pragma once

#include <cstdint>

#include "config/machine.h"
#include "config/model_config.h"
#include "predict/parallel_step.h"

namespace laptime {

// The ways in which a framework stores a training, and the values that it keeps for backward.
struct StoredTypes {
  bool keeps_master = false;  // 16-bit parameters beside float32 ones that the optimizer updates (Megatron); otherwise
                              // the parameters are float32, and 16-bit copies live as long as they are used
  bool all_16_bits = false;   // parameters, gradients and moments
  bool fuses_attention = true;
  bool repeats_heads = false;   // keys and values are saved for every head, not for every group of heads
  bool keeps_layouts = false;   // queries keep the buffer of all three projections alive, and the output is saved in
                                // two layouts
  bool gathers_inputs = false;  // the outputs of norms are saved whole on each tensor parallel rank
  bool fuses_gate = true;       // one kernel applies activation and gate, and recomputes them
  double norm_bytes = 4;        // for each value of a norm: its input and output in 16 bits, and float32 values between
  double logit_bytes = 10;      // of a logit at the peak of the loss; 0: the loss is computed tile by tile
  bool frees_gradients = false;    // each step lets go of its gradients, unless it adds up those of micro-batches
  bool buckets_gradients = false;  // replicas add up gradients in buckets of their own (DistributedDataParallel)
  bool balances_stages = false;    // pipeline ranks get layers by the work of layers and head, not by their number
  double live_parameters = 0;      // gathered ones that stay for reuse; 0: those of two layers and the embedding
  double bucket_bytes = 0;         // of gradients that wait to be reduced
};

struct RankBytes {
  double parameters = 0, gradients = 0, optimizer = 0;
  double gathered = 0;     // 16-bit copies of parameters: of two layers and the embedding where parameters are sharded;
                           // and buckets of gradients
  double activations = 0;  // saved for backward by all micro-batches that a pipeline has in flight
  double loss = 0;         // logits, their logarithms, and the gradients of both
  double framework = 0;    // context of the device, buffers of communication, and gaps of the allocator

  // Bytes that the program asked for; the allocator reserves more, as it holds memory in blocks.
  double allocated() const { return parameters + gradients + optimizer + gathered + activations + loss; }
  double reserved() const { return allocated() * (1 + kGaps); }
  double total() const { return allocated() + framework; }

  static constexpr double kGaps = 0.05;  // of what is allocated
};

// Saved activations of a layer as in Korthikanti et al. 2022, sharded states as in Rajbhandari et al. 2020. `model` is
// the whole model; its batch is one micro-batch of a rank.
RankBytes rank_bytes(const ModelConfig& model, bool has_gate, const ParallelStep& step, const StoredTypes& stored);

}  // namespace laptime
