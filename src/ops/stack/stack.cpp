// Cards of stack and concat.
#include "ops/stack/stack.h"

#include "graph/structural_ops.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> in) {
  LAPTIME_CHECK(in[0].shape() == in[1].shape() && in[0].dtype == in[1].dtype, "cannot stack {} with {}", in[0].text(),
                in[1].text());
  Shape shape = in[0].shape();
  shape.insert(attributes.as<StackAttributes>().axis, 2);
  return {contiguous_type(in[0].dtype, shape)};
}

void reference(const OpCall& call) {
  for (size_t which = 0; which < 2; ++which) {
    const TensorView part = stacked_part(call.attributes, call.out[0], which);
    for (int64_t i = 0; i < part.numel(); ++i) part.put(i, call.in[which].at(i));
  }
}

void gradient(GradientContext& c) {
  const int axis = c.attributes.as<StackAttributes>().axis;
  for (int which = 0; which < 2; ++which) {
    if (!c.wanted[static_cast<size_t>(which)]) continue;
    const ValueId part = slice(c.build, c.grad_out[0], axis, which, 1);
    c.grad_in[static_cast<size_t>(which)] = reshape(c.build, part, c.build.shape(c.in[0]));
  }
}

std::vector<TensorType> infer_concat(const Attributes& attributes, std::span<const TensorType> in) {
  const int axis = attributes.as<ConcatAttributes>().axis;
  Shape shape = in[0].shape();
  shape[axis] = in[1].shape()[axis];
  LAPTIME_CHECK(in[1].shape() == shape && in[0].dtype == in[1].dtype, "cannot concatenate {} with {}", in[0].text(),
                in[1].text());
  shape[axis] += in[0].shape()[axis];
  return {contiguous_type(in[0].dtype, shape)};
}

void reference_concat(const OpCall& call) {
  for (size_t which = 0; which < 2; ++which) {
    const TensorView part = concatenated_part(call.attributes, call.in, call.out[0], which);
    for (int64_t i = 0; i < part.numel(); ++i) part.put(i, call.in[which].at(i));
  }
}

void gradient_concat(GradientContext& c) {
  const int axis = c.attributes.as<ConcatAttributes>().axis;
  int64_t begin = 0;
  for (size_t which = 0; which < 2; ++which) {
    const int64_t size = c.build.shape(c.in[which])[axis];
    if (c.wanted[which]) c.grad_in[which] = slice(c.build, c.grad_out[0], axis, begin, size);
    begin += size;
  }
}

}  // namespace

const OpCard kConcat = {.name = "concat",
                        .kind = OpKind::kCopy,
                        .infer = infer_concat,
                        .gradient = gradient_concat,
                        .autocast = Autocast::kPromote,
                        .reference = reference_concat};
const OpCard kStack = {
    .name = "stack", .kind = OpKind::kCopy, .infer = infer, .gradient = gradient, .reference = reference};

TensorView stacked_part(const Attributes& attributes, const TensorView& result, size_t which) {
  const int axis = attributes.as<StackAttributes>().axis;
  Layout layout = sliced(result.type.layout, axis, static_cast<int64_t>(which), 1, 1);
  layout.shape.erase(axis);
  layout.strides.erase(axis);
  return {result.data, {result.type.dtype, layout}};
}

TensorView concatenated_part(const Attributes& attributes, std::span<const TensorView> in, const TensorView& result,
                             size_t which) {
  const int axis = attributes.as<ConcatAttributes>().axis;
  const int64_t begin = which == 0 ? 0 : in[0].shape()[axis];
  return {result.data, {result.type.dtype, sliced(result.type.layout, axis, begin, in[which].shape()[axis], 1)}};
}

std::span<const OpCard* const> stack_cards() {
  static constexpr const OpCard* kCards[] = {&kStack, &kConcat};
  return kCards;
}

ValueId stack(Builder& build, ValueId a, ValueId b, int axis) {
  const int at = axis < 0 ? axis + build.shape(a).rank() + 1 : axis;
  return build.emit_one(kStack, StackAttributes{at}, {a, b});
}

ValueId concat(Builder& build, ValueId a, ValueId b, int axis) {
  const int at = axis < 0 ? axis + build.shape(a).rank() : axis;
  return build.emit_one(kConcat, ConcatAttributes{at}, {a, b});
}

}  // namespace laptime
