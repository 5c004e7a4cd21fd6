// RMSNorm over the last axis: y = weight * (x * rsqrt(mean(x^2) + eps))   (Zhang and Sennrich 2019)
#include "ops/rms_norm/rms_norm.h"

#include <cmath>

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"

namespace laptime {
namespace {

DType wide_type(DType x) { return x == DType::kFloat64 ? x : DType::kFloat32; }

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  Shape rows = in[0].shape();
  rows[-1] = 1;
  return {contiguous_type(in[0].dtype, in[0].shape()), contiguous_type(wide_type(in[0].dtype), rows)};
}

void reference(const OpCall& call) {
  const TensorView& x = call.in[0];
  const int64_t columns = x.shape().back();
  for (int64_t row = 0; row < x.numel() / columns; ++row) {
    double squares = 0;
    for (int64_t i = 0; i < columns; ++i) squares += x.at(row * columns + i) * x.at(row * columns + i);
    const double rstd =
        1 / std::sqrt(squares / static_cast<double>(columns) + call.attributes.as<RmsNormAttributes>().eps);
    for (int64_t i = 0; i < columns; ++i)
      call.out[0].put(row * columns + i, call.in[1].at(i) * (x.at(row * columns + i) * rstd));
    if (call.out[1].data != nullptr) call.out[1].put(row, rstd);
  }
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const DType narrow = build.dtype(in[0]);
  const ValueId x = cast(build, in[0], wide_type(narrow));
  const ValueId mean_square = mean(build, pow(build, x, 2), {build.shape(x).rank() - 1});
  const ValueId rstd = rsqrt(build, add_scalar(build, mean_square, attributes.as<RmsNormAttributes>().eps));
  return {cast(build, mul(build, in[1], mul(build, x, rstd)), narrow), {}};
}

}  // namespace

const OpCard kRmsNorm = {.name = "rms_norm",
                         .kind = OpKind::kReduction,
                         .infer = infer,
                         .flops = [](const Signature& s) { return 4.0 * static_cast<double>(s.in[0].numel()); },
                         .reference = reference,
                         .decompose = decompose,
                         .optional_outputs = {1}};

std::span<const OpCard* const> rms_norm_cards() {
  static constexpr const OpCard* kCards[] = {&kRmsNorm};
  return kCards;
}

ValueId rms_norm(Builder& build, ValueId x, ValueId weight, double eps) {
  return build.emit_one(kRmsNorm, RmsNormAttributes{eps}, {x, weight});
}

}  // namespace laptime
