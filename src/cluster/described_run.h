// DescribedRun: a published run in laptime's terms, as far as its description allows.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/published_run.h"
#include "config/machine.h"
#include "config/run_config.h"
#include "predict/parallel_step.h"

namespace laptime {

// How a source counts the FLOPs of attention: all, only the part that the causal mask leaves, or none. All sources
// count 6 FLOPs per token for each parameter of a matrix product.
enum class CountedAttention : uint8_t { kFull, kCausal, kNone };

// The attention kernel: unfused, flash attention 1 or 2, or kernels for newer tensor cores (version 3 and later,
// cuDNN).
enum class AttentionKernel : uint8_t { kUnfused, kFirst, kSecond, kThird };

// The library between model and PyTorch that decides which values are saved. None: plain PyTorch.
enum class Framework : uint8_t { kNone, kNanotron, kDeepSpeed, kThunder, kNvFuser };

struct DescribedRun {
  std::string refusal;  // why the run cannot be predicted; empty if it can
  Program program = Program::kPyTorchEager;
  RunConfig config;  // one micro-batch of the whole model on one device; `device` names the machine
  ParallelStep step;
  Framework framework = Framework::kNone;
  AttentionKernel attention = AttentionKernel::kSecond;
  bool repeats_heads = false;   // keys and values are copied for every query head
  bool compiles_loss = true;    // the compiled part includes the loss
  int64_t product_bits = 16;    // bits per operand of the layers' matrix products; 8 and 4 use special units
  bool stores_16_bits = false;  // activations, and the weights that products read, are 16-bit
  bool all_16_bits = false;     // parameters, gradients and moments are 16-bit
  bool is_recorded = false;     // a CUDA graph starts forward and backward
  bool fuses_loss = false;      // computes head and loss tile by tile, and each norm in one kernel (Liger)
  double tokens = 0;            // tokens of all ranks per step
  double counted_parameters = 0;
  CountedAttention counted_attention = CountedAttention::kFull;
  bool recomputes_cheap_ops = false;  // true if the rank would not fit otherwise; only for laptime
};

DescribedRun described(const PublishedRun& run);

// The value for DescribedRun::stores_16_bits, from the run's program, type and layout. With autocast, Megatron stores
// 16 bits, and so do ranks that gather parameters in 16 bits. laptime stores and gathers float32 (docs/ranks.md).
bool stores_16_bits(const DescribedRun& run, bool is_autocast);

// The attention kernel that a program runs unless an option names one.
AttentionKernel usual_attention(Program program, Precision dtype);

// The known machine that a source describes: a100-40 for "A100 40GB". Null if there is none.
const DataSheet* machine_of_words(std::string_view hardware);

}  // namespace laptime
