// Kernels that move elements: copies with or without a change of type, and fills.
#pragma once

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

struct CopyElements {
  static constexpr const char* kName = "copy_elements";
  using Args = Elements<2>;  // to, from
  using Shared = NothingShared;

  template <class Word>
  LAPTIME_DEVICE static void copy(const Thread& thread, const Args& args, const Walk<2>::Positions& at) {
    thread.store(args.operand[0].at<Word>(at.of[0]), thread.load(args.operand[1].at<Word>(at.of[1])));
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const auto& to = args.operand[0];
    const auto& from = args.operand[1];
    const bool same = to.dtype == from.dtype;
    const int64_t bytes = size_of(to.dtype);
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
