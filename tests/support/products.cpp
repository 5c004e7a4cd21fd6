// Computes products element by element, and emulates TDPBF16PS (Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 2).
#include "support/products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/linear/linear.h"
#include "ops/matmul/matmul.h"

namespace laptime::test {
namespace {

struct Product {
  ProductAttributes attributes;
  int64_t batches = 1, m = 0, n = 0, k = 0;
  const TensorView* bias = nullptr;    // [n]; null if there is none
  const TensorView* addend = nullptr;  // [batches, m, n] like the result; null if there is none
};

template <class A, class B>
std::vector<double> multiply(const Product& product, const A& a, const B& b) {
  std::vector<double> result;
  for (int64_t batch = 0; batch < product.batches; ++batch) {
    for (int64_t i = 0; i < product.m; ++i) {
      for (int64_t j = 0; j < product.n; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < product.k; ++k)
          sum += static_cast<float>(product.attributes.operand(a(batch, i, k))) *
                 static_cast<float>(product.attributes.operand(b(batch, k, j)));
        if (product.bias != nullptr) sum += static_cast<float>(product.attributes.operand(product.bias->at(j)));
        if (product.addend != nullptr)
          sum += static_cast<float>(product.addend->at(static_cast<int64_t>(result.size())));
        result.push_back(sum);
      }
    }
  }
  return result;
}

std::vector<double> multiply_matrices(const Signature& signature, std::span<const TensorView> in, bool has_bias) {
  const TensorView& a = in[has_bias ? 1 : 0];
  const TensorView& b = in[has_bias ? 2 : 1];
  Product product{.attributes = product_attributes(signature.attributes),
                  .batches = a.shape().rank() == 3 ? a.shape()[0] : 1,
                  .m = a.shape()[-2],
                  .n = b.shape()[-1],
                  .k = a.shape()[-1]};
  if (has_bias) product.bias = &in[0];
  if (product.attributes.addend) product.addend = &in.back();
  return multiply(
      product, [&](int64_t batch, int64_t i, int64_t k) { return a.at((batch * product.m + i) * product.k + k); },
      [&](int64_t batch, int64_t k, int64_t j) { return b.at((batch * product.k + k) * product.n + j); });
}

constexpr int64_t kTileK = 32;  // number of K elements in one tile product

// Flushes denormals to zero and keeps the sign, as TDPBF16PS does with its operands and results.
float flushed(float value) {
  return std::abs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0F, value) : value;
}
// Truncates to bfloat16. Truncation is exact for the terms of a finite number, and preserves NaN.
float stored(float term) { return flushed(std::bit_cast<float>(std::bit_cast<uint32_t>(term) & cpu::kUpperHalf)); }

}  // namespace

std::vector<double> plain_matmul(const Signature& signature, std::span<const TensorView> in) {
  return multiply_matrices(signature, in, false);
}
std::vector<double> plain_addmm(const Signature& signature, std::span<const TensorView> in) {
  return multiply_matrices(signature, in, true);
}

std::vector<double> plain_linear(const Signature& signature, std::span<const TensorView> in) {
  const TensorView& x = in[0];
  const TensorView& weight = in[1];
  Product product{.attributes = signature.attributes.as<LinearAttributes>().product,
                  .batches = 1,
                  .m = x.numel() / x.shape().back(),
                  .n = weight.shape()[0],
                  .k = weight.shape()[1]};
  const bool addend = product.attributes.addend;
  if (in.size() > (addend ? 3U : 2U)) product.bias = &in[2];
  if (addend) product.addend = &in.back();
  return multiply(
      product, [&](int64_t, int64_t i, int64_t k) { return x.at(i * product.k + k); },
      [&](int64_t, int64_t k, int64_t j) { return weight.at(j * product.k + k); });
}

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
          std::array<float, 2> parts{};  // sums of even and of odd elements of K
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
