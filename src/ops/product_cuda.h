// Matrix products on CUDA devices, by our own kernel or by cuBLASLt, for all ops that multiply matrices.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/queue.h"
#include "backend/kernel.h"

namespace laptime::cuda {

// The operands of a product. `a` is [..., k], `b` [k, n] or batched [batches, k, n]; `bias` and `addend` may be null.
struct Product {
  TensorView a, b;
  const TensorView* bias = nullptr;
  const TensorView* addend = nullptr;  // has the shape of the result
  TensorView c;                        // contiguous or with padded rows
  DType compute{};                     // type to which factors and bias are rounded first
};

// Launches our GEMM, not cuBLASLt's.
void launch_product(const KernelCall& call, const Product& product);

// Selects how cuBLASLt computes a product. Factors that it cannot read directly, such as those with a type other than
// `compute`, are copied to the workspace first.
struct BlasChoice {
  int algorithm = 0;  // index among the library's proposals
  bool tf32 = false;
  bool any_order = false;  // see BlasProduct::any_order
  // Pads matrices whose rows or dimensions are not multiples of 16 bytes, such as logits for a vocabulary of 50,257,
  // because the library has only slow algorithms for such sizes. A matrix with unaligned rows is copied to or from
  // padded memory. If all rows are aligned, and only one dimension is not a multiple, the part of the product up to the
  // last multiple is computed without copies, and the rest with copies.
  bool padded = false;
};
inline constexpr int kPaddedAlgorithms = 3;  // number of proposals that are tried with padded matrices

std::string blas_refusal(const Product& product, const BlasChoice& choice);
int64_t blas_workspace(const Product& product, const BlasChoice& choice);
void prepare_blas(const Product& product, const BlasChoice& choice, Queue& queue);
void launch_blas(const KernelCall& call, const Product& product, const BlasChoice& choice);

// Returns the product of a call or, if the views have no memory, of a signature.
using ProductOfCall = Product (*)(const Attributes& attributes, std::span<const TensorView> in,
                                  std::span<const TensorView> out);

// The operands of a signature as views without memory.
struct ViewsOfSignature {
  std::vector<TensorView> in, out;

  explicit ViewsOfSignature(const Signature& signature) {
    for (const TensorType& type : signature.in) in.push_back({nullptr, type});
    for (const TensorType& type : signature.out) out.push_back({nullptr, type});
  }
};

// The entry points of a kernel that multiplies with cuBLASLt.
template <ProductOfCall kProductOf, int kAlgorithm, bool kTf32, bool kAnyOrder = false, bool kPadded = false>
struct BlasKernel {
  static constexpr BlasChoice kChoice{kAlgorithm, kTf32, kAnyOrder, kPadded};

  template <class Body>
  static auto with_product(const Signature& signature, const Body& body) {
    const ViewsOfSignature views(signature);
    return body(kProductOf(signature.attributes, views.in, views.out));
  }
  static Kernel of(const OpCard& op) {
    return {
        .op = &op,
        .name = fmt::format("cublaslt{}{}_{}", kTf32 ? "_tf32" : "", kPadded ? "_padded" : "", kAlgorithm + 1),
        .supports =
            [](const Signature& signature) {
              return with_product(signature, [](const Product& p) { return blas_refusal(p, kChoice); });
            },
        .workspace =
            [](const Signature& signature) {
              return with_product(signature, [](const Product& p) { return blas_workspace(p, kChoice); });
            },
        .prepare =
            [](const Signature& signature, laptime::Queue& queue) {
              with_product(signature, [&](const Product& p) { prepare_blas(p, kChoice, static_cast<Queue&>(queue)); });
            },
        .launch =
            [](const KernelCall& call) { launch_blas(call, kProductOf(call.attributes, call.in, call.out), kChoice); },
        .product_math =
            [](const Signature& signature) {
              if (kTf32) return ProductMath::kTf32;
              return with_product(signature, [](const Product& p) { return math_of_factors(p.compute); });
            },
        .reproducible = false,
        .library = kBlasName};
  }
};

// The kernels of an op whose calls are products: cuBLASLt's first proposals, from which trial runs choose the fastest,
// and our own kernel.
template <ProductOfCall kProductOf>
std::vector<Kernel> product_kernels(const OpCard& op) {
  std::vector<Kernel> kernels;
  [&]<int... kAlgorithms>(std::integer_sequence<int, kAlgorithms...>) {
    (kernels.push_back(BlasKernel<kProductOf, kAlgorithms, false>::of(op)), ...);
    (kernels.push_back(BlasKernel<kProductOf, kAlgorithms, true>::of(op)), ...);
  }
  (std::make_integer_sequence<int, kBlasAlgorithms>());
  [&]<int... kAlgorithms>(std::integer_sequence<int, kAlgorithms...>) {
    (kernels.push_back(BlasKernel<kProductOf, kAlgorithms, false, false, true>::of(op)), ...);
    (kernels.push_back(BlasKernel<kProductOf, kAlgorithms, true, false, true>::of(op)), ...);
  }
  (std::make_integer_sequence<int, kPaddedAlgorithms>());
  kernels.push_back(
      {.op = &op,
       .name = "tiles",
       .launch = [](const KernelCall& call) { launch_product(call, kProductOf(call.attributes, call.in, call.out)); },
       .product_math =
           [](const Signature& signature) {
             const ViewsOfSignature views(signature);
             return math_of_factors(kProductOf(signature.attributes, views.in, views.out).compute);
           }});
  return kernels;
}

}  // namespace laptime::cuda
