// CUDA kernels of rotary position embedding.
#pragma once

#include <cmath>

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// cos and sin of the angles t theta^(-2i / d_head). Frequencies and angles are rounded to float32, as torch rounds
// them.
struct RopeAngles {
  static constexpr const char* kName = "rope_angles";
  struct Args {
    DeviceData cos, sin;  // [positions, half]
    int64_t half, count;
    double theta;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const int64_t at = thread.block() * thread.threads() + thread.index();
    if (at >= args.count) return;
    const int64_t position = at / args.half;
    const int64_t pair = at - position * args.half;
    const float exponent = -(static_cast<float>(2 * pair) / static_cast<float>(2 * args.half));
    const auto frequency = static_cast<float>(pow(args.theta, static_cast<double>(exponent)));
    const auto angle = static_cast<double>(static_cast<float>(position) * frequency);
    store(thread, args.cos, at, std::cos(angle));
    store(thread, args.sin, at, std::sin(angle));
  }
};

// Rotates each pair. A block works on one row of d_head elements and reads them all before it writes, so that y may
// overwrite x.
struct RopeRotate {
  static constexpr const char* kName = "rope_rotate";
  struct Args {
    DeviceRows x, y;
    DeviceRows cos, sin;  // [positions, half]
    int64_t half, positions;
    bool inverse, halves;
  };
  static constexpr int kMaxHalf = 2048;  // pairs of a row
  struct Shared {
    SharedArray<float, 2 * kMaxHalf> row;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t x_row = args.x.row(thread.block());
    const int64_t y_row = args.y.row(thread.block());
    const int half = static_cast<int>(args.half);
    for (int i = thread.index(); i < 2 * half; i += thread.threads())
      thread.store(shared.row, i, load(thread, args.x, x_row + i * args.x.column_stride));
    thread.synchronize();
    const int64_t position = thread.block() % args.positions;
    const bool from_halves = args.halves && args.inverse;
    const bool to_halves = args.halves && !args.inverse;
    for (int i = thread.index(); i < half; i += thread.threads()) {
      const float cos = load(thread, args.cos, args.cos.row(position) + i * args.cos.column_stride);
      float sin = load(thread, args.sin, args.sin.row(position) + i * args.sin.column_stride);
      if (args.inverse) sin = -sin;
      const float x1 = thread.load(shared.row, from_halves ? i : 2 * i);
      const float x2 = thread.load(shared.row, from_halves ? half + i : 2 * i + 1);
      store(thread, args.y, y_row + (to_halves ? i : 2 * i) * args.y.column_stride, cos * x1 - sin * x2);
      store(thread, args.y, y_row + (to_halves ? half + i : 2 * i + 1) * args.y.column_stride, sin * x1 + cos * x2);
    }
  }
};

}  // namespace laptime::cuda
