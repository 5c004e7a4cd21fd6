// Linear layer: kernels compared with the reference, gradients, and folded casts.
#include "ops/linear/linear.h"

#include "support/conformance.h"
#include "support/gradient_check.h"
#include "support/products.h"

namespace laptime::test {
namespace {

LinearAttributes attributes_of(bool bias, const ProductAttributes& product) {
  return {bias ? LinearForm::kLinear : LinearForm::kEinsum, product};
}

// Sizes that leave remainders in the blocks of rows, inputs and outputs.
struct LinearSizes {
  Shape x;
  int64_t outputs;
};
const std::vector<LinearSizes>& all_sizes() {
  static const std::vector<LinearSizes> kSizes{{{1, 1}, 1},       {{5, 7}, 3},   {{2, 3, 33}, 17}, {{1, 29, 19}, 50},
                                               {{2, 2, 4, 9}, 1}, {{7, 1}, 100}, {{2, 9, 385}, 7}, {{1, 100}, 33}};
  return kSizes;
}

std::vector<Operand> inputs_of(const LinearSizes& sizes, bool bias, bool addend) {
  std::vector<Operand> inputs{{.shape = sizes.x}, {.shape = {sizes.outputs, sizes.x.back()}}};
  if (bias) inputs.push_back({.shape = {sizes.outputs}});
  Shape out = sizes.x;
  out[-1] = sizes.outputs;
  if (addend) inputs.push_back({.shape = out, .dtype = DType::kFloat32});
  return inputs;
}

// The slack is large, because long sums add more rounding error than small changes of the factors cause.
std::vector<ConformanceCase> linear_rows(const ProductAttributes& product) {
  std::vector<ConformanceCase> rows;
  for (const LinearSizes& sizes : all_sizes()) {
    for (const bool bias : {false, true}) {
      rows.push_back({.op = &kLinear,
                      .attributes = attributes_of(bias, product),
                      .inputs = inputs_of(sizes, bias, product.addend),
                      .arrangements = {Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kPadded},
                      .may_refuse = all_arrangements(),
                      .slack = 24,
                      .absolute = 24,
                      .plain = plain_linear});
    }
  }
  return rows;
}

LAPTIME_CONFORMANCE(Linear, linear_rows({}));
LAPTIME_CONFORMANCE(LinearPadded, linear_rows({.compute = {}, .output = {}, .padded = true}));
LAPTIME_CONFORMANCE(LinearAddend, linear_rows({.compute = {}, .output = {}, .addend = true}));
LAPTIME_CONFORMANCE(LinearRoundedToFloat16, linear_rows({.compute = DType::kFloat16, .output = {}, .addend = false}));
LAPTIME_CONFORMANCE(LinearRounded, linear_rows({.compute = DType::kBFloat16, .output = {}, .addend = false}));
LAPTIME_CONFORMANCE(LinearFolded,
                    linear_rows({.compute = DType::kBFloat16, .output = DType::kFloat32, .addend = true}));

TEST(Linear, GradientMatchesFiniteDifferences) {
  for (const bool bias : {false, true}) {
    for (const bool addend : {false, true}) {
      std::vector<Operand> inputs = inputs_of({{2, 3, 4}, 5}, bias, addend);
      if (addend) inputs.back().dtype.reset();
      expect_gradient(
          {.op = &kLinear, .attributes = attributes_of(bias, {{}, {}, addend}), .inputs = std::move(inputs)});
    }
  }
}

TEST(Linear, FoldsOnlyCompatibleCasts) {
  const Attributes plain = LinearAttributes{LinearForm::kLinear, {}};
  EXPECT_EQ(plain.text(), "form=linear");
  const Attributes in = *kLinear.fold_input_cast(plain, 2, DType::kBFloat16);
  EXPECT_EQ(in.text(), "form=linear compute=bfloat16");
  EXPECT_EQ(kLinear.fold_output_cast(in, 0, DType::kFloat32)->text(), "form=linear compute=bfloat16 output=float32");
  EXPECT_FALSE(kLinear.fold_input_cast(in, 0, DType::kFloat32));
  EXPECT_TRUE(kLinear.fold_input_cast(plain, 0, DType::kFloat16));
  EXPECT_FALSE(kLinear.fold_input_cast(in, 0, DType::kFloat16));
  // Input 2 may be an addend, which is never rounded.
  const Attributes addend = LinearAttributes{LinearForm::kLinear, {{}, {}, true}};
  EXPECT_FALSE(kLinear.fold_input_cast(addend, 2, DType::kBFloat16));
  EXPECT_TRUE(kLinear.fold_input_cast(addend, 1, DType::kBFloat16));
}

TEST(Linear, AttributesDetermineTheResultType) {
  const auto result = [](const ProductAttributes& product, DType dtype) {
    std::vector<TensorType> in{contiguous_type(dtype, {2, 3}), contiguous_type(dtype, {4, 3})};
    if (product.addend) in.push_back(contiguous_type(DType::kFloat32, {2, 4}));
    return kLinear.infer(LinearAttributes{LinearForm::kEinsum, product}, in)[0].dtype;
  };
  EXPECT_EQ(result({}, DType::kBFloat16), DType::kBFloat16);
  EXPECT_EQ(result({DType::kBFloat16, {}, false}, DType::kFloat32), DType::kBFloat16);
  EXPECT_EQ(result({DType::kBFloat16, {}, true}, DType::kFloat32), DType::kFloat32);
  EXPECT_EQ(result({{}, DType::kFloat32, false}, DType::kBFloat16), DType::kFloat32);
}

}  // namespace
}  // namespace laptime::test
