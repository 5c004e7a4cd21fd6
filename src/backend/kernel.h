// Kernel: one implementation of an op on one backend.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/op.h"

namespace laptime {

// Executes launches, for example on a thread team or a stream. Each backend derives its own class.
class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  virtual ~Queue() = default;
};

// Arguments of a launch. Outputs are uninitialised unless they share the memory of an input; an optional output that no
// node reads has null data.
struct KernelCall {
  const OpCard& op;
  const Attributes& attributes;
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  std::byte* workspace = nullptr;  // Kernel::workspace_bytes bytes, aligned to 64
  Queue& queue;
};

// The arithmetic in which a kernel computes the products of a contraction.
enum class ProductMath : uint8_t {
  kNone,      // the op multiplies no matrices
  kFloat32,   // float32 factors, multiply-adds in float32
  kTf32,      // float32 factors rounded to the 10 mantissa bits of TF32, and sums in float32
  kBFloat16,  // factors in bfloat16, or rounded to it, and sums in float32
  kFloat16,   // factors in float16, or rounded to it, widened to float32, and sums in float32
  kSplit,     // float32 factors, each as three bfloat16 terms (docs/adr/0009), and sums in float32
  kFloat64,   // sums in float64; used by the reference
};

// "float32", "tf32", "bfloat16", ...: the name used in messages.
const char* name_of(ProductMath math);

// The arithmetic of a kernel that multiplies factors of this type without rounding them.
constexpr ProductMath math_of_factors(DType factors) {
  if (factors == DType::kBFloat16) return ProductMath::kBFloat16;
  return factors == DType::kFloat16 ? ProductMath::kFloat16 : ProductMath::kFloat32;
}

// A launch must not log, throw or read a clock, and should not allocate.
struct Kernel {
  const OpCard* op = nullptr;
  std::string name;  // "rows_avx512"
  // Returns an empty string if the kernel supports the signature, otherwise the reason why it does not.
  std::string (*supports)(const Signature&) = nullptr;
  // Returns the bytes of workspace; null if none is needed. The result must not depend on the number of threads, so
  // that a plan is valid for any number of them.
  int64_t (*workspace)(const Signature&) = nullptr;
  // Creates objects that launches of this signature look up in the queue, such as primitives of a library. Runs before
  // the first launch, and has no effect when run again. May allocate and throw. Null if there is nothing to prepare.
  void (*prepare)(const Signature&, Queue&) = nullptr;
  void (*launch)(const KernelCall&) = nullptr;
  // The arithmetic of the products for a signature; null if the op multiplies no matrices.
  ProductMath (*product_math)(const Signature&) = nullptr;
  // True if denormal operands and results of products are treated as zero, as AMX and the bfloat16 dot product do.
  bool flushes_denormals = false;
  // True if intermediate values that a later product of the op multiplies are rounded to the type of the op's factors,
  // as happens under autocast when the op is lowered to primitives (docs/adr/0017).
  bool rounds_between_products = false;
  // True if the kernel gives the same bits as every other kernel of the op with this flag, apart from the reference, on
  // any x86-64 processor with fused multiply-adds and for any number of threads. False for library kernels, and for
  // kernels whose instructions round differently.
  bool reproducible = true;
  // A library that the kernel needs and that a device may lack; null if there is none, or if it is part of the program.
  const char* library = nullptr;

  ProductMath math_of_products(const Signature& signature) const {
    return product_math == nullptr ? ProductMath::kNone : product_math(signature);
  }
  std::string refusal(const Signature& signature) const {
    return supports == nullptr ? std::string() : supports(signature);
  }
  int64_t workspace_bytes(const Signature& signature) const { return workspace == nullptr ? 0 : workspace(signature); }
};

// The kernels for one kind of device, by op. Can be used without such a device.
class KernelTable {
 public:
  // Kernels of one op are in order of preference; kernels of different ops may be interleaved.
  explicit KernelTable(std::vector<Kernel> kernels);

  // The kernels of an op in order of preference, with the reference, if there is one, last; empty if the device cannot
  // run the op.
  std::span<const Kernel> of(const OpCard& op) const;
  // Ops that have a kernel, in the order of their first kernels.
  const std::vector<const OpCard*>& ops() const { return ops_; }

 private:
  std::unordered_map<const OpCard*, std::vector<Kernel>> kernels_;
  std::vector<const OpCard*> ops_;
};

// The reference implementation of an op as a kernel: single-threaded and slow, for checking other kernels.
Kernel reference_kernel(const OpCard& op);
inline constexpr const char* kReferenceName = "reference";

}  // namespace laptime
