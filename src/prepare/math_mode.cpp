// Describes the arithmetic of the products in a plan.
#include "prepare/math_mode.h"

#include <array>

namespace laptime {
namespace {

// What the steps that multiply matrices do.
struct Products {
  std::array<int, 7> count{};  // by ProductMath
  bool flushes_denormals = false;

  int of(ProductMath math) const { return count[static_cast<size_t>(math)]; }
};

Products products_of(const Plan& plan) {
  Products products;
  for (const PlanStep& step : plan.steps) {
    const ProductMath math = step.kernel->math_of_products(step.signature());
    if (math == ProductMath::kNone) continue;
    ++products.count[static_cast<size_t>(math)];
    products.flushes_denormals = products.flushes_denormals || step.kernel->flushes_denormals;
  }
  return products;
}

}  // namespace

std::string math_mode(const Plan& plan, const Device& device) {
  if (!device.computes) return device.requested_math + ", predicted";
  const Products products = products_of(plan);
  const int float32 = products.of(ProductMath::kFloat32);
  const int tf32 = products.of(ProductMath::kTf32);
  const int split = products.of(ProductMath::kSplit);
  const int bfloat16 = products.of(ProductMath::kBFloat16);
  const int float16 = products.of(ProductMath::kFloat16);
  const int reference = products.of(ProductMath::kFloat64);
  // A step without products, such as that of the optimizer alone, has the arithmetic that was asked for.
  std::string text = float32 + tf32 + split + bfloat16 + float16 == 0 ? device.requested_math
                     : bfloat16 > 0                                   ? "bfloat16 autocast, float32 accumulation"
                     : float16 > 0 ? "float16 autocast, factors widened to float32, float32 accumulation"
                     : tf32 > 0    ? "tf32, float32 accumulation"
                                   : "float32";
  if (tf32 > 0 && float32 > 0) text += ", some products in float32";
  if (split > 0) {
    text += float32 > 0 ? ", some" : ",";
    text += bfloat16 > 0 ? " float32 products of three bfloat16 terms" : " products of three bfloat16 terms";
  }
  if (reference > 0) text += ", products of the reference in float64";
  if (products.flushes_denormals) text += ", denormals in products are zero";
  return text;
}

}  // namespace laptime
