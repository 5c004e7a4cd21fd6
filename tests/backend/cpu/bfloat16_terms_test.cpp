// Tests the split of float32 into three bfloat16 terms against the bounds in docs/adr/0009, for single numbers and for
// whole products. The AMX tile product is emulated.
#include "backend/cpu/gemm/amx/bfloat16_terms.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"
#include "support/products.h"

namespace laptime::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

std::array<float, 3> terms_of(float value) { return cpu::bfloat16_terms<float, uint32_t>(value); }
bool is_bfloat16(float value) { return (std::bit_cast<uint32_t>(value) & ~cpu::kUpperHalf) == 0; }

// A random float32 with the given exponent and either sign.
float number(uint64_t seed, int exponent) {
  const uint64_t bits = splitmix64(seed);
  const double fraction = 1 + static_cast<double>(bits >> 41U) * 0x1p-23;
  return static_cast<float>(std::ldexp((bits & 1U) != 0 ? fraction : -fraction, exponent));
}

TEST(Bfloat16Terms, SumIsExactAndTermsAreBounded) {
  for (uint64_t i = 0; i < 200'000; ++i) {
    const int exponent = static_cast<int>(i % 229) - 103;  // 2^-103 to 2^125
    const float value = number(i, exponent);
    const auto [first, second, third] = terms_of(value);
    ASSERT_EQ(static_cast<double>(first) + second + third, value) << std::hexfloat << value;
    for (const float term : {first, second, third}) {
      ASSERT_TRUE(is_bfloat16(term)) << std::hexfloat << value;
      ASSERT_TRUE(term == 0 || std::isnormal(term)) << std::hexfloat << value;
    }
    ASSERT_LE(std::abs(second), 0x1p-8F * std::abs(value)) << std::hexfloat << value;
    ASSERT_LE(std::abs(third), 0x1p-17F * std::abs(value)) << std::hexfloat << value;
  }
}

// The values are halfway between two bfloat16 numbers, just below halfway, and above it. Halfway rounds away from zero.
TEST(Bfloat16Terms, RoundsTheFirstTermToNearest) {
  EXPECT_EQ(terms_of(std::bit_cast<float>(0x3F808000U))[0], std::bit_cast<float>(0x3F810000U));
  EXPECT_EQ(terms_of(std::bit_cast<float>(0x3F807FFFU))[0], 1.0F);
  EXPECT_EQ(terms_of(std::bit_cast<float>(0xBF80C000U))[0], std::bit_cast<float>(0xBF810000U));
}

TEST(Bfloat16Terms, KeepsTheLargestNumbersFinite) {
  for (const uint32_t bits : {0x7F7F7FFFU, 0x7F7F8000U, 0x7F7FC001U, 0x7F7FFFFFU}) {
    for (const float value : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
      const auto [first, second, third] = terms_of(value);
      EXPECT_TRUE(std::isfinite(first)) << std::hexfloat << value;
      EXPECT_EQ(static_cast<double>(first) + second + third, value) << std::hexfloat << value;
      EXPECT_TRUE(is_bfloat16(second) && is_bfloat16(third)) << std::hexfloat << value;
      EXPECT_LE(std::abs(second), 0x1p-7F * std::abs(value)) << std::hexfloat << value;
      EXPECT_LE(std::abs(third), 0x1p-16F * std::abs(value)) << std::hexfloat << value;
    }
  }
}

TEST(Bfloat16Terms, PreservesInfinityAndNan) {
  EXPECT_EQ(terms_of(kInfinity)[0], kInfinity);
  EXPECT_EQ(terms_of(-kInfinity)[0], -kInfinity);
  for (const uint32_t bits : {0x7FC00000U, 0xFFFFFFFFU, 0x7FFFFFFFU, 0x7F800001U, 0xFF800001U}) {
    const std::array<float, 3> terms = terms_of(std::bit_cast<float>(bits));
    EXPECT_FALSE(std::isfinite(terms[0])) << std::hex << bits;
    EXPECT_TRUE(std::isnan(terms[2])) << std::hex << bits;
  }
  EXPECT_EQ(terms_of(0.0F), (std::array<float, 3>{}));
}

// The vector version is the one that packing for AMX uses.
TEST(Bfloat16Terms, VectorVersionMatchesScalarBits) {
  using Vector = float __attribute__((vector_size(16)));
  using Bits = uint32_t __attribute__((vector_size(16)));
  for (uint64_t i = 0; i < 100'000; i += 4) {
    Vector values;
    for (int lane = 0; lane < 4; ++lane)
      values[lane] = std::bit_cast<float>(static_cast<uint32_t>(splitmix64(i + static_cast<uint64_t>(lane))));
    const std::array<Vector, 3> terms = cpu::bfloat16_terms<Vector, Bits>(values);
    for (int lane = 0; lane < 4; ++lane) {
      const std::array<float, 3> expected = terms_of(values[lane]);
      for (size_t term = 0; term < 3; ++term) {
        const float got = terms[term][lane];
        ASSERT_TRUE(std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(expected[term]) ||
                    (std::isnan(got) && std::isnan(expected[term])))
            << std::hexfloat << values[lane];
      }
    }
  }
}

struct Factors {
  int64_t m = 12, n = 9, k = 0;
  std::vector<float> a, b;

  double exact(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t x = 0; x < k; ++x) sum += static_cast<double>(a_at(i, x)) * b_at(x, j);
    return sum;
  }
  // Element (i, j) of |A||B|.
  double magnitude(int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t x = 0; x < k; ++x) sum += std::abs(static_cast<double>(a_at(i, x)) * b_at(x, j));
    return sum;
  }
  float a_at(int64_t i, int64_t x) const { return a[static_cast<size_t>(i * k + x)]; }
  float b_at(int64_t x, int64_t j) const { return b[static_cast<size_t>(x * n + j)]; }
  std::vector<float> product() const { return split_product(a, b, m, n, k, cpu::kTermPairs<3, 3>); }
};

// The exponents of A are uniform in [a_exponent, a_exponent + spread], and those of B in [b_exponent, b_exponent +
// spread].
Factors random_factors(int64_t k, int a_exponent, int b_exponent, int spread) {
  Factors factors{.k = k, .a = {}, .b = {}};
  const auto draw = [&](uint64_t seed, int exponent) {
    return number(seed, exponent + static_cast<int>(splitmix64(seed + 7'777) % static_cast<uint64_t>(spread + 1)));
  };
  for (int64_t i = 0; i < factors.m * k; ++i) factors.a.push_back(draw(static_cast<uint64_t>(i), a_exponent));
  for (int64_t i = 0; i < factors.n * k; ++i)
    factors.b.push_back(draw(static_cast<uint64_t>(1'000'000 + i), b_exponent));
  return factors;
}

// The largest |error| / |A||B| over all elements.
double largest_error(const Factors& factors) {
  const std::vector<float> c = factors.product();
  double largest = 0;
  for (int64_t i = 0; i < factors.m; ++i) {
    for (int64_t j = 0; j < factors.n; ++j) {
      const double error = std::abs(c[static_cast<size_t>(i * factors.n + j)] - factors.exact(i, j));
      largest = std::max(largest, error / factors.magnitude(i, j));
    }
  }
  return largest;
}

// Bound on |error| / |A||B|: the omitted term products, plus a rounding error of 2^-24 per addition: 32 additions
// within a tile product, and one for each of the six tile products per 32 elements of K.
double bound(int64_t k) {
  const double steps = std::ceil(static_cast<double>(k) / 32);
  return 0x1p-24 * (1 + 0x1p-8 + 32 + 6 * steps);
}

TEST(SplitProduct, ErrorStaysWithinTheBound) {
  for (const int64_t k : {1, 2, 31, 64, 300}) {
    for (const int spread : {0, 10, 40}) {
      EXPECT_LE(largest_error(random_factors(k, -spread / 2, -spread / 2, spread)), bound(k)) << k << ", " << spread;
    }
  }
}

// With k = 1, the error comes from the omitted term products, not from a long sum.
TEST(SplitProduct, ErrorOfASingleProductIsBelowThreeRoundings) {
  double largest = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const float a = number(i, 0);
    const float b = number(i + 50'000, 0);
    const double exact = static_cast<double>(a) * b;
    const std::vector<float> c = split_product(std::span(&a, 1), std::span(&b, 1), 1, 1, 1, cpu::kTermPairs<3, 3>);
    largest = std::max(largest, std::abs(c[0] - exact) / std::abs(exact));
  }
  EXPECT_LE(largest, 2.5 * 0x1p-24);
}

// If terms of a sum cancel, the error stays a small fraction of |A||B|, as with fused multiply-adds.
TEST(SplitProduct, ErrorStaysWithinTheBoundIfTermsCancel) {
  Factors factors = random_factors(200, 0, 0, 0);
  for (int64_t i = 0; i < factors.m; ++i) {
    for (int64_t x = 0; x < 100; ++x)
      factors.a[static_cast<size_t>(i * 200 + 100 + x)] = -factors.a[static_cast<size_t>(i * 200 + x)];
  }
  for (int64_t x = 0; x < 100; ++x) {
    for (int64_t j = 0; j < factors.n; ++j)
      factors.b[static_cast<size_t>((100 + x) * factors.n + j)] = factors.b[static_cast<size_t>(x * factors.n + j)];
  }
  EXPECT_EQ(factors.exact(0, 0), 0);
  EXPECT_LE(largest_error(factors), bound(200));
}

// Numbers of at least 2^-103, for example 1e-30, are exact sums of their terms. For smaller numbers, terms below 2^-126
// count as zero. The absolute error of a product is then at most 3 x 2^-126 (1 + |b|), where b is the other factor.
TEST(SplitProduct, LosesTermsBelowTheSmallestNormalNumber) {
  const int tiny = static_cast<int>(std::floor(std::log2(1e-30)));
  EXPECT_LE(largest_error(random_factors(64, tiny, 0, 0)), bound(64));
  const int below = static_cast<int>(std::floor(std::log2(1e-36)));
  const Factors factors = random_factors(64, below, 0, 0);
  const double error = largest_error(factors);
  EXPECT_GT(error, 1e-4);  // the bound for larger numbers does not hold
  const std::vector<float> c = factors.product();
  for (int64_t i = 0; i < factors.m; ++i) {
    for (int64_t j = 0; j < factors.n; ++j) {
      double partners = 0;  // sum of |b(x, j)| over x
      for (int64_t x = 0; x < factors.k; ++x) partners += std::abs(factors.b_at(x, j));
      // Sum over x of the error bound stated above this test.
      EXPECT_LE(std::abs(c[static_cast<size_t>(i * factors.n + j)] - factors.exact(i, j)),
                3 * 0x1p-126 * (partners + static_cast<double>(factors.k)));
    }
  }
}

TEST(SplitProduct, LargestFiniteNumbersDoNotOverflow) {
  for (const float value : {kLargest, -kLargest, std::bit_cast<float>(0x7F7F8000U)}) {
    for (const float factor : {1.0F, 0.5F, -1.0F, 0x1p-100F}) {
      const std::vector<float> c =
          split_product(std::span(&value, 1), std::span(&factor, 1), 1, 1, 1, cpu::kTermPairs<3, 3>);
      EXPECT_EQ(c[0], value * factor);
    }
  }
  EXPECT_LE(largest_error(random_factors(50, 120, -60, 0)), bound(50));
}

// An infinite factor gives NaN, although float32 multiply-adds would give infinity.
TEST(SplitProduct, InfinityAndNanGiveNan) {
  for (const float value : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const float factor : {1.0F, -3.0F, 0.1F}) {
      const std::vector<float> c =
          split_product(std::span(&value, 1), std::span(&factor, 1), 1, 1, 1, cpu::kTermPairs<3, 3>);
      EXPECT_TRUE(std::isnan(c[0])) << value << " " << factor;
    }
  }
}

}  // namespace
}  // namespace laptime::test
