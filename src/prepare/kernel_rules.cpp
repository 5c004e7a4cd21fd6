// Applies --float32-precision, --reproducible and --dtype tf32 to kernels.
#include "prepare/kernel_rules.h"

#include <algorithm>
#include <span>

namespace laptime {
namespace {

// True if any kernel of the op can compute the signature's products in this arithmetic.
bool has_kernel_of(ProductMath math, const KernelTable& kernels, const Signature& signature) {
  const std::span<const Kernel> of_op = kernels.of(*signature.op);
  return std::any_of(of_op.begin(), of_op.end(), [&](const Kernel& other) {
    return other.refusal(signature).empty() && other.math_of_products(signature) == math;
  });
}

}  // namespace

KernelRules rules_of(const RunConfig& config) {
  return {config.float32_precision, config.reproducible, config.dtype == Precision::kTf32};
}

std::string key_of(const KernelRules& rules) {
  std::string key;
  if (rules.float32_precision != Float32Precision::kAuto) key += "/" + std::string(name_of(rules.float32_precision));
  if (rules.reproducible) key += "/reproducible";
  if (rules.tf32) key += "/tf32";
  return key;
}

std::string refusal(const Kernel& kernel, const KernelTable& kernels, const Signature& signature,
                    const KernelRules& rules) {
  if (std::string reason = kernel.refusal(signature); !reason.empty()) return reason;
  if (rules.reproducible && !kernel.reproducible)
    return "--reproducible: the kernel's results may differ in their last bits";
  const ProductMath math = kernel.math_of_products(signature);
  if (math == ProductMath::kTf32 && !rules.tf32) return "the kernel rounds factors to tf32, which needs --dtype tf32";
  if (math == ProductMath::kFloat32 && rules.tf32 && has_kernel_of(ProductMath::kTf32, kernels, signature))
    return "--dtype tf32: the kernel computes products in float32";
  switch (rules.float32_precision) {
    case Float32Precision::kAuto: break;
    case Float32Precision::kIeee:
      if (math == ProductMath::kSplit) return "--float32-precision ieee: the kernel splits factors into bfloat16 terms";
      break;
    case Float32Precision::kSplit:
      if (math == ProductMath::kFloat32 && has_kernel_of(ProductMath::kSplit, kernels, signature))
        return "--float32-precision split: the kernel uses float32 multiply-adds";
      break;
  }
  return "";
}

}  // namespace laptime
