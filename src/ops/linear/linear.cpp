// Linear: y = x W^T (+ bias).
#include "ops/linear/linear.h"

#include "graph/structural_ops.h"
#include "ops/matmul/matmul.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  LAPTIME_CHECK(in[0].shape().back() == in[1].shape().back(), "{} by {}", in[0].text(), in[1].text());
  Shape shape = in[0].shape();
  shape[-1] = in[1].shape()[0];
  return {contiguous_type(promote(in[0].dtype, in[1].dtype), shape)};
}

void reference(const OpCall& call) {
  const int64_t inner = call.in[1].shape()[1];
  const int64_t outer = call.in[1].shape()[0];
  for (int64_t i = 0; i < call.out[0].numel(); ++i) {
    double total = call.in.size() > 2 ? call.in[2].at(i % outer) : 0;
    for (int64_t k = 0; k < inner; ++k)
      total += call.in[0].at(i / outer * inner + k) * call.in[1].at(i % outer * inner + k);
    call.out[0].put(i, total);
  }
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const Shape& shape = build.shape(in[0]);
  const int64_t inner = shape.back();
  const int64_t outer = build.shape(in[1])[0];
  const int64_t rows = shape.product() / inner;
  Shape result_shape = shape;
  result_shape[-1] = outer;
  ValueId y;
  const ValueId weight = transpose(build, in[1], 0, 1);
  if (attributes.as<LinearAttributes>().form == LinearForm::kEinsum) {
    y = matmul(build, reshape(build, in[0], {1, rows, inner}), reshape(build, weight, {1, inner, outer}));
  } else {
    const ValueId x = reshape(build, in[0], {rows, inner});
    y = in.size() > 2 ? addmm(build, in[2], x, weight) : matmul(build, x, weight);
  }
  return {reshape(build, y, result_shape)};
}

}  // namespace

const char* name_of(LinearForm form) { return form == LinearForm::kEinsum ? "einsum" : "linear"; }

const OpCard kLinear = {.name = "linear",
                        .kind = OpKind::kContraction,
                        .infer = infer,
                        .flops =
                            [](const Signature& s) {
                              return 2.0 * static_cast<double>(s.out[0].numel()) *
                                     static_cast<double>(s.in[1].shape()[1]);
                            },
                        .autocast = Autocast::kLower,
                        .reference = reference,
                        .decompose = decompose};

std::span<const OpCard* const> linear_cards() {
  static constexpr const OpCard* kCards[] = {&kLinear};
  return kCards;
}

ValueId linear(Builder& build, ValueId x, ValueId weight, ValueId bias, LinearForm form) {
  LAPTIME_CHECK(!bias.valid() || form == LinearForm::kLinear, "einsum takes no bias");
  std::vector<ValueId> inputs{x, weight};
  if (bias.valid()) inputs.push_back(bias);
  return build.emit(kLinear, LinearAttributes{form}, inputs)[0];
}

}  // namespace laptime
