// Cards of sum, mean and max.
#include "ops/reduce/reduce.h"

#include <cmath>

#include "graph/structural_ops.h"
#include "ops/gather/gather.h"
#include "ops/pointwise/pointwise.h"

namespace laptime {
namespace {

// Returns the shape with the reduced axes set to size 1.
Shape reduced_shape(Shape shape, const Dims& axes) {
  for (const int64_t axis : axes) shape[static_cast<int>(axis)] = 1;
  return shape;
}

int64_t reduced_count(const TensorType& in, const TensorType& out) { return in.numel() / out.numel(); }

std::vector<TensorType> infer_axes(const Attributes& attributes, std::span<const TensorType> in) {
  return {contiguous_type(in[0].dtype, reduced_shape(in[0].shape(), attributes.as<AxesAttributes>().axes))};
}

std::vector<TensorType> infer_max(const Attributes&, std::span<const TensorType> in) {
  const Shape shape = reduced_shape(in[0].shape(), {in[0].shape().rank() - 1});
  return {contiguous_type(in[0].dtype, shape), contiguous_type(DType::kInt64, shape)};
}

double input_flops(const Signature& s) { return static_cast<double>(s.in[0].numel()); }

// out = scale * sum over the reduced axes; the terms of each sum are in row-major order.
void reduce_reference(const OpCall& call, double scale) {
  const TensorView& out = call.out[0];
  std::vector<double> sums(static_cast<size_t>(out.numel()), 0.0);
  // Expanded to the shape of the input, the layout of the output maps each input element to its sum.
  const Layout sum_layout = expanded(Layout::contiguous(out.shape()), call.in[0].shape());
  const TensorView target{nullptr, {DType::kFloat64, sum_layout}};
  for (int64_t i = 0; i < call.in[0].numel(); ++i) sums[static_cast<size_t>(target.position(i))] += call.in[0].at(i);
  for (int64_t i = 0; i < out.numel(); ++i) out.put(i, scale * sums[static_cast<size_t>(i)]);
}

void reference_sum(const OpCall& call) { reduce_reference(call, 1); }
void reference_mean(const OpCall& call) {
  reduce_reference(call, 1 / static_cast<double>(reduced_count(call.in[0].type, call.out[0].type)));
}

void reference_max(const OpCall& call) {
  const int64_t columns = call.in[0].shape().back();
  for (int64_t row = 0; row < call.out[0].numel(); ++row) {
    int64_t index = 0;
    double row_max = call.in[0].at(row * columns);
    for (int64_t i = 1; i < columns && !std::isnan(row_max); ++i) {
      const double value = call.in[0].at(row * columns + i);
      if (value > row_max || std::isnan(value)) {
        row_max = value;
        index = i;
      }
    }
    call.out[0].put(row, row_max);
    if (call.out[1].data != nullptr) call.out[1].put(row, static_cast<double>(index));
  }
}

void gradient_sum(GradientContext& c) { c.grad_in[0] = expand(c.build, c.grad_out[0], c.build.shape(c.in[0])); }

void gradient_mean(GradientContext& c) {
  const auto count = static_cast<double>(reduced_count(c.build.type(c.in[0]), c.build.type(c.out[0])));
  c.grad_in[0] = div_scalar(c.build, expand(c.build, c.grad_out[0], c.build.shape(c.in[0])), count);
}

void gradient_max(GradientContext& c) {
  c.grad_in[0] = scatter(c.build, c.grad_out[0], c.out[1], c.build.shape(c.in[0]).back());
}

Dims all_axes(const Shape& shape) {
  Dims axes;
  for (int i = 0; i < shape.rank(); ++i) axes.push_back(i);
  return axes;
}

}  // namespace

const OpCard kSum = {.name = "sum",
                     .kind = OpKind::kReduction,
                     .infer = infer_axes,
                     .gradient = gradient_sum,
                     .flops = input_flops,
                     .autocast = Autocast::kFloat32,
                     .reference = reference_sum};
const OpCard kMean = {.name = "mean",
                      .kind = OpKind::kReduction,
                      .infer = infer_axes,
                      .gradient = gradient_mean,
                      .flops = input_flops,
                      .reference = reference_mean};
const OpCard kMax = {.name = "max",
                     .kind = OpKind::kReduction,
                     .infer = infer_max,
                     .gradient = gradient_max,
                     .flops = input_flops,
                     .reference = reference_max,
                     .optional_outputs = {1}};

std::span<const OpCard* const> reduce_cards() {
  static constexpr const OpCard* kCards[] = {&kSum, &kMean, &kMax};
  return kCards;
}

ValueId sum(Builder& build, ValueId x, const Dims& axes) { return build.emit_one(kSum, AxesAttributes{axes}, {x}); }
ValueId mean(Builder& build, ValueId x, const Dims& axes) { return build.emit_one(kMean, AxesAttributes{axes}, {x}); }
ValueId sum_all(Builder& build, ValueId x) { return reshape(build, sum(build, x, all_axes(build.shape(x))), {}); }
ValueId mean_all(Builder& build, ValueId x) { return reshape(build, mean(build, x, all_axes(build.shape(x))), {}); }
std::vector<ValueId> max_last(Builder& build, ValueId x) { return build.emit(kMax, {}, std::span(&x, 1)); }

}  // namespace laptime
