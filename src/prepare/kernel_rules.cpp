// Applies --float32-precision and --reproducible to kernels.
#include "prepare/kernel_rules.h"

#include <algorithm>
#include <span>

namespace laptime {
namespace {

bool splits(const Kernel& kernel, const Signature& signature) {
  return kernel.math_of_products(signature) == ProductMath::kSplit;
}

// Whether another kernel of the op can split the products of a signature.
bool has_splitting_kernel(const KernelTable& kernels, const Signature& signature) {
  const std::span<const Kernel> of_op = kernels.of(*signature.op);
  return std::any_of(of_op.begin(), of_op.end(),
                     [&](const Kernel& other) { return splits(other, signature) && other.refusal(signature).empty(); });
}

}  // namespace

KernelRules rules_of(const RunConfig& config) { return {config.float32_precision, config.reproducible}; }

std::string key_of(const KernelRules& rules) {
  std::string key;
  if (rules.float32_precision != Float32Precision::kAuto) key += "/" + std::string(name_of(rules.float32_precision));
  if (rules.reproducible) key += "/reproducible";
  return key;
}

std::string refusal(const Kernel& kernel, const KernelTable& kernels, const Signature& signature,
                    const KernelRules& rules) {
  if (std::string reason = kernel.refusal(signature); !reason.empty()) return reason;
  if (rules.reproducible && !kernel.reproducible) return "--reproducible: its bits are its own";
  const ProductMath math = kernel.math_of_products(signature);
  switch (rules.float32_precision) {
    case Float32Precision::kAuto: break;
    case Float32Precision::kIeee:
      if (math == ProductMath::kSplit) return "--float32-precision ieee: its factors are split into bfloat16 terms";
      break;
    case Float32Precision::kSplit:
      if (math == ProductMath::kFloat32 && has_splitting_kernel(kernels, signature))
        return "--float32-precision split: its products are multiply-adds in float32";
      break;
  }
  return "";
}

}  // namespace laptime
