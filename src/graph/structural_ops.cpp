// Cards of the structural ops, and the functions that add them to a graph.
#include "graph/structural_ops.h"

namespace laptime {
namespace {

std::optional<Layout> view_reshape(const Attributes& attributes, const Layout& in) {
  return reshaped(in, attributes.as<ReshapeAttributes>().shape);
}
std::optional<Layout> view_permute(const Attributes& attributes, const Layout& in) {
  return permuted(in, attributes.as<PermuteAttributes>().axes);
}
std::optional<Layout> view_expand(const Attributes& attributes, const Layout& in) {
  return expanded(in, attributes.as<ReshapeAttributes>().shape);
}
std::optional<Layout> view_slice(const Attributes& attributes, const Layout& in) {
  const auto& at = attributes.as<SliceAttributes>();
  return sliced(in, at.axis, at.begin, at.size, at.step);
}

std::vector<TensorType> infer_contiguous(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[0].dtype, in[0].shape())};
}

// As in PyTorch, a cast keeps the order of the axes in memory.
std::vector<TensorType> infer_cast(const Attributes& attributes, std::span<const TensorType> in) {
  return {{attributes.as<CastAttributes>().dtype, dense_like(in[0].layout)}};
}

std::vector<TensorType> infer_fill(const Attributes& attributes, std::span<const TensorType>) {
  const auto& fill = attributes.as<FillAttributes>();
  return {contiguous_type(fill.dtype, fill.shape)};
}

std::vector<TensorType> infer_assign(const Attributes&, std::span<const TensorType> in) {
  LAPTIME_CHECK(in[0].shape() == in[1].shape(), "{} to {}", in[1].text(), in[0].text());
  return {in[0]};
}

std::vector<TensorType> infer_gradients(const Attributes& attributes, std::span<const TensorType> in) {
  return {in.begin() + 1, in.begin() + 1 + attributes.as<GradientsAttributes>().count};
}

std::vector<TensorType> infer_slice_backward(const Attributes& attributes, std::span<const TensorType> in) {
  const auto& at = attributes.as<SliceBackwardAttributes>();
  const TensorType out = contiguous_type(at.output.value_or(in[0].dtype), at.shape);
  if (at.addend)
    LAPTIME_CHECK(in[1].dtype == out.dtype && in[1].shape() == out.shape(), "addend {} of {}", in[1].text(),
                  out.text());
  return {out};
}

void copy_elements(const TensorView& from, const TensorView& to) {
  for (int64_t i = 0; i < to.numel(); ++i) to.put(i, from.at(i));
}

void reference_copy(const OpCall& call) { copy_elements(call.in[0], call.out[0]); }
void reference_assign(const OpCall& call) { copy_elements(call.in[1], call.out[0]); }

void reference_fill(const OpCall& call) {
  const double value = call.attributes.as<FillAttributes>().value;
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, value);
}

void reference_slice_backward(const OpCall& call) {
  const auto& at = call.attributes.as<SliceBackwardAttributes>();
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, at.addend ? call.in[1].at(i) : 0);
  TensorView window = call.out[0];
  window.type.layout = sliced(window.type.layout, at.axis, at.begin, call.in[0].shape()[at.axis], at.step);
  for (int64_t i = 0; i < window.numel(); ++i)
    window.put(i, at.addend ? window.at(i) + call.in[0].at(i) : call.in[0].at(i));
}
// If the result overwrites the addend, only the slice is read and written.
int64_t slice_backward_bytes(const Signature& s) {
  const Size slice = Size(s.in[0].numel()) * size_of(s.out[0].dtype);
  const bool addend = s.attributes.as<SliceBackwardAttributes>().addend;
  return (Size(s.in[0].bytes()) + (addend ? slice * 2 : Size(s.out[0].bytes()))).value();
}
std::optional<Attributes> fold_addend_slice_backward(const Attributes& attributes) {
  auto at = attributes.as<SliceBackwardAttributes>();
  if (at.addend) return std::nullopt;
  at.addend = true;
  return at;
}
std::optional<Attributes> fold_output_cast_slice_backward(const Attributes& attributes, int, DType to) {
  auto at = attributes.as<SliceBackwardAttributes>();
  if (at.output || at.addend || to != DType::kFloat32) return std::nullopt;
  at.output = to;
  return at;
}

void gradient_reshape(GradientContext& context) {
  context.grad_in[0] = reshape(context.build, context.grad_out[0], context.build.shape(context.in[0]));
}
void gradient_permute(GradientContext& context) {
  const Dims& axes = context.attributes.as<PermuteAttributes>().axes;
  Dims inverse = axes;
  for (int i = 0; i < axes.rank(); ++i) inverse[static_cast<int>(axes[i])] = i;
  context.grad_in[0] = permute(context.build, context.grad_out[0], inverse);
}
// Passes the gradient on unchanged; the differentiate pass sums over broadcast axes and casts to the input's type.
void gradient_same(GradientContext& context) { context.grad_in[0] = context.grad_out[0]; }
void gradient_slice(GradientContext& context) {
  const auto& at = context.attributes.as<SliceAttributes>();
  const SliceBackwardAttributes attributes{
      .shape = context.build.shape(context.in[0]), .axis = at.axis, .begin = at.begin, .step = at.step};
  context.grad_in[0] = context.build.emit_one(kSliceBackward, attributes, {context.grad_out[0]});
}

}  // namespace

const OpCard kReshape = {.name = "reshape", .kind = OpKind::kView, .view = view_reshape, .gradient = gradient_reshape};
const OpCard kPermute = {.name = "permute", .kind = OpKind::kView, .view = view_permute, .gradient = gradient_permute};
const OpCard kExpand = {.name = "expand", .kind = OpKind::kView, .view = view_expand, .gradient = gradient_same};
const OpCard kSlice = {.name = "slice", .kind = OpKind::kView, .view = view_slice, .gradient = gradient_slice};
const OpCard kContiguous = {.name = "contiguous",
                            .kind = OpKind::kCopy,
                            .infer = infer_contiguous,
                            .gradient = gradient_same,
                            .reference = reference_copy};
const OpCard kCast = {.name = "cast",
                      .kind = OpKind::kCopy,
                      .infer = infer_cast,
                      .gradient = gradient_same,
                      .reference = reference_copy,
                      .is_cast = true};
const OpCard kFill = {.name = "fill", .kind = OpKind::kCopy, .infer = infer_fill, .reference = reference_fill};
const OpCard kAssign = {.name = "assign",
                        .kind = OpKind::kCopy,
                        .infer = infer_assign,
                        .bytes = [](const Signature& s) { return (Size(s.in[1].bytes()) + s.out[0].bytes()).value(); },
                        .reference = reference_assign,
                        .updates = {{0, 0}}};
const OpCard kSliceBackward = {.name = "slice_backward",
                               .kind = OpKind::kCopy,
                               .infer = infer_slice_backward,
                               .bytes = slice_backward_bytes,
                               .reference = reference_slice_backward,
                               .fold_output_cast = fold_output_cast_slice_backward,
                               .fold_addend = fold_addend_slice_backward,
                               .may_overwrite = {{0, 1}}};
const OpCard kGradients = {.name = "gradients", .kind = OpKind::kSymbolic, .infer = infer_gradients};

std::span<const OpCard* const> structural_cards() {
  static constexpr const OpCard* kCards[] = {&kReshape, &kPermute, &kExpand, &kSlice,         &kContiguous,
                                             &kCast,    &kFill,    &kAssign, &kSliceBackward, &kGradients};
  return kCards;
}

ValueId reshape(Builder& build, ValueId x, const Shape& shape) {
  return build.emit_one(kReshape, ReshapeAttributes{shape}, {x});
}
ValueId permute(Builder& build, ValueId x, const Dims& axes) {
  return build.emit_one(kPermute, PermuteAttributes{axes}, {x});
}

ValueId transpose(Builder& build, ValueId x, int axis_a, int axis_b) {
  Dims axes;
  for (int i = 0; i < build.shape(x).rank(); ++i) axes.push_back(i);
  std::swap(axes[axis_a], axes[axis_b]);
  return permute(build, x, axes);
}

ValueId expand(Builder& build, ValueId x, const Shape& shape) {
  return build.emit_one(kExpand, ReshapeAttributes{shape}, {x});
}

ValueId slice(Builder& build, ValueId x, int axis, int64_t begin, int64_t size, int64_t step) {
  const int at = axis < 0 ? axis + build.shape(x).rank() : axis;
  return build.emit_one(kSlice, SliceAttributes{at, begin, size, step}, {x});
}

ValueId contiguous(Builder& build, ValueId x) {
  return build.type(x).layout.is_contiguous() ? x : build.emit_one(kContiguous, {}, {x});
}

ValueId cast(Builder& build, ValueId x, DType dtype) {
  return build.dtype(x) == dtype ? x : build.emit_one(kCast, CastAttributes{dtype}, {x});
}

ValueId fill(Builder& build, const Shape& shape, double value, DType dtype) {
  return build.emit_one(kFill, FillAttributes{shape, value, dtype}, {});
}

ValueId assign(Builder& build, ValueId state, ValueId value) { return build.emit_one(kAssign, {}, {state, value}); }

std::vector<ValueId> gradients(Builder& build, ValueId loss, std::span<const ValueId> parameters,
                               std::span<const ValueId> earlier) {
  LAPTIME_CHECK(earlier.empty() || earlier.size() == parameters.size(), "{} earlier gradients of {}", earlier.size(),
                parameters.size());
  std::vector<ValueId> inputs{loss};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  inputs.insert(inputs.end(), earlier.begin(), earlier.end());
  std::vector<ValueId> values =
      build.emit(kGradients, GradientsAttributes{static_cast<int64_t>(parameters.size())}, inputs);
  for (const ValueId value : values) build.mark_role(value, Role::kGradient);
  return values;
}

}  // namespace laptime
