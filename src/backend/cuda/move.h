// Kernels that move elements: copies, with or without a change of type, and fills.
#pragma once

#include <type_traits>

#include "backend/cuda/map_elements.h"

namespace laptime::cuda {

// Copies elements. If the types are equal, bits are copied, so that a NaN keeps its payload. Otherwise values are
// converted.
struct CopyElements {
  using Args = Elements<2>;  // operands: to, from
  using Shared = NothingShared;

  template <class Word>
  LAPTIME_DEVICE static void copy(const Thread& thread, const Args& args, const Walk<2>::Positions& at) {
    thread.store(args.operand[0].at<Word>(at.of[0]), thread.load(args.operand[1].at<Word>(at.of[1])));
  }

  LAPTIME_DEVICE static void copy_groups(const Thread& thread, const Args& args, int64_t bytes) {
    constexpr int kGroups = groups_in_flight(2);
    const int64_t words = args.count * bytes / kWordsBytes;
    Words raw[kGroups];
    for_groups<kGroups>(
        thread, words, [&](int g, int64_t index) { raw[g] = thread.load(args.operand[1].at<Words>(index)); },
        [&](int g, int64_t index) { thread.store(args.operand[0].at<Words>(index), raw[g]); });
    const int64_t whole = words * kWordsBytes / bytes;
    for_indices(thread, args.count - whole, [&](int64_t index) {
      const int64_t at = whole + index;
      bytes == 4 ? copy<uint32_t>(thread, args, {{at, at}}) : copy<uint16_t>(thread, args, {{at, at}});
    });
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const auto& to = args.operand[0];
    const auto& from = args.operand[1];
    const bool same = to.dtype == from.dtype;
    const int64_t bytes = size_of(to.dtype);
    if (args.groups != Groups::kNone && !same)
      return map_elements<1, 1>(thread, args, [](const float(&in)[1], float(&out)[1]) { out[0] = in[0]; });
    if (args.groups != Groups::kNone) return copy_groups(thread, args, bytes);
    const bool floats = moves_fours(to.dtype) && moves_fours(from.dtype);
    for_elements(thread, args, [&](const auto& at) {
      if (!same && floats) return store(thread, to, at.of[0], load(thread, from, at.of[1]));
      if (!same) return store(thread, to, at.of[0], load<double>(thread, from, at.of[1]));
      switch (bytes) {
        case 8: return copy<uint64_t>(thread, args, at);
        case 4: return copy<uint32_t>(thread, args, at);
        case 2: return copy<uint16_t>(thread, args, at);
        default: return copy<uint8_t>(thread, args, at);
      }
    });
  }
};
LAPTIME_CUDA_KERNEL(CopyElements, copy_elements)

// Rows of floating-point elements to copy. Columns are adjacent on both sides; rows may have any layout.
struct RowCopy {
  DeviceData to, from;
  Walk<2> rows;  // operands: to, from
  int64_t columns = 0;
};

// Copies rows that all begin at multiples of 16 bytes. A thread moves 16 bytes at a time or, if the types differ, eight
// elements.
struct CopyRowGroups {
  struct Args : RowCopy {
    int64_t groups_of_row, groups;
  };
  using Shared = NothingShared;
  static constexpr int kGroups = 2;  // groups in flight per thread

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const bool same = args.to.dtype == args.from.dtype;
    const int64_t size = same ? kWordsBytes / size_of(args.to.dtype) : kEight;
    int64_t to[kGroups];
    RawEight raw[kGroups];
    const auto load = [&](int g, int64_t index) {
      const int64_t row = quotient(index, args.groups_of_row);
      const auto at = args.rows.at(row);
      const int64_t column = (index - row * args.groups_of_row) * size;
      to[g] = at.of[0] + column;
      const int64_t from = at.of[1] + column;
      if (same) {
        raw[g].first = thread.load(reinterpret_cast<const Words*>(args.from.data + from * size_of(args.from.dtype)));
      } else {
        raw[g] = load_eight(thread, args.from, from);
      }
    };
    const auto finish = [&](int g, int64_t) {
      if (same)
        return thread.store(reinterpret_cast<Words*>(args.to.data + to[g] * size_of(args.to.dtype)), raw[g].first);
      float values[kEight];
      values_of(raw[g], args.from.dtype, values);
      store_eight(thread, args.to, to[g], values);
    };
    for_groups<kGroups>(thread, args.groups, load, finish);
  }
};
LAPTIME_CUDA_KERNEL(CopyRowGroups, copy_row_groups)

// Copies rows that may begin at any address. A block copies a piece of a row; each thread loads all its elements before
// it stores any.
struct CopyRowPieces {
  struct Args : RowCopy {
    int64_t pieces_of_row;
  };
  using Shared = NothingShared;
  static constexpr int kThreads = 256;
  static constexpr int kOfThread = 16;  // elements per thread
  static constexpr int kPiece = kThreads * kOfThread;

  struct Piece {
    int64_t to, from;  // positions of the first element
    int count;
  };

  template <class To, class From>
  LAPTIME_DEVICE static void copy(const Thread& thread, const Args& args, const Piece& piece) {
    const From* const from = args.from.at<From>(piece.from);
    To* const to = args.to.at<To>(piece.to);
    From raw[kOfThread];
    LAPTIME_UNROLL
    for (int i = 0; i < kOfThread; ++i) {
      const int column = thread.index() + i * kThreads;
      if (column < piece.count) raw[i] = thread.load(from + column);
    }
    LAPTIME_UNROLL
    for (int i = 0; i < kOfThread; ++i) {
      const int column = thread.index() + i * kThreads;
      if (column < piece.count) thread.store(to + column, converted<To>(raw[i]));
    }
  }
  template <class To, class From>
  LAPTIME_DEVICE static To converted(From value) {
    if constexpr (std::is_same_v<To, From>) {
      return value;
    } else {
      return To(static_cast<float>(value));
    }
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const int64_t row = quotient(thread.block(), args.pieces_of_row);
    const int64_t first = (thread.block() - row * args.pieces_of_row) * kPiece;
    const auto at = args.rows.at(row);
    const int count = args.columns - first < kPiece ? static_cast<int>(args.columns - first) : kPiece;
    const Piece piece{at.of[0] + first, at.of[1] + first, count};
    if (args.to.dtype == args.from.dtype)
      return size_of(args.to.dtype) == 4 ? copy<uint32_t, uint32_t>(thread, args, piece)
                                         : copy<uint16_t, uint16_t>(thread, args, piece);
    const auto from_type = [&]<class From>(From) {
      switch (args.to.dtype) {
        case DType::kBFloat16: return copy<BFloat16, From>(thread, args, piece);
        case DType::kFloat16: return copy<Float16, From>(thread, args, piece);
        default: return copy<float, From>(thread, args, piece);
      }
    };
    switch (args.from.dtype) {
      case DType::kBFloat16: return from_type(BFloat16{});
      case DType::kFloat16: return from_type(Float16{});
      default: return from_type(float{});
    }
  }
};
LAPTIME_CUDA_KERNEL(CopyRowPieces, copy_row_pieces)

struct FillElements {
  struct Args {
    Elements<1> elements;
    double value;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const DeviceData& to = args.elements.operand[0];
    if (args.elements.groups == Groups::kNone)
      return for_elements(thread, args.elements, [&](const auto& at) { store(thread, to, at.of[0], args.value); });
    float values[kEight];
    for (float& value : values) value = static_cast<float>(args.value);
    const int64_t eights = args.elements.count / kEight;
    for_indices(thread, eights, [&](int64_t index) { store_eight(thread, to, index * kEight, values); });
    for_indices(thread, args.elements.count - eights * kEight,
                [&](int64_t index) { store(thread, to, eights * kEight + index, args.value); });
  }
};
LAPTIME_CUDA_KERNEL(FillElements, fill_elements)

}  // namespace laptime::cuda
