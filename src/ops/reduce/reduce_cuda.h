// CUDA kernels of sum, mean and max. The terms of a sum are divided into parts, which depend only on the shape, and are
// added in float64; ReduceOutputPacks first adds 16-bit terms in fours in float32.
#pragma once

#include "backend/cuda/block_sums.h"
#include "backend/cuda/part_sums.h"
#include "backend/cuda/row_sums.h"

namespace laptime::cuda {

// x with its axes divided into kept and reduced ones: element (output, term) is at kept(output) + reduced(term).
struct ReduceArgs {
  DeviceData x;
  Walk<1> kept, reduced;
  int64_t outputs = 0, terms = 0;
  int64_t parts = 1, terms_per_part = 0;
  double scale = 1;
  DeviceData y;                // [outputs]; put() writes it if there is one part, otherwise ReduceParts does
  double* partials = nullptr;  // [parts, outputs]; written if there are several parts

  LAPTIME_DEVICE double term(const Thread& thread, int64_t base, int64_t index) const {
    return load<double>(thread, x, base + reduced.at(index).of[0]);
  }
  // For the pack kernels, whose outputs and terms have constant strides.
  LAPTIME_DEVICE int64_t output_distance() const { return kept.stride[0][0]; }
  LAPTIME_DEVICE int64_t term_distance() const { return reduced.stride[0][0]; }
  LAPTIME_DEVICE int64_t begin(int64_t part) const { return part * terms_per_part; }
  LAPTIME_DEVICE int64_t end(int64_t part) const {
    return begin(part) + terms_per_part < terms ? begin(part) + terms_per_part : terms;
  }
  LAPTIME_DEVICE void put(const Thread& thread, int64_t part, int64_t output, double sum) const {
    if (parts == 1) {
      store(thread, y, output, scale * sum);
    } else {
      thread.store(partials + part * outputs + output, sum);
    }
  }
};

// One block per output and part, for terms that are adjacent in memory.
struct ReduceTerms {
  using Args = ReduceArgs;
  struct Shared {
    WarpParts<double> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t part = thread.block() % args.parts;
    const int64_t output = thread.block() / args.parts;
    const int64_t base = args.kept.at(output).of[0];
    double sum = 0;
    for (int64_t i = args.begin(part) + thread.index(); i < args.end(part); i += thread.threads())
      sum += args.term(thread, base, i);
    sum = block_sum(thread, shared.parts, sum);
    if (thread.index() == 0) args.put(thread, part, output, sum);
  }
};
LAPTIME_CUDA_KERNEL(ReduceTerms, reduce_terms)

// One thread per output and part, for outputs that are adjacent in memory.
struct ReduceOutputs {
  using Args = ReduceArgs;
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const int64_t part = thread.block() % args.parts;
    const int64_t output = thread.block() / args.parts * thread.threads() + thread.index();
    if (output >= args.outputs) return;
    const int64_t base = args.kept.at(output).of[0];
    double sum = 0;
    for (int64_t i = args.begin(part); i < args.end(part); ++i) sum += args.term(thread, base, i);
    args.put(thread, part, output, sum);
  }
};
LAPTIME_CUDA_KERNEL(ReduceOutputs, reduce_outputs)

// One block per output and part, for terms that are loaded in packs.
struct ReduceTermPacks {
  static constexpr int kTogether = 4;
  static constexpr int threads_for(int64_t terms) {
    constexpr int64_t kMostWarps = 8;
    constexpr int64_t kTermsOfWarp = int64_t{kTogether} * kEight * kWarp;
    const int64_t warps = (terms + kTermsOfWarp - 1) / kTermsOfWarp;
    return static_cast<int>(warps < kMostWarps ? warps : kMostWarps) * kWarp;
  }
  using Args = ReduceArgs;
  struct Shared {
    WarpParts<double> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t part = thread.block() % args.parts;
    const int64_t output = thread.block() / args.parts;
    const int64_t base = output * args.output_distance();
    const int64_t end = args.end(part);
    const int64_t step = int64_t{kEight} * thread.threads();
    double sum = 0;
    for (int64_t first = args.begin(part) + int64_t{kEight} * thread.index(); first < end; first += kTogether * step) {
      RawEight raw[kTogether];
      LAPTIME_UNROLL
      for (int k = 0; k < kTogether; ++k) {
        if (first + k * step < end) raw[k] = load_eight(thread, args.x, base + first + k * step);
      }
      LAPTIME_UNROLL
      for (int k = 0; k < kTogether; ++k) {
        float terms[kEight];
        values_of(raw[k], args.x.dtype, terms);
        // Two independent sums, because an addition must wait for the previous one of the same sum.
        double even = 0;
        double odd = 0;
        LAPTIME_UNROLL
        for (int i = 0; i < kEight; i += 2) {
          even += static_cast<double>(terms[i]);
          odd += static_cast<double>(terms[i + 1]);
        }
        sum += even + odd;
      }
    }
    sum = block_sum(thread, shared.parts, sum);
    if (thread.index() == 0) args.put(thread, part, output, sum);
  }
};
LAPTIME_CUDA_KERNEL(ReduceTermPacks, reduce_term_packs)

// One block per part and tile of outputs, for outputs that are loaded in packs. The threads of a block form kLanes
// lanes, which add different terms; then the sums of the lanes are added in order.
struct ReduceOutputPacks {
  static constexpr int kPacks = 16;  // packs in a tile
  static constexpr int kLanes = 16;
  static constexpr int kThreads = kPacks * kLanes;
  static constexpr int kOutputs = kPacks * kEight;  // outputs in a tile
  static constexpr int kTogether = 4;  // terms that a thread loads before it adds them; half as many for float32
  using Args = ReduceArgs;
  struct Shared {
    SharedArray<double, kOutputs * kLanes> sums;  // [lane][output of a pack][pack]
  };

  // The terms of a thread: every kLanes-th of the next `count` terms; the first one is at `position` in x.
  struct Terms {
    int64_t position, distance;
    int count;
  };

  // Terms of 16 bits are first added in fours in float32, because a conversion to float64 takes as long as several
  // additions. Their significands have at most 11 bits, so a sum of four terms of similar size is exact.
  LAPTIME_DEVICE static void add_narrow(const Thread& thread, const DeviceData& x, const Terms& terms,
                                        double (&sums)[kEight]) {
    int64_t position = terms.position;
    for (int first = 0; first < terms.count; first += kTogether * kLanes, position += kTogether * terms.distance) {
      Words raw[kTogether];
      LAPTIME_UNROLL
      for (int k = 0; k < kTogether; ++k) {
        raw[k] = first + k * kLanes < terms.count
                     ? load_group<kEight>(thread, x, DType::kBFloat16, position + k * terms.distance)
                     : Words{};
      }
      float four[kEight] = {};
      LAPTIME_UNROLL
      for (int k = 0; k < kTogether; ++k) {
        float values[kEight];
        values_of(raw[k], x.dtype, values);
        LAPTIME_UNROLL
        for (int i = 0; i < kEight; ++i) four[i] = k == 0 ? values[i] : four[i] + values[i];
      }
      LAPTIME_UNROLL
      for (int i = 0; i < kEight; ++i) sums[i] += static_cast<double>(four[i]);
    }
  }
  LAPTIME_DEVICE static void add_wide(const Thread& thread, const DeviceData& x, const Terms& terms,
                                      double (&sums)[kEight]) {
    constexpr int kFew = kTogether / 2;
    int64_t position = terms.position;
    for (int first = 0; first < terms.count; first += kFew * kLanes, position += kFew * terms.distance) {
      RawEight raw[kFew];
      LAPTIME_UNROLL
      for (int k = 0; k < kFew; ++k) {
        if (first + k * kLanes < terms.count)
          raw[k] = load_eight(thread, x, DType::kFloat32, position + k * terms.distance);
      }
      LAPTIME_UNROLL
      for (int k = 0; k < kFew; ++k) {
        float values[kEight];
        values_of(raw[k], DType::kFloat32, values);
        LAPTIME_UNROLL
        for (int i = 0; i < kEight; ++i) sums[i] += static_cast<double>(values[i]);
      }
    }
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t part = thread.block() % args.parts;
    const int64_t tile = thread.block() / args.parts * kOutputs;
    const int pack = thread.index() % kPacks;
    const int lane = thread.index() / kPacks;
    const int64_t output = tile + int64_t{pack} * kEight;
    double sums[kEight] = {};
    if (output < args.outputs) {
      const int64_t begin = args.begin(part) + lane;
      const Terms terms{begin * args.term_distance() + output, kLanes * args.term_distance(),
                        static_cast<int>(args.end(part) - begin)};
      args.x.dtype == DType::kFloat32 ? add_wide(thread, args.x, terms, sums) : add_narrow(thread, args.x, terms, sums);
    }
    LAPTIME_UNROLL
    for (int i = 0; i < kEight; ++i) thread.store(shared.sums, (lane * kEight + i) * kPacks + pack, sums[i]);
    thread.synchronize();
    if (thread.index() >= kOutputs) return;
    const int64_t own = tile + int64_t{pack} * kEight + lane;
    if (own >= args.outputs) return;
    double sum = 0;
    LAPTIME_UNROLL
    for (int other = 0; other < kLanes; ++other)
      sum += thread.load(shared.sums, other * kOutputs + lane * kPacks + pack);
    args.put(thread, part, own, sum);
  }
};
LAPTIME_CUDA_KERNEL(ReduceOutputPacks, reduce_output_packs)

// Adds the parts of each output.
struct ReduceParts {
  using Args = ReduceArgs;
  using Shared = PartSums;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t output = thread.block() * PartSums::kColumns + thread.index() % PartSums::kColumns;
    const double sum = shared.sum(thread, args.partials, args.parts, args.outputs, output);
    if (thread.index() < PartSums::kColumns && output < args.outputs) store(thread, args.y, output, args.scale * sum);
  }
};
LAPTIME_CUDA_KERNEL(ReduceParts, reduce_parts)

// Finds the maximum of each row and its first index; a NaN counts as the maximum.
struct MaxOfRows {
  struct Args {
    DeviceRows x;
    int64_t columns = 0;
    bool in_fours = false;  // result of has_rows_in_fours()
    DeviceData values;      // [rows]
    DeviceData indices;     // [rows]; may be absent
  };
  // A value and its column; the column is kNone if the thread has no columns.
  struct Best {
    float value;
    int column;
  };
  static constexpr int kNone = 0x7FFFFFFF;
  struct Shared {
    WarpParts<Best> parts;
  };

  LAPTIME_DEVICE static bool beats(const Best& a, const Best& b) {
    if (a.column == kNone || b.column == kNone) return b.column == kNone;
    const bool a_nan = a.value != a.value;
    const bool b_nan = b.value != b.value;
    if (a_nan || b_nan) return a_nan && (!b_nan || a.column < b.column);
    return a.value > b.value || (a.value == b.value && a.column < b.column);
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t row = args.x.row(thread.block());
    Best best{0, kNone};
    for_columns(thread, args.columns, args.in_fours, [&](int64_t column, int count) {
      float values[kFour];
      load_columns(thread, args.x, row, args.x.column_stride, column, count, values);
      for (int i = 0; i < count; ++i) {
        const Best next{values[i], static_cast<int>(column) + i};
        if (beats(next, best)) best = next;
      }
    });
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      const Best other{thread.exchange(best.value, mask), thread.exchange(best.column, mask)};
      if (beats(other, best)) best = other;
    }
    if (thread.index() % kWarp == 0) thread.store(shared.parts, thread.index() / kWarp, best);
    thread.synchronize();
    if (thread.index() != 0) return;
    for (int warp = 1; warp < thread.threads() / kWarp; ++warp) {
      const Best other = thread.load(shared.parts, warp);
      if (beats(other, best)) best = other;
    }
    store(thread, args.values, thread.block(), best.value);
    if (args.indices.data != nullptr) store(thread, args.indices, thread.block(), best.column);
  }
};
LAPTIME_CUDA_KERNEL(MaxOfRows, max_of_rows)

}  // namespace laptime::cuda
