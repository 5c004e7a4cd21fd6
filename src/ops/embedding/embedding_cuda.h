// CUDA kernels of the embedding. Backward adds rows in order, without atomics.
#pragma once

#include "backend/cuda/block_sums.h"
#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// y[position, column] = weight[ids[position], column]
struct EmbeddingForward {
  static constexpr const char* kName = "embedding_forward";
  struct Args {
    DeviceRows weight;
    DeviceRows ids;  // a row per position
    DeviceData y;
    int64_t columns, count;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_indices(thread, args.count, [&](int64_t at) {
      const int64_t position = at / args.columns;
      const auto id = load<int64_t>(thread, args.ids, args.ids.row(position));
      const int64_t column = at - position * args.columns;
      store(thread, args.y, at, load(thread, args.weight, args.weight.row(id) + column * args.weight.column_stride));
    });
  }
};

// A block per position: finds the next position with the same id (or the number of positions if there is none), and
// whether an earlier position has the id.
struct EmbeddingNext {
  static constexpr const char* kName = "embedding_next";
  struct Args {
    DeviceRows ids;  // a row per position
    int64_t positions;
    int64_t* next;         // [positions]
    int64_t* has_earlier;  // [positions]
  };
  struct Shared {
    WarpParts<int> earlier;
    WarpParts<int64_t> next;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t own = thread.block();
    const auto id = load<int64_t>(thread, args.ids, args.ids.row(own));
    int earlier = 0;
    for (int64_t position = thread.index(); position < own; position += thread.threads())
      earlier |= load<int64_t>(thread, args.ids, args.ids.row(position)) == id ? 1 : 0;
    int64_t next = args.positions;
    for (int64_t position = own + 1 + thread.index(); position < args.positions; position += thread.threads()) {
      if (position < next && load<int64_t>(thread, args.ids, args.ids.row(position)) == id) next = position;
    }
    earlier = block_sum(thread, shared.earlier, earlier);
    next = join_block(thread, shared.next, next, [](int64_t a, int64_t b) { return a < b ? a : b; });
    if (thread.index() != 0) return;
    thread.store(args.next + own, next);
    thread.store(args.has_earlier + own, static_cast<int64_t>(earlier != 0));
  }
};

// A block per position. The block of the first position with an id writes the gradient of the id's row: the sum over
// all positions with the id, in order, added to the existing row if `adds`. Other rows keep their values.
struct EmbeddingBackward {
  static constexpr const char* kName = "embedding_backward";
  struct Args {
    DeviceRows grad;
    DeviceRows ids;          // a row per position
    DeviceData grad_weight;  // [ids, columns]
    int64_t columns, positions;
    int64_t pad;  // its row keeps its values
    bool adds;
    const int64_t* next;         // [positions], as EmbeddingNext writes it
    const int64_t* has_earlier;  // [positions], as EmbeddingNext writes it
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const int64_t first = thread.block();
    if (thread.load(args.has_earlier + first) != 0) return;
    const auto id = load<int64_t>(thread, args.ids, args.ids.row(first));
    if (id == args.pad) return;
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads()) {
      float sum = args.adds ? load(thread, args.grad_weight, id * args.columns + column) : 0.0F;
      for (int64_t position = first; position < args.positions; position = thread.load(args.next + position))
        sum += load(thread, args.grad, args.grad.row(position) + column * args.grad.column_stride);
      store(thread, args.grad_weight, id * args.columns + column, sum);
    }
  }
};

// 0, 1, 2, ...
struct CountUp {
  static constexpr const char* kName = "count_up";
  using Args = Elements<1>;
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_elements(thread, args, [&](const auto& at) { store(thread, args.operand[0], at.of[0], at.of[0]); });
  }
};

}  // namespace laptime::cuda
