// KernelTable, and reference implementations as kernels.
#include "backend/kernel.h"

#include <utility>

namespace laptime {

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
          .supports = nullptr,
          .workspace = nullptr,
          .prepare = nullptr,
          .launch =
              [](const KernelCall& call) {
                call.op.reference({call.attributes, call.in, call.out});
              },
          .product_math = op.kind == OpKind::kContraction ? [](const Signature&) { return ProductMath::kFloat64; }
                                                          : static_cast<ProductMath (*)(const Signature&)>(nullptr)};
}

}  // namespace laptime
