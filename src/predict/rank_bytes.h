// rank_bytes: what one of several devices holds at the peak of a step of a framework that stores values in 16 bits.
#pragma once

#include <cstdint>

#include "config/machine.h"
#include "config/model_config.h"
#include "predict/parallel_step.h"

namespace laptime {

// How a framework stores the parts of a training.
struct StoredTypes {
  bool keeps_master = false;  // 16-bit parameters beside float32 ones that the optimizer updates (Megatron); otherwise
                              // the parameters are float32, and 16-bit copies live as long as they are used
  bool all_16_bits = false;   // parameters, gradients and moments
  bool fuses_attention = true;
  bool fuses_norms = true;  // else float32 copies and their products are saved too, as PyTorch's modules are written
  double logits = 1;        // copies of logits and of their gradient; 0: the loss is computed tile by tile
};

struct RankBytes {
  double parameters = 0, gradients = 0, optimizer = 0;
  double gathered = 0;     // 16-bit copies of parameters: of two layers and the embedding where parameters are sharded
  double activations = 0;  // saved for backward by all micro-batches that a pipeline has in flight
  double loss = 0;         // logits, in 16 bits and in float32, and their gradient
  double framework = 0;    // context of the device, buffers of communication, and gaps of the allocator

  double allocated() const { return parameters + gradients + optimizer + gathered + activations + loss; }
  double total() const { return allocated() + framework; }
};

// Saved activations of a layer as in Korthikanti et al. 2022, sharded states as in Rajbhandari et al. 2020. `model` is
// the whole model; its batch is one micro-batch of a rank.
RankBytes rank_bytes(const ModelConfig& model, bool has_gate, const ParallelStep& step, const StoredTypes& stored);

}  // namespace laptime
