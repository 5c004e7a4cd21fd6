// Squares of 32 x 32 sums, each of 2 x 2 tiles of AMX: packed rows by a packed sliver, of one or more terms.
//
// float32 as the sum of three bfloat16, and which of the nine products count: Henry, Tang and Heinecke 2019.
#pragma once

#include <immintrin.h>

#include "backend/cpu/gemm/amx/amx.h"
#include "backend/cpu/gemm/amx/amx_pack.h"
#include "backend/cpu/gemm/bfloat16_pairs.h"

namespace laptime::LAPTIME_ISA {

// Where the sums of a square start from, zeros without it, and where they go, in floats.
struct SquarePlace {
  const float* from = nullptr;
  int64_t from_pitch = 0;
  float* to = nullptr;
  int64_t to_pitch = 0;
};

// Which terms of a and b are multiplied, small products first. What is left out of nine is below 2^-24 of a product of
// two float32: less than float32 rounds when it adds it.
struct TermPair {
  int a = 0, b = 0;
};
template <int64_t kOfA, int64_t kOfB>
constexpr auto kTermPairs = std::array{TermPair{0, 0}};
template <>
constexpr auto kTermPairs<2, 1> = std::array{TermPair{1, 0}, TermPair{0, 0}};
template <>
constexpr auto kTermPairs<1, 2> = std::array{TermPair{0, 1}, TermPair{0, 0}};
template <>
constexpr auto kTermPairs<3, 3> =
    std::array{TermPair{2, 0}, TermPair{1, 0}, TermPair{1, 1}, TermPair{0, 1}, TermPair{0, 2}, TermPair{0, 0}};
static_assert(kTermPairs<3, 3>.size() == cpu::kSplitProducts);

// The products of one step, pair by pair; between() after each of them.
template <int64_t kOfA, int64_t kOfB, size_t kPair = 0, class Between>
[[gnu::always_inline]] LAPTIME_AMX inline void multiply_step(const float* a, const float* b, const Between& between) {
  constexpr int64_t kRow = kTile * int64_t{sizeof(float)};
  constexpr auto kPairs = kTermPairs<kOfA, kOfB>;
  constexpr TermPair kNow = kPairs[kPair];
  constexpr bool kNewA = kPair == 0 || kPairs[kPair - (kPair > 0)].a != kNow.a;
  constexpr bool kNewB = kPair == 0 || kPairs[kPair - (kPair > 0)].b != kNow.b;
  const float* const a_words = a + kNow.a * kStepWords;
  const float* const b_words = b + kNow.b * kStepWords;
  // a is read once for each sliver: it must not drive b out of the first-level cache
  if constexpr (kNewA) _tile_stream_loadd(4, a_words, kRow);
  if constexpr (kNewB) _tile_loadd(6, b_words, 2 * kRow);
  if constexpr (kNewB) _tile_loadd(7, b_words + kTile, 2 * kRow);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kNewA) _tile_stream_loadd(5, a_words + kTileWords, kRow);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
  between();
  if constexpr (kPair + 1 < kPairs.size()) multiply_step<kOfA, kOfB, kPair + 1>(a, b, between);
}

// The 512-bit units sleep after 0.8 us without use, and a tile store then waits 0.25 us for them.
inline void keep_vectors_awake() {
  __m512i value = _mm512_setzero_si512();
  __asm__ volatile("vfmadd231ps %0, %0, %0" : "+v"(value));
}

// Packed rows of a by a packed sliver of b. between() is called after every four tile products, whose 80 cycles it
// fills with up to about 80 instructions for nothing. More at once would not fit: what waits for tiles holds back what
// follows it, and registers run out.
template <int64_t kOfA, int64_t kOfB, class Between>
[[gnu::always_inline]] LAPTIME_AMX inline void multiply_square(const float* a, const float* b, int64_t steps,
                                                               const SquarePlace& place, const Between& between) {
  constexpr int64_t kFloat = sizeof(float);
  finish_stores();
  if (place.from == nullptr) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    const float* const lower = place.from + kTile * place.from_pitch;
    _tile_loadd(0, place.from, place.from_pitch * kFloat);
    _tile_loadd(1, place.from + kTile, place.from_pitch * kFloat);
    _tile_loadd(2, lower, place.from_pitch * kFloat);
    _tile_loadd(3, lower + kTile, place.from_pitch * kFloat);
  }
  for (int64_t step = 0; step < steps; ++step, a += kOfA * kStepWords, b += kOfB * kStepWords) {
    multiply_step<kOfA, kOfB>(a, b, between);
    keep_vectors_awake();
  }
  float* const lower = place.to + kTile * place.to_pitch;
  _tile_stored(0, place.to, place.to_pitch * kFloat);
  _tile_stored(1, place.to + kTile, place.to_pitch * kFloat);
  _tile_stored(2, lower, place.to_pitch * kFloat);
  _tile_stored(3, lower + kTile, place.to_pitch * kFloat);
}

}  // namespace laptime::LAPTIME_ISA
