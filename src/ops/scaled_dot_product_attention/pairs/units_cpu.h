// The two units that multiply packed bfloat16 pairs: AMX tiles, and vectors with vdpbf16ps.
#pragma once

#include "backend/cpu/gemm/amx/micro_kernel.h"
#include "ops/scaled_dot_product_attention/pairs/interleaved_cpu.h"

namespace laptime::LAPTIME_ISA::attention::pairs {

// A Unit has
//   Computed            the terms into which weights and score gradients are split if operands are bfloat16;
//   begin(), end()      called by a thread before and after its products;
//   multiply<Left, Right>(left, right, steps, place, work)
//                       multiplies a left panel by a right panel over `steps` steps of K, and may run vector work
//                       that is due in the meantime.

// The operating system saves configured tiles at every context switch, so a thread releases them when it is done.
struct AmxTiles {
  // A tile product is cheap, so the second term costs little.
  using Computed = gemm_amx::TwoTerms;

  static void begin() { gemm_amx::configure_tiles(); }
  static void end() { gemm_amx::release_tiles(); }

  template <class Left, class Right, class Work>
  [[gnu::noinline]] LAPTIME_AMX static void multiply(const float* left, const float* right, int64_t steps,
                                                     const gemm_amx::MicroTile& place, Interleaved<Work>& work) {
    gemm_amx::micro_kernel<Left::kTerms, Right::kTerms>(left, right, steps, place, [&] { work.run_due(); });
  }
};

// Products keep the vector unit busy, so no other work runs at the same time.
struct DotVectors {
  using Computed = gemm_amx::RoundedTerm;

  static void begin() {}
  static void end() {}

  template <class Left, class Right, class Work>
  static void multiply(const float* left, const float* right, int64_t steps, const gemm_amx::MicroTile& place,
                       Interleaved<Work>&) {
    static_assert(Left::kTerms == 1 && Right::kTerms == 1);
    for (int64_t row = 0; row < gemm_amx::kMicroTile; row += kRows)
      multiply_rows(left + row / gemm_amx::kTile * gemm_amx::kTileWords + row % gemm_amx::kTile * gemm_amx::kTile,
                    right, steps, place, row);
  }

 private:
  // Two vectors of sums for each row: 16 sums hide the latency of a dot product, with 10 loads for every 16 products.
  static constexpr int64_t kRows = 8;
  static_assert(gemm_amx::kTile % kRows == 0);

  [[gnu::noinline]] static void multiply_rows(const float* left, const float* right, int64_t steps,
                                              const gemm_amx::MicroTile& place, int64_t row) {
    std::array<std::array<Vector, 2>, kRows> sums{};
    if (place.from != nullptr) {
      const float* from = place.from + row * place.ld_from;
#pragma GCC unroll 8
      for (size_t i = 0; i < kRows; ++i, from += place.ld_from) sums[i] = {load(from), load(from + kLanes)};
    }
    for (int64_t step = 0; step < steps; ++step, left += gemm_amx::kPanelStepWords) {
#pragma GCC unroll 2
      for (int64_t word = 0; word < gemm_amx::kTile; ++word, right += gemm_amx::kMicroTile) {
        const Vector lower = load(right);
        const Vector upper = load(right + kLanes);
#pragma GCC unroll 8
        for (size_t i = 0; i < kRows; ++i) {
          const float words = left[static_cast<int64_t>(i) * gemm_amx::kTile + word];
          gemm_amx::PairWords::add_product(sums[i][0], words, lower);
          gemm_amx::PairWords::add_product(sums[i][1], words, upper);
        }
      }
    }
    float* to = place.to + row * place.ld_to;
#pragma GCC unroll 8
    for (size_t i = 0; i < kRows; ++i, to += place.ld_to) {
      store(to, sums[i][0]);
      store(to + kLanes, sums[i][1]);
    }
  }
};

}  // namespace laptime::LAPTIME_ISA::attention::pairs
