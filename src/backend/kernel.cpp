// Implements KernelTable, and wraps reference implementations as kernels.
#include "backend/kernel.h"

#include <utility>

namespace laptime {

const char* name_of(ProductMath math) {
  switch (math) {
    case ProductMath::kNone: return "none";
    case ProductMath::kFloat32: return "float32";
    case ProductMath::kTf32: return "tf32";
    case ProductMath::kBFloat16: return "bfloat16";
    case ProductMath::kFloat16: return "float16";
    case ProductMath::kSplit: return "float32 as bfloat16 terms";
    case ProductMath::kFloat64: return "float64";
  }
  return "?";
}

KernelTable::KernelTable(std::vector<Kernel> kernels) {
  for (Kernel& kernel : kernels) {
    std::vector<Kernel>& of_op = kernels_[kernel.op];
    if (of_op.empty()) ops_.push_back(kernel.op);
    of_op.push_back(std::move(kernel));
  }
}

std::span<const Kernel> KernelTable::of(const OpCard& op) const {
  const auto found = kernels_.find(&op);
  if (found == kernels_.end()) return {};
  return found->second;
}

Kernel reference_kernel(const OpCard& op) {
  LAPTIME_CHECK(op.reference != nullptr, "{} has no reference", op.name);
  return {.op = &op,
          .name = kReferenceName,
          .launch =
              [](const KernelCall& call) {
                call.op.reference({call.attributes, call.in, call.out});
              },
          .product_math = op.kind == OpKind::kContraction ? [](const Signature&) { return ProductMath::kFloat64; }
                                                          : static_cast<ProductMath (*)(const Signature&)>(nullptr)};
}

}  // namespace laptime
