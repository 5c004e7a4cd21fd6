// LaunchTimes: how long a launch takes on a described machine, on the device and on the host that starts it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "config/machine.h"
#include "config/run_config.h"
#include "graph/op.h"

namespace laptime {

// The matrices that a product writes, which are computed in tiles.
struct OutputMatrices {
  int64_t count = 0;  // 0: the op writes no matrix
  int64_t rows = 0, columns = 0;
};

// Derives the matrices from the operands of a launch; each operand has a `type`. If all products of a batch share a
// factor with two axes, the batch counts as one tall matrix.
template <class Operands>
OutputMatrices output_matrices(const Operands& in, const Operands& out) {
  if (out.empty() || out[0].type.shape().rank() < 2) return {};
  const Shape& shape = out[0].type.shape();
  const int64_t rows = shape[-2];
  const int64_t count = out[0].type.numel() / std::max<int64_t>(1, rows * shape[-1]);
  for (const auto& operand : in) {
    if (count > 1 && operand.type.shape().rank() == 2) return {1, count * rows, shape[-1]};
  }
  return {count, rows, shape[-1]};
}

// Bytes of matrices whose rows do not begin at multiples of 16 bytes, such as logits of a vocabulary of 50,257. Library
// products of such matrices are slow, because tensor cores load 16 bytes at a time (NVIDIA, Matrix Multiplication
// Background User's Guide).
template <class Operands>
double unaligned_bytes(const Operands& in, const Operands& out) {
  constexpr int64_t kAlignment = 16;
  double bytes = 0;
  for (const Operands* operands : {&in, &out}) {
    for (const auto& operand : *operands) {
      if (operand.type.shape().rank() < 2) continue;
      const auto& strides = operand.type.layout.strides;
      const int64_t size = size_of(operand.type.dtype);
      if (std::max(strides[-1], strides[-2]) * size % kAlignment != 0)
        bytes += static_cast<double>(operand.type.numel() * size);
    }
  }
  return bytes;
}

// How far known times of a program on one device deviate from predictions; `figures` is 0 if no time is known.
const KnownRuns& known_runs(const DataSheet& machine, Program program, Mode mode);

// True if one optimizer launch of the program updates many tensors, as foreach and fused optimizers do. laptime never
// groups updates.
inline bool groups_updates(Program program, Optimizer optimizer) {
  return program != Program::kLaptime && optimizer == Optimizer::kTorch;
}

// The work of a launch: everything about it that affects its predicted time.
struct LaunchWork {
  enum class Kind : uint8_t { kProduct, kAttention, kOther } kind = Kind::kOther;
  OutputMatrices written{};
  double flops = 0;
  double bytes = 0;
  double unaligned = 0;  // bytes of matrices with unaligned rows, included in `bytes`
  double speedup = 1;    // FLOP/s of a product in a narrower type, as a multiple of the FLOP/s in the type of the step
};
template <class Operands>
LaunchWork work_of(const OpCard& op, const Operands& in, const Operands& out, double flops, double bytes) {
  LaunchWork work{.written = output_matrices(in, out), .flops = flops, .bytes = bytes};
  if (op.kind == OpKind::kContraction) {
    work.kind = LaunchWork::Kind::kProduct;
    work.unaligned = unaligned_bytes(in, out);
  }
  if (op.work_class == WorkClass::kAttention) work.kind = LaunchWork::Kind::kAttention;
  return work;
}

// If the machine file has no reached rates (fractions of the peaks that programs reach), a launch takes
// max(FLOPs / peak, bytes / bandwidth) + launch cost, which is a bound (Williams, Waterman and Patterson 2009). With
// reached rates:
// - a product runs in waves of tiles, one tile on each processor, at a fraction of the peak; each wave adds a latency;
//   if tensor cores compute the product, laptime copies matrices with unaligned rows to and from aligned ones;
// - fused attention runs at its own fraction of the peak; FlashAttention and cuDNN have such kernels for 16-bit types
//   only, so for 32-bit values laptime stores the scores and computes the masked ones too;
// - bytes move at a fraction of the bandwidth, and faster if they fit in the cache;
// - the host launches kernels while the device runs earlier ones, so a step takes about the longer of the two times.
// The reached rates are those of PyTorch and Megatron; laptime's kernels have rates of their own.
class LaunchTimes {
 public:
  // `product_peak` is the FLOP/s of contractions and attention in their type. If the machine has reached rates, this is
  // the figure of the data sheet, because the rates are shares of that figure; otherwise it is the measured figure or,
  // if there is none, that of the data sheet. All other ops run at the float32 peak. `is_tf32` states whether
  // products run in tf32, because on some machines the tf32 peak equals the float32 peak.
  LaunchTimes(DataSheet machine, double product_peak, Program program = Program::kLaptime, Mode mode = Mode::kEager,
              bool is_causal = true, bool is_tf32 = false, bool groups_updates = false);

  // Seconds that a launch takes on the device, and on the host.
  double kernel(const LaunchWork& work) const;
  double host(Phase phase) const;
  // Total seconds of launches whose kernels take `kernels` seconds and whose host work takes `hosts` seconds.
  double together(double kernels, double hosts) const;
  Program program() const { return program_; }
  bool is_bound() const { return !machine_.has_reached_rates(); }
  // How far known times deviate from predictions; none if the prediction is a bound, or if no time is known.
  std::optional<KnownRuns> known_runs() const;

 private:
  double memory(double bytes) const;
  bool is_float32() const;       // contractions run in float32; valid only if the machine has reached rates
  double reached_share() const;  // fraction of the peak that products reach, with or without tensor cores
  double reached_bandwidth() const;
  double computed(const LaunchWork& work) const;
  double product(const LaunchWork& work) const;
  double padding(const LaunchWork& work) const;
  double attention(const LaunchWork& work) const;

  DataSheet machine_;
  double product_peak_;
  Program program_;
  Mode mode_;
  bool is_causal_;
  bool is_tf32_;
  bool groups_updates_;
};

}  // namespace laptime
