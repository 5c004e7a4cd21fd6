// parallel_time: what a step takes on several devices, from the work of one rank and the links between them.
#pragma once

#include <cstdint>

#include "config/machine.h"
#include "config/parallel.h"
#include "predict/launch_times.h"

namespace laptime {

// Seconds of a device and of the host that starts its kernels.
struct Busy {
  double kernels = 0, host = 0;

  Busy operator+(const Busy& other) const { return {kernels + other.kernels, host + other.host}; }
  Busy operator*(double factor) const { return {kernels * factor, host * factor}; }
};

// The work of one rank and one micro-batch: of a layer of the rank's share, and of what stands outside of the layers
// (embedding, head and loss).
struct RankWork {
  Busy layer_forward, layer_backward, layer_attention, layer_optimizer;  // layer_attention: its part of layer_forward
  Busy ends_forward, ends_backward, ends_optimizer;
};

struct ParallelStep {
  ParallelLayout layout;
  Checkpointing checkpointing = Checkpointing::kNone;
  int64_t layers = 0;         // of the whole model
  int64_t micro_batches = 1;  // of a rank in a step
  double tokens = 0;          // of a rank in a micro-batch
  double d_model = 0;
  double kv_width = 0;           // of the keys of all heads, and of the values
  double parameters = 0;         // of the whole model
  double network_bandwidth = 0;  // bytes/s of a node in one direction; 0: of the machine's file
  bool groups_updates = false;   // a launch of the optimizer updates many tensors
};

// Seconds of a step. `exposed` parts are those that no computation hides.
struct ParallelTime {
  double step = 0;
  double forward = 0, backward = 0;  // of one micro-batch, without communication
  double bubble = 0;                 // ranks of a pipeline wait for each other
  double exposed_tensor = 0, exposed_data = 0;
  double optimizer = 0;
};

// - A pipeline of p ranks takes m + (p - 1) / chunks times its slowest rank (Narayanan et al. 2021): the one with the
//   head, unless an interleaved schedule gives that rank fewer layers.
// - Backward of a checkpointed layer recomputes it up to the last value that it needs.
// - Tensor parallel ranks add up activations twice in a layer's forward and twice in its backward (Shoeybi et al.
// 2019);
//   nothing hides it.
// - Context parallel ranks send keys and values around a ring, in forward and twice in backward, beside attention
//   (Liu et al. 2023).
// - FSDP gathers parameters in forward and in backward and scatters gradients, in each micro-batch; otherwise gradients
//   are reduced once in a step. A ring moves (n - 1) / n of the bytes through each link. Computation hides it but for a
//   share.
// Error if the machine's file has no link.
ParallelTime parallel_time(const LaunchTimes& times, const DataSheet& machine, const RankWork& work,
                           const ParallelStep& step);

}  // namespace laptime
