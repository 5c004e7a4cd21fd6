// parallel_time: the time of a step on several devices, from the work of one rank and the links between devices.
#pragma once

#include <cstdint>

#include "config/machine.h"
#include "config/parallel.h"
#include "predict/launch_times.h"

namespace laptime {

// Seconds for which the device runs kernels, and for which its host launches kernels.
struct Busy {
  double kernels = 0, host = 0;

  Busy operator+(const Busy& other) const { return {kernels + other.kernels, host + other.host}; }
  Busy operator*(double factor) const { return {kernels * factor, host * factor}; }
};

// The work of one rank in the mean micro-batch of a step: the rank's share of one layer, and everything outside the
// layers (embedding, head and loss).
struct RankWork {
  Busy layer_forward, layer_backward, layer_attention, layer_optimizer;  // layer_attention is included in layer_forward
  Busy ends_forward, ends_backward, ends_optimizer;
};

struct ParallelStep {
  ParallelLayout layout;
  Checkpointing checkpointing = Checkpointing::kNone;
  int64_t layers = 0;         // in the whole model
  int64_t micro_batches = 1;  // per rank and step
  double tokens = 0;          // per rank and micro-batch
  double d_model = 0;
  double kv_width = 0;           // width of the keys of all heads, and also of their values
  double parameters = 0;         // in the whole model
  double value_bytes = 2;        // of an activation: 2 with autocast, otherwise 4
  double network_bandwidth = 0;  // bytes/s per node and direction; 0: from the machine file
};

// The number of ranks that divide a sharded tensor.
int64_t sharers_of(const ParallelLayout& layout, const DataSheet& machine);

// How the data-parallel ranks of a program exchange parameters and gradients.
struct Exchange {
  double gathered_bytes = 0;  // of a gathered parameter
  double reduced_bytes = 0;   // of a reduced gradient
  bool reduces_once = false;  // gradients are reduced once per step, not in each micro-batch
};
Exchange exchange_of(Program program, const ParallelStep& step);

// Seconds of a step. `exposed` parts are communication that computation does not hide.
struct ParallelTime {
  double step = 0;
  double forward = 0, backward = 0;  // per micro-batch, without communication
  double bubble = 0;                 // idle time of pipeline ranks
  double exposed_tensor = 0, exposed_data = 0;
  double optimizer = 0;
};

// Predicts the time of a step:
// - For m micro-batches, a pipeline of p ranks takes m + (p - 1) / chunks times as long as its slowest rank takes for
//   one micro-batch (Narayanan et al. 2021). The slowest rank is the one with the head, unless an interleaved schedule
//   gives that rank fewer layers.
// - Backward of a checkpointed layer recomputes the layer up to the last value that backward needs.
// - Tensor parallel ranks sum activations twice in a layer's forward and twice in its backward (Shoeybi et al. 2019).
//   In most programs, no computation hides these sums.
// - Context parallel ranks send keys and values around a ring during attention, once in forward and twice in backward
//   (Liu et al. 2023). They share parameters and gradients as data-parallel ranks do.
// - FSDP gathers parameters in forward and in backward and scatters gradients, in each micro-batch. ZeRO-2 scatters
//   gradients in each micro-batch too. Otherwise, and always in laptime, gradients are reduced once per step. Ranks
//   that divide no state then gather the sums; ranks that divide states gather the updated parameters, except with
//   FSDP. A ring moves (n - 1) / n of the bytes through each link. Computation hides a part of this communication.
// Throws Error if there are several ranks and the machine file describes no links.
ParallelTime parallel_time(const LaunchTimes& times, const DataSheet& machine, const RankWork& work,
                           const ParallelStep& step);

}  // namespace laptime
