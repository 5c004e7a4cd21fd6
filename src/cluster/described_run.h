// DescribedRun: a published run in laptime's terms, as far as its words tell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/published_run.h"
#include "config/machine.h"
#include "config/run_config.h"
#include "predict/parallel_step.h"

namespace laptime {

// How the FLOPs of a model are counted: 6 for each parameter of a product and token, and those of attention in full, as
// far as the causal mask leaves them, or not at all.
enum class CountedAttention : uint8_t { kFull, kCausal, kNone };

// Flash attention of the first version, of the second, and kernels made for tensor cores with 8-bit types.
enum class AttentionKernel : uint8_t { kUnfused, kFirst, kSecond, kThird };

// A library between the model and PyTorch that decides what is kept in memory; none: the model as it is written.
enum class Framework : uint8_t { kNone, kNanotron, kDeepSpeed, kThunder, kNvFuser };

struct DescribedRun {
  std::string refusal;  // why it cannot be predicted; empty if it can
  Program program = Program::kPyTorchEager;
  RunConfig config;  // one micro-batch of the whole model on one device; `device` has the machine
  ParallelStep step;
  Framework framework = Framework::kNone;
  AttentionKernel attention = AttentionKernel::kSecond;
  bool repeats_heads = false;   // keys and values are repeated for grouped queries
  bool compiles_loss = true;    // what is compiled includes the loss
  int64_t product_bits = 16;    // of the factors of products in layers: 8 and 4 have units of their own
  bool stores_16_bits = false;  // activations, and weights for products
  bool moments_16_bits = false;
  bool is_recorded = false;  // a CUDA graph starts forward and backward
  bool fuses_loss = false;   // head and loss tile by tile, and norms in one kernel (Liger)
  double tokens = 0;         // of all ranks in a step
  double counted_parameters = 0;
  CountedAttention counted_attention = CountedAttention::kFull;
};

DescribedRun described(const PublishedRun& run);

// The known machine that the words of a source name: "A100 40GB" is a100-40. Null for none.
const DataSheet* machine_of_words(std::string_view hardware);

}  // namespace laptime
