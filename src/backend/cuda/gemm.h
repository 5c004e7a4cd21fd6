// A tiled matrix product in float32: C = A B + bias + addend, for batches of matrices in any layout.
#pragma once

#include <cmath>

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// C [batches, m, n] = A [batches, m, k] B [batches, k, n]. C is row-major; there may be gaps between its rows.
struct GemmArgs {
  int64_t batches = 1, m = 0, n = 0, k = 0;
  DeviceData a;
  Walk<1> a_rows;  // walk over the rows of all batches: row i of a batch has index batch * m + i
  int64_t a_column = 1;
  DeviceData b;
  int64_t b_batch = 0, b_row = 0, b_column = 0;
  DType compute = DType::kFloat32;  // factors and bias are rounded to this type first
  DeviceData bias;                  // [n], may be absent
  int64_t bias_stride = 1;
  DeviceRows addend;  // [batches * m, n], may be absent
  DeviceData c;
  int64_t c_row = 0;
};

// A block computes a tile of C, and each thread computes kPerThread x kPerThread elements of it. Products are added in
// the order of k, so the result does not depend on the tile.
struct Gemm {
  static constexpr int kTile = 64;
  static constexpr int kDepth = 16;  // columns of A and rows of B in shared memory at a time
  static constexpr int kPerThread = 4;
  static constexpr int kSide = kTile / kPerThread;  // threads along each axis of the tile
  static constexpr int kThreads = kSide * kSide;

  using Args = GemmArgs;
  struct Shared {
    SharedArray<float, kDepth*(kTile + 1)> a;  // [depth][row]; the padding avoids bank conflicts between stores
    SharedArray<float, kDepth*(kTile + 1)> b;  // [depth][column]
  };
  LAPTIME_DEVICE static int place(int depth, int index) { return depth * (kTile + 1) + index; }

  // Loads kDepth columns of A and rows of B starting at `depth`, with zeros beyond the matrices. Adjacent threads load
  // adjacent elements of whichever axis has stride 1.
  LAPTIME_DEVICE static void load_tiles(const Thread& thread, const Args& args, Shared& shared, int64_t batch,
                                        int64_t row, int64_t column, int64_t depth) {
    const bool a_rows_adjacent = args.a_column != 1;
    const bool b_rows_adjacent = args.b_column != 1;
    for (int at = thread.index(); at < kTile * kDepth; at += kThreads) {
      const int i = a_rows_adjacent ? at % kTile : at / kDepth;
      const int l = a_rows_adjacent ? at / kTile : at % kDepth;
      float value = 0;
      if (row + i < args.m && depth + l < args.k) {
        const int64_t position = args.a_rows.at(batch * args.m + row + i).of[0] + (depth + l) * args.a_column;
        value = rounded_to(args.compute, load(thread, args.a, position));
      }
      thread.store(shared.a, place(l, i), value);
    }
    for (int at = thread.index(); at < kTile * kDepth; at += kThreads) {
      const int j = b_rows_adjacent ? at / kDepth : at % kTile;
      const int l = b_rows_adjacent ? at % kDepth : at / kTile;
      float value = 0;
      if (column + j < args.n && depth + l < args.k) {
        const int64_t position = batch * args.b_batch + (depth + l) * args.b_row + (column + j) * args.b_column;
        value = rounded_to(args.compute, load(thread, args.b, position));
      }
      thread.store(shared.b, place(l, j), value);
    }
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t tiles_n = (args.n + kTile - 1) / kTile;
    const int64_t tiles_m = (args.m + kTile - 1) / kTile;
    const int64_t column = thread.block() % tiles_n * kTile;
    const int64_t row = thread.block() / tiles_n % tiles_m * kTile;
    const int64_t batch = thread.block() / tiles_n / tiles_m;
    const int own_row = thread.index() / kSide;
    const int own_column = thread.index() % kSide;
    float sums[kPerThread][kPerThread] = {};
    for (int64_t depth = 0; depth < args.k; depth += kDepth) {
      load_tiles(thread, args, shared, batch, row, column, depth);
      thread.synchronize();
      for (int l = 0; l < kDepth; ++l) {
        float a[kPerThread];
        float b[kPerThread];
        for (int i = 0; i < kPerThread; ++i) a[i] = thread.load(shared.a, place(l, own_row + i * kSide));
        for (int j = 0; j < kPerThread; ++j) b[j] = thread.load(shared.b, place(l, own_column + j * kSide));
        for (int i = 0; i < kPerThread; ++i) {
          for (int j = 0; j < kPerThread; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
        }
      }
      thread.synchronize();
    }
    LAPTIME_UNROLL
    for (int i = 0; i < kPerThread; ++i) {
      LAPTIME_UNROLL
      for (int j = 0; j < kPerThread; ++j)
        put(thread, args, batch, row + own_row + int64_t{i} * kSide, column + own_column + int64_t{j} * kSide,
            sums[i][j]);
    }
  }

  LAPTIME_DEVICE static void put(const Thread& thread, const Args& args, int64_t batch, int64_t i, int64_t j,
                                 float sum) {
    if (i >= args.m || j >= args.n) return;
    if (args.bias.data != nullptr) sum += rounded_to(args.compute, load(thread, args.bias, j * args.bias_stride));
    const int64_t row = batch * args.m + i;
    if (args.addend.data != nullptr)
      sum += load(thread, args.addend, args.addend.row(row) + j * args.addend.column_stride);
    store(thread, args.c, row * args.c_row + j, sum);
  }
};
LAPTIME_CUDA_KERNEL(Gemm, gemm)

}  // namespace laptime::cuda
