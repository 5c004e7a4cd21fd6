// CUDA kernels of the embedding. Backward adds rows in order, without atomics.
#pragma once

#include "backend/cuda/words.h"

namespace laptime::cuda {

// y[position, column] = weight[ids[position], column]
struct EmbeddingForward {
  struct Args {
    DeviceRows weight;
    DeviceRows ids;  // one id per row
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
LAPTIME_CUDA_KERNEL(EmbeddingForward, embedding_forward)

// EmbeddingForward for rows that begin at multiples of 16 bytes. A thread copies eight columns at a time.
struct EmbeddingEights {
  struct Args {
    DeviceRows weight;
    DeviceRows ids;  // one id per row
    DeviceData y;
    int64_t groups_of_row, groups;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_indices(thread, args.groups, [&](int64_t index) {
      const int64_t position = quotient(index, args.groups_of_row);
      const int64_t column = (index - position * args.groups_of_row) * kEight;
      const auto id = load<int64_t>(thread, args.ids, args.ids.row(position));
      float values[kEight];
      values_of(load_eight(thread, args.weight, args.weight.row(id) + column), args.weight.dtype, values);
      store_eight(thread, args.y, index * kEight, values);
    });
  }
};
LAPTIME_CUDA_KERNEL(EmbeddingEights, embedding_eights)

// Positions are sorted by id, and positions with equal ids by position. A key has the id in its upper half and the
// position in its lower half.
LAPTIME_DEVICE int64_t id_of(int64_t key) { return key >> 32; }
LAPTIME_DEVICE int64_t position_of(int64_t key) { return key & 0xFFFFFFFF; }

// One block sorts the keys of a chunk of positions in shared memory (bitonic sort).
struct EmbeddingSort {
  static constexpr int kChunk = 2048;
  struct Args {
    DeviceRows ids;  // one id per row
    int64_t positions;
    int64_t* keys;  // [positions]
  };
  struct Shared {
    SharedArray<int64_t, kChunk> keys;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t begin = thread.block() * kChunk;
    const int count = args.positions - begin < kChunk ? static_cast<int>(args.positions - begin) : kChunk;
    int size = 1;
    while (size < count) size *= 2;
    for (int i = thread.index(); i < size; i += thread.threads()) {
      const int64_t position = begin + i;
      const int64_t key =
          i < count ? load<int64_t>(thread, args.ids, args.ids.row(position)) << 32 | position : INT64_MAX;
      thread.store(shared.keys, i, key);
    }
    thread.synchronize();
    for (int run = 2; run <= size; run *= 2) {
      for (int distance = run / 2; distance > 0; distance /= 2) {
        for (int pair = thread.index(); pair < size / 2; pair += thread.threads()) {
          const int low = 2 * pair - (pair & (distance - 1));
          const int64_t a = thread.load(shared.keys, low);
          const int64_t b = thread.load(shared.keys, low + distance);
          if ((a > b) != ((low & run) == 0)) continue;
          thread.store(shared.keys, low, b);
          thread.store(shared.keys, low + distance, a);
        }
        thread.synchronize();
      }
    }
    for (int i = thread.index(); i < count; i += thread.threads())
      thread.store(args.keys + begin + i, thread.load(shared.keys, i));
  }
};
LAPTIME_CUDA_KERNEL(EmbeddingSort, embedding_sort)

// One thread per key. A key's place in the sorted order is the number of smaller keys, summed over all chunks.
struct EmbeddingMerge {
  static constexpr int kSearches = 4;  // chunks that a thread searches at the same time
  struct Args {
    const int64_t* keys;  // [positions], written by EmbeddingSort
    int64_t* sorted;      // [positions]
    int64_t positions;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_indices(thread, args.positions, [&](int64_t at) {
      const int64_t key = thread.load(args.keys + at);
      int64_t place = 0;
      for (int64_t begin = 0; begin < args.positions; begin += int64_t{kSearches} * EmbeddingSort::kChunk) {
        int64_t smaller[kSearches] = {};
        for (int step = EmbeddingSort::kChunk; step > 0; step /= 2) {
          LAPTIME_UNROLL
          for (int k = 0; k < kSearches; ++k) {
            const int64_t chunk = begin + int64_t{k} * EmbeddingSort::kChunk;
            const int64_t probe = chunk + smaller[k] + step - 1;
            if (smaller[k] + step <= EmbeddingSort::kChunk && probe < args.positions &&
                thread.load(args.keys + probe) < key)
              smaller[k] += step;
          }
        }
        for (const int64_t count : smaller) place += count;
      }
      thread.store(args.sorted + place, key);
    });
  }
};
LAPTIME_CUDA_KERNEL(EmbeddingMerge, embedding_merge)

// One block per sorted key. The block of the first key with an id writes the gradient of that id's row: the sum over
// all positions with this id, in order, added to the existing row if `adds`. Other rows keep their values.
struct EmbeddingBackward {
  static constexpr int kRows = 4;  // rows that a thread loads before it adds them
  struct Args {
    DeviceRows grad;
    DeviceData grad_weight;  // [ids, columns], float32
    int64_t columns, positions;
    int64_t pad;  // id whose row keeps its values
    bool adds, in_eights;
    const int64_t* sorted;  // [positions]
  };
  using Shared = NothingShared;

  // Calls add(rows, count) for the rows of grad with this id, up to kRows of them at a time.
  template <class Add>
  LAPTIME_DEVICE static void for_rows(const Thread& thread, const Args& args, int64_t id, const Add& add) {
    int count = kRows;
    for (int64_t first = thread.block(); count == kRows; first += kRows) {
      int64_t keys[kRows];
      LAPTIME_UNROLL
      for (int r = 0; r < kRows; ++r) keys[r] = first + r < args.positions ? thread.load(args.sorted + first + r) : -1;
      int64_t rows[kRows] = {};
      count = 0;
      LAPTIME_UNROLL
      for (int r = 0; r < kRows; ++r) {
        if (keys[r] < 0 || id_of(keys[r]) != id) continue;
        rows[r] = args.grad.row(position_of(keys[r]));
        count = r + 1;
      }
      add(rows, count);
    }
  }

  LAPTIME_DEVICE static void sum_eight(const Thread& thread, const Args& args, int64_t id, int64_t column) {
    const int64_t to = id * args.columns + column;
    float sum[kEight] = {};
    if (args.adds) values_of(load_eight(thread, args.grad_weight, DType::kFloat32, to), DType::kFloat32, sum);
    for_rows(thread, args, id, [&](const int64_t(&rows)[kRows], int count) {
      RawEight raw[kRows];
      LAPTIME_UNROLL
      for (int r = 0; r < kRows; ++r) {
        if (r < count) raw[r] = load_eight(thread, args.grad, rows[r] + column);
      }
      LAPTIME_UNROLL
      for (int r = 0; r < kRows; ++r) {
        if (r >= count) continue;
        float values[kEight];
        values_of(raw[r], args.grad.dtype, values);
        LAPTIME_UNROLL
        for (int i = 0; i < kEight; ++i) sum[i] += values[i];
      }
    });
    store_eight(thread, args.grad_weight, DType::kFloat32, to, sum);
  }

  LAPTIME_DEVICE static void sum_one(const Thread& thread, const Args& args, int64_t id, int64_t column) {
    const int64_t to = id * args.columns + column;
    float sum = args.adds ? load(thread, args.grad_weight, to) : 0.0F;
    for_rows(thread, args, id, [&](const int64_t(&rows)[kRows], int count) {
      float values[kRows];
      LAPTIME_UNROLL
      for (int r = 0; r < kRows; ++r)
        values[r] = r < count ? load(thread, args.grad, rows[r] + column * args.grad.column_stride) : 0.0F;
      LAPTIME_UNROLL
      for (int r = 0; r < kRows; ++r) {
        if (r < count) sum += values[r];
      }
    });
    store(thread, args.grad_weight, to, sum);
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const int64_t slot = thread.block();
    const int64_t id = id_of(thread.load(args.sorted + slot));
    if (id == args.pad || (slot > 0 && id_of(thread.load(args.sorted + slot - 1)) == id)) return;
    const int64_t groups = args.in_eights ? args.columns / kEight : args.columns;
    for (int64_t group = thread.index(); group < groups; group += thread.threads())
      args.in_eights ? sum_eight(thread, args, id, group * kEight) : sum_one(thread, args, id, group);
  }
};
LAPTIME_CUDA_KERNEL(EmbeddingBackward, embedding_backward)

// 0, 1, 2, ...
struct CountUp {
  using Args = Elements<1>;
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_elements(thread, args, [&](const auto& at) { store(thread, args.operand[0], at.of[0], at.of[0]); });
  }
};
LAPTIME_CUDA_KERNEL(CountUp, count_up)

}  // namespace laptime::cuda
