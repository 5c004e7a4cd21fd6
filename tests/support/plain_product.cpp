// Products of one element after the other.
#include "support/plain_product.h"

#include "ops/linear/linear.h"
#include "ops/matmul/matmul.h"

namespace laptime::test {
namespace {

struct Product {
  ProductAttributes attributes;
  int64_t batches = 1, m = 0, n = 0, k = 0;
  const TensorView* bias = nullptr;    // [n]
  const TensorView* addend = nullptr;  // of the result's shape
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

}  // namespace laptime::test
