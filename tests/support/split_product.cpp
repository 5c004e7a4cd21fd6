// Emulates TDPBF16PS (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2) element by element.
#include "support/split_product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace laptime::test {
namespace {

constexpr int64_t kTileK = 32;  // elements of K in one tile product

// The instruction takes denormal operands as zero, and makes zeros of denormal results.
float flushed(float value) {
  return std::abs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0F, value) : value;
}
// As a bfloat16 holds it. The terms of a finite number fit; the upper half of a NaN is one.
float stored(float term) { return flushed(std::bit_cast<float>(std::bit_cast<uint32_t>(term) & cpu::kUpperHalf)); }

}  // namespace

std::vector<float> split_product(std::span<const float> a, std::span<const float> b, int64_t m, int64_t n, int64_t k,
                                 std::span<const cpu::TermPair> pairs, int terms) {
  const auto terms_of = [terms](float value) {
    std::array<float, 3> all = cpu::bfloat16_terms<float, uint32_t>(value);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i) < terms ? stored(all[i]) : 0;
    return all;
  };
  std::vector<float> c(static_cast<size_t>(m * n));
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      float sum = 0;
      for (int64_t begin = 0; begin < k; begin += kTileK) {
        const int64_t end = std::min(begin + kTileK, k);
        for (const cpu::TermPair& pair : pairs) {
          std::array<float, 2> parts{};  // of even and of odd elements of K
          for (int64_t i = begin; i < end; ++i) {
            const float x = terms_of(a[static_cast<size_t>(row * k + i)])[static_cast<size_t>(pair.a)];
            const float y = terms_of(b[static_cast<size_t>(i * n + column)])[static_cast<size_t>(pair.b)];
            float& part = parts[static_cast<size_t>(i % 2)];
            part = flushed(std::fma(x, y, part));
          }
          sum = flushed(sum + flushed(parts[0] + parts[1]));
        }
      }
      c[static_cast<size_t>(row * n + column)] = sum;
    }
  }
  return c;
}

}  // namespace laptime::test
