// Kernels that move elements: copies, with or without a change of type, and fills.
#pragma once

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

struct CopyElements {
  static constexpr const char* kName = "copy_elements";
  using Args = Elements<2>;  // operands: to, from
  using Shared = NothingShared;

  template <class Word>
  LAPTIME_DEVICE static void copy(const Thread& thread, const Args& args, const Walk<2>::Positions& at) {
    thread.store(args.operand[0].at<Word>(at.of[0]), thread.load(args.operand[1].at<Word>(at.of[1])));
  }

  template <class Word>
  LAPTIME_DEVICE static void copy_four(const Thread& thread, const Args& args, int64_t index) {
    const auto* const from = reinterpret_cast<const Four<Word>*>(args.operand[1].at<Word>(0));
    thread.store(reinterpret_cast<Four<Word>*>(args.operand[0].at<Word>(0)) + index, thread.load(from + index));
  }

  LAPTIME_DEVICE static void copy_fours(const Thread& thread, const Args& args, int64_t bytes) {
    const int64_t fours = args.count / kFour;
    for_indices(thread, fours, [&](int64_t index) {
      bytes == 4 ? copy_four<uint32_t>(thread, args, index) : copy_four<uint16_t>(thread, args, index);
    });
    for_indices(thread, args.count - fours * kFour, [&](int64_t index) {
      const int64_t at = fours * kFour + index;
      bytes == 4 ? copy<uint32_t>(thread, args, {{at, at}}) : copy<uint16_t>(thread, args, {{at, at}});
    });
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const auto& to = args.operand[0];
    const auto& from = args.operand[1];
    const bool same = to.dtype == from.dtype;
    const int64_t bytes = size_of(to.dtype);
    // If the types are equal, words are copied, so that a NaN keeps its bits. A cast converts values.
    if (args.in_fours && !same)
      return map_elements<1, 1>(thread, args, [](const float(&in)[1], float(&out)[1]) { out[0] = in[0]; });
    if (args.in_fours) return copy_fours(thread, args, bytes);
    for_elements(thread, args, [&](const auto& at) {
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

struct FillElements {
  static constexpr const char* kName = "fill_elements";
  struct Args {
    Elements<1> elements;
    double value;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_elements(thread, args.elements,
                 [&](const auto& at) { store(thread, args.elements.operand[0], at.of[0], args.value); });
  }
};

}  // namespace laptime::cuda
