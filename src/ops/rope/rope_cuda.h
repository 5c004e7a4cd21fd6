// CUDA kernels of rotary position embedding.
#pragma once

#include <cmath>

#include "backend/cuda/words.h"
#include "ops/rope/rotation.h"

namespace laptime::cuda {

// Computes cos and sin of the angles t f_i of rope.h, where n = 2 half. A repeated table contains each value twice. As
// in torch, frequencies and angles are rounded to float32.
struct RopeAngles {
  struct Args {
    DeviceData cos, sin;  // [positions, columns]
    int64_t half, columns, count;
    double theta;
    RopeScaling scaling;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_indices(thread, args.count, [&](int64_t at) {
      const int64_t position = at / args.columns;
      const int64_t column = at - position * args.columns;
      const int64_t pair = column < args.half ? column : column - args.half;
      const float exponent = -(static_cast<float>(2 * pair) / static_cast<float>(2 * args.half));
      const float frequency =
          scaled_frequency(args.scaling, static_cast<float>(pow(args.theta, static_cast<double>(exponent))));
      const auto angle = static_cast<double>(static_cast<float>(position) * frequency);
      store(thread, args.cos, at, std::cos(angle));
      store(thread, args.sin, at, std::sin(angle));
    });
  }
};
LAPTIME_CUDA_KERNEL(RopeAngles, rope_angles)

// The positions of a pair in a row of x (from) and in a row of y (to).
struct RopePair {
  int64_t from1, from2, to1, to2;

  LAPTIME_DEVICE RopePair(int64_t pair, int64_t half, const RopePlaces& places) {
    from1 = places.from_halves ? pair : 2 * pair;
    from2 = places.from_halves ? half + pair : 2 * pair + 1;
    to1 = places.to_halves ? pair : 2 * pair;
    to2 = places.to_halves ? half + pair : 2 * pair + 1;
  }
};

// A line is the rows along the innermost axis in the memory order of y, such as the heads of a position. A group is
// `together` adjacent rows of a line, or fewer at its end.
struct RopeEightsArgs {
  enum Operand : uint8_t { kY, kX, kCos, kSin };
  DeviceData operand[4];
  Walk<4> lines;
  int64_t row_stride[4];  // distance between the rows of a line
  int64_t rows_of_line, groups_of_line, groups;
  int together, groups_per_block;
  int half, rest;
  RopePlaces places;
  float sign;  // factor of sin: -1 rotates back
};

// Rotates rows that begin at multiples of 16 bytes and have a multiple of eight pairs. A thread rotates eight pairs in
// each row of a group. The rows of a group must have the same angles, so that a thread computes positions and loads
// angles once. A block processes whole rows. If pairs move within a row, all rows of a block are read before any is
// written, so that y may overwrite x. kNarrow: x and y have 16-bit types.
template <bool kNarrow>
struct RopeEights {
  static constexpr int kTogether = kNarrow ? 4 : 2;  // maximum number of rows in a group
  using Args = RopeEightsArgs;
  using Shared = NothingShared;

  // The eight pairs that a thread rotates: four from each of two positions in a row. If the elements of pairs are
  // adjacent in x and in y, the positions are half a row apart, so that each access of a warp is contiguous.
  struct Pairs {
    int first, last;

    LAPTIME_DEVICE Pairs(int thread_of_row, const Args& args) {
      const bool are_apart = !args.places.from_halves && !args.places.to_halves;
      first = thread_of_row * (are_apart ? kFour : kEight);
      last = first + (are_apart ? args.half / 2 : kFour);
    }
    // Where the first eight elements begin in a row whose pairs are (i, half + i) if `in_halves`, else (2i, 2i + 1).
    LAPTIME_DEVICE int begin(bool in_halves) const { return in_halves ? first : 2 * first; }
    // Where the other eight elements begin.
    LAPTIME_DEVICE int second(bool in_halves, int half) const { return in_halves ? half + first : 2 * last; }
  };

  LAPTIME_DEVICE static RawEight load(const Thread& thread, const Args& args, int64_t position) {
    const DeviceData& x = args.operand[Args::kX];
    if (kNarrow) return {load_group<kEight>(thread, x, x.dtype, position), {}};
    return load_eight(thread, x, x.dtype, position);
  }
  LAPTIME_DEVICE static void values(const Args& args, const RawEight& raw, float (&out)[kEight]) {
    const DType dtype = args.operand[Args::kX].dtype;
    kNarrow ? values_of(raw.first, dtype, out) : values_of(raw, dtype, out);
  }
  LAPTIME_DEVICE static void store(const Thread& thread, const Args& args, int64_t position,
                                   const float (&values)[kEight]) {
    const DeviceData& y = args.operand[Args::kY];
    kNarrow ? store_group(thread, y, y.dtype, position, values) : store_eight(thread, y, y.dtype, position, values);
  }
  LAPTIME_DEVICE static RawEight load_angles(const Thread& thread, const DeviceData& table, int64_t position,
                                             const Pairs& pairs) {
    return {load_group<kFour>(thread, table, table.dtype, position + pairs.first),
            load_group<kFour>(thread, table, table.dtype, position + pairs.last)};
  }

  // Separates two groups of four adjacent pairs into the first (a) and the second (b) elements of the pairs; join()
  // does the inverse.
  LAPTIME_DEVICE static void part(float (&a)[kEight], float (&b)[kEight]) {
    float first[kEight];
    float second[kEight];
    LAPTIME_UNROLL
    for (int i = 0; i < kEight; ++i) {
      first[i] = i < kEight / 2 ? a[2 * i % kEight] : b[2 * i % kEight];
      second[i] = i < kEight / 2 ? a[2 * i % kEight + 1] : b[2 * i % kEight + 1];
    }
    LAPTIME_UNROLL
    for (int i = 0; i < kEight; ++i) {
      a[i] = first[i];
      b[i] = second[i];
    }
  }
  LAPTIME_DEVICE static void join(float (&a)[kEight], float (&b)[kEight]) {
    float first[kEight];
    float second[kEight];
    LAPTIME_UNROLL
    for (int i = 0; i < kEight; ++i) {
      first[i] = i % 2 == 0 ? a[i / 2] : b[i / 2];
      second[i] = i % 2 == 0 ? a[(kEight + i) / 2] : b[(kEight + i) / 2];
    }
    LAPTIME_UNROLL
    for (int i = 0; i < kEight; ++i) {
      a[i] = first[i];
      b[i] = second[i];
    }
  }

  // Rotates pairs with the first elements x1 and the second elements x2. `sin` has the sign of the rotation.
  LAPTIME_DEVICE static void rotate(const Args& args, const float (&cos)[kEight], const float (&sin)[kEight],
                                    float (&x1)[kEight], float (&x2)[kEight]) {
    if (!args.places.from_halves) part(x1, x2);
    LAPTIME_UNROLL
    for (int i = 0; i < kEight; ++i) {
      const float y1 = cos[i] * x1[i] - sin[i] * x2[i];
      x2[i] = sin[i] * x1[i] + cos[i] * x2[i];
      x1[i] = y1;
    }
    if (!args.places.to_halves) join(x1, x2);
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const int threads_per_row = args.half / kEight;
    const int group_of_block = thread.index() / threads_per_row;
    const int thread_of_row = thread.index() - group_of_block * threads_per_row;
    const int64_t group = thread.block() * args.groups_per_block + group_of_block;
    const bool has_pairs = group_of_block < args.groups_per_block && group < args.groups;
    const Pairs pairs(thread_of_row, args);
    typename Walk<4>::Positions at{};
    int rows = 0;
    RawEight x[kTogether][2];
    RawEight angles[2];
    if (has_pairs) {
      const int64_t line = quotient(group, args.groups_of_line);
      const int64_t first_row = (group - line * args.groups_of_line) * args.together;
      const int64_t rest = args.rows_of_line - first_row;
      rows = rest < args.together ? static_cast<int>(rest) : args.together;
      at = args.lines.at(line);
      LAPTIME_UNROLL
      for (int k = 0; k < 4; ++k) at.of[k] += first_row * args.row_stride[k];
      LAPTIME_UNROLL
      for (int r = 0; r < kTogether; ++r) {
        if (r >= rows) continue;
        const int64_t row = at.of[Args::kX] + r * args.row_stride[Args::kX];
        x[r][0] = load(thread, args, row + pairs.begin(args.places.from_halves));
        x[r][1] = load(thread, args, row + pairs.second(args.places.from_halves, args.half));
      }
      angles[0] = load_angles(thread, args.operand[Args::kCos], at.of[Args::kCos], pairs);
      angles[1] = load_angles(thread, args.operand[Args::kSin], at.of[Args::kSin], pairs);
    }
    if (args.places.from_halves != args.places.to_halves) thread.synchronize();
    if (!has_pairs) return;
    float cos[kEight];
    float sin[kEight];
    values_of_fours(angles[0], args.operand[Args::kCos].dtype, cos);
    values_of_fours(angles[1], args.operand[Args::kSin].dtype, sin);
    LAPTIME_UNROLL
    for (float& value : sin) value *= args.sign;
    LAPTIME_UNROLL
    for (int r = 0; r < kTogether; ++r) {
      if (r >= rows) return;
      const int64_t from = at.of[Args::kX] + r * args.row_stride[Args::kX];
      const int64_t to = at.of[Args::kY] + r * args.row_stride[Args::kY];
      float x1[kEight];
      float x2[kEight];
      values(args, x[r][0], x1);
      values(args, x[r][1], x2);
      rotate(args, cos, sin, x1, x2);
      store(thread, args, to + pairs.begin(args.places.to_halves), x1);
      store(thread, args, to + pairs.second(args.places.to_halves, args.half), x2);
      for (int i = 2 * args.half + thread_of_row * kEight; i < 2 * args.half + args.rest; i += args.half) {
        values(args, load(thread, args, from + i), x1);
        store(thread, args, to + i, x1);
      }
    }
  }
};
using RopeNarrowEights = RopeEights<true>;
LAPTIME_CUDA_KERNEL(RopeNarrowEights, rope_narrow_eights)
using RopeWideEights = RopeEights<false>;
LAPTIME_CUDA_KERNEL(RopeWideEights, rope_wide_eights)

// Rotates pairs, one per thread. A block processes as many whole rows as it has threads for. It reads all pairs before
// it writes any, so that y may overwrite x.
struct RopePairs {
  struct Args {
    DeviceRows x, y;
    DeviceRows cos, sin;  // [positions, half], or more columns
    int64_t rows, half, rest, positions;
    int rows_per_block;
    RopePlaces places;
    float sign;  // factor of sin: -1 rotates back
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const auto half = static_cast<int>(args.half);
    const int row_of_block = thread.index() / half;
    const int pair = thread.index() - row_of_block * half;
    const int64_t row = thread.block() * args.rows_per_block + row_of_block;
    const bool has_pair = row_of_block < args.rows_per_block && row < args.rows;
    const RopePair places(pair, half, args.places);
    float x[2] = {};
    if (has_pair) {
      const int64_t begin = args.x.row(row);
      load_many<2>(thread, args.x,
                   {begin + places.from1 * args.x.column_stride, begin + places.from2 * args.x.column_stride}, x);
    }
    thread.synchronize();
    if (!has_pair) return;
    const int64_t position = row - quotient(row, args.positions) * args.positions;
    const float cos = load(thread, args.cos, args.cos.row(position) + pair * args.cos.column_stride);
    const float sin = args.sign * load(thread, args.sin, args.sin.row(position) + pair * args.sin.column_stride);
    const int64_t begin = args.y.row(row);
    for (int64_t i = 2 * args.half + pair; i < 2 * args.half + args.rest; i += args.half)
      store(thread, args.y, begin + i * args.y.column_stride,
            load(thread, args.x, args.x.row(row) + i * args.x.column_stride));
    store(thread, args.y, begin + places.to1 * args.y.column_stride, cos * x[0] - sin * x[1]);
    store(thread, args.y, begin + places.to2 * args.y.column_stride, sin * x[0] + cos * x[1]);
  }
};
LAPTIME_CUDA_KERNEL(RopePairs, rope_pairs)

// Rotates rows with more pairs than a block has threads: each block loads one row into shared memory and rotates it.
struct RopeRotate {
  struct Args {
    DeviceRows x, y;
    DeviceRows cos, sin;  // [positions, half], or more columns
    int64_t half, rest, positions;
    RopePlaces places;
    float sign;
  };
  static constexpr int kMaxHalf = 2048;  // maximum number of pairs in a row
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
    for (int i = thread.index(); i < half; i += thread.threads()) {
      const float cos = load(thread, args.cos, args.cos.row(position) + i * args.cos.column_stride);
      const float sin = args.sign * load(thread, args.sin, args.sin.row(position) + i * args.sin.column_stride);
      const RopePair places(i, half, args.places);
      const float x1 = thread.load(shared.row, static_cast<int>(places.from1));
      const float x2 = thread.load(shared.row, static_cast<int>(places.from2));
      store(thread, args.y, y_row + places.to1 * args.y.column_stride, cos * x1 - sin * x2);
      store(thread, args.y, y_row + places.to2 * args.y.column_stride, sin * x1 + cos * x2);
    }
    for (int64_t i = 2 * args.half + thread.index(); i < 2 * args.half + args.rest; i += thread.threads())
      store(thread, args.y, y_row + i * args.y.column_stride, load(thread, args.x, x_row + i * args.x.column_stride));
  }
};
LAPTIME_CUDA_KERNEL(RopeRotate, rope_rotate)

}  // namespace laptime::cuda
