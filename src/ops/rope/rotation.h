// The elements that RoPE rotates, and their frequencies. Shared by the kernels of all devices.
#pragma once

#include <cstdint>

namespace laptime {

// The positions of a pair in a row of x and of y. The n elements to rotate come first; any other elements are copied.
//   kInterleaved: (2i, 2i + 1) in both; n = d_head
//   kHalves:      (2i, 2i + 1) in x, (i, n / 2 + i) in y; n = d_head
//   kRotateHalf:  (i, n / 2 + i) in both; n is the width of the tables
enum class RopeForm : uint8_t { kInterleaved, kHalves, kRotateHalf };

// The number of elements of a row that are rotated, given the width of the tables.
constexpr int64_t rotated_width(RopeForm form, int64_t table_width) {
  return form == RopeForm::kRotateHalf ? table_width : 2 * table_width;
}
// States whether a rotation reads (from_halves) and writes (to_halves) pairs as (i, n / 2 + i) instead of (2i, 2i + 1).
struct RopePlaces {
  bool from_halves, to_halves;
  constexpr RopePlaces(RopeForm form, bool inverse)
      : from_halves(form == RopeForm::kRotateHalf || (form == RopeForm::kHalves && inverse)),
        to_halves(form == RopeForm::kRotateHalf || (form == RopeForm::kHalves && !inverse)) {}
};

// How frequencies are scaled for contexts longer than in pretraining (Llama 3). Wavelengths above `original_context` /
// low_factor are multiplied by `factor`, those below original_context / high_factor stay unchanged, and those in
// between are interpolated. If `factor` is 1, nothing is scaled.
struct RopeScaling {
  double factor = 1;
  double low_factor = 1;
  double high_factor = 4;
  double original_context = 8192;
  bool operator==(const RopeScaling&) const = default;
};

// Returns `frequency` after scaling, in radians per position.
template <class Real>
constexpr Real scaled_frequency(const RopeScaling& scaling, Real frequency) {
  if (scaling.factor == 1) return frequency;
  constexpr double kTwoPi = 6.283185307179586;
  const Real wavelength = static_cast<Real>(kTwoPi) / frequency;
  const auto original = static_cast<Real>(scaling.original_context);
  const auto low = static_cast<Real>(scaling.low_factor);
  const auto high = static_cast<Real>(scaling.high_factor);
  const auto factor = static_cast<Real>(scaling.factor);
  if (wavelength < original / high) return frequency;
  if (wavelength > original / low) return frequency / factor;
  const Real smooth = (original / wavelength - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}

}  // namespace laptime
