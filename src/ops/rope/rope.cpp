// Cards of rotary position embedding.
#include "ops/rope/rope.h"

#include <cmath>

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"
#include "ops/stack/stack.h"

namespace laptime {
namespace {

std::vector<TensorType> infer_table(const Attributes& attributes, std::span<const TensorType>) {
  const auto& a = attributes.as<RopeTableAttributes>();
  const TensorType type = contiguous_type(a.dtype, {a.context_length, a.repeated ? a.d_head : a.d_head / 2});
  return {type, type};
}

// As in torch, frequencies and angles are rounded before they are used: to float64 for a float64 table, otherwise to
// float32.
template <class Real>
void fill_table(const RopeTableAttributes& a, std::span<const TensorView> out) {
  const int64_t half = a.d_head / 2;
  const int64_t columns = a.repeated ? a.d_head : half;
  for (int64_t column = 0; column < columns; ++column) {
    const int64_t i = column % half;
    const Real frequency = scaled_frequency(
        a.scaling, std::pow(static_cast<Real>(a.theta), -(static_cast<Real>(2 * i) / static_cast<Real>(a.d_head))));
    for (int64_t t = 0; t < a.context_length; ++t) {
      const Real angle = static_cast<Real>(t) * frequency;
      out[0].put(t * columns + column, std::cos(angle));
      out[1].put(t * columns + column, std::sin(angle));
    }
  }
}

void reference_table(const OpCall& call) {
  const auto& a = call.attributes.as<RopeTableAttributes>();
  a.dtype == DType::kFloat64 ? fill_table<double>(a, call.out) : fill_table<float>(a, call.out);
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> in) {
  const Shape& shape = in[0].shape();
  const auto& a = attributes.as<RopeAttributes>();
  const Shape& table = in[1].shape();
  const int64_t rotated = rotated_width(a.form, table.back());
  const bool fits =
      a.form == RopeForm::kRotateHalf ? rotated <= shape.back() && rotated % 2 == 0 : rotated == shape.back();
  LAPTIME_CHECK(fits && table == Shape({shape[-2], table.back()}) && in[2].shape() == table,
                "cannot rotate {} with tables {}", in[0].text(), in[1].text());
  const DType dtype = a.y_dtype.value_or(promote(in[0].dtype, in[1].dtype));
  return {{dtype, dense_like(in[0].layout)}};
}

// Rotates each pair. A row is read before it is written, so that y may overwrite x.
void rotate(const OpCall& call, bool inverse) {
  const TensorView& x = call.in[0];
  const int64_t width = x.shape().back();
  const int64_t positions = x.shape()[-2];
  const RopeForm form = call.attributes.as<RopeAttributes>().form;
  const int64_t columns = call.in[1].shape().back();
  const int64_t half = rotated_width(form, columns) / 2;
  const RopePlaces places(form, inverse);
  std::vector<double> row(static_cast<size_t>(width));
  for (int64_t begin = 0; begin < x.numel(); begin += width) {
    for (int64_t i = 0; i < width; ++i) row[static_cast<size_t>(i)] = x.at(begin + i);
    for (int64_t i = 0; i < half; ++i) {
      const int64_t angle = begin / width % positions * columns + i;
      const double cos = call.in[1].at(angle);
      const double sin = inverse ? -call.in[2].at(angle) : call.in[2].at(angle);
      const double x1 = row[static_cast<size_t>(places.from_halves ? i : 2 * i)];
      const double x2 = row[static_cast<size_t>(places.from_halves ? half + i : 2 * i + 1)];
      call.out[0].put(begin + (places.to_halves ? i : 2 * i), cos * x1 - sin * x2);
      call.out[0].put(begin + (places.to_halves ? half + i : 2 * i + 1), sin * x1 + cos * x2);
    }
    for (int64_t i = 2 * half; i < width; ++i) call.out[0].put(begin + i, row[static_cast<size_t>(i)]);
  }
}

void gradient(GradientContext& c) {
  const RopeAttributes attributes{c.attributes.as<RopeAttributes>().form};
  c.grad_in[0] = c.build.emit_one(kRopeBackward, attributes, {c.grad_out[0], c.in[1], c.in[2]});
}

// Emits the form of the transformers library: x cos + rotate_half(x) sin, where rotate_half(x) = (-x2, x1).
ValueId rotate_half_form(Builder& build, std::span<const ValueId> in) {
  const int64_t width = build.shape(in[0]).back();
  const int64_t rotated = build.shape(in[1]).back();
  const int64_t half = rotated / 2;
  const ValueId x = rotated < width ? slice(build, in[0], -1, 0, rotated) : in[0];
  const ValueId left = mul(build, x, in[1]);
  const ValueId turned = concat(build, neg(build, slice(build, x, -1, half, half)), slice(build, x, -1, 0, half), -1);
  const ValueId y = add(build, left, mul(build, turned, in[2]));
  if (rotated == width) return y;
  const ValueId rest = slice(build, in[0], -1, rotated, width - rotated);
  return concat(build, y, cast(build, rest, build.dtype(y)), -1);
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<RopeAttributes>();
  if (a.form == RopeForm::kRotateHalf) {
    const ValueId y = rotate_half_form(build, in);
    return {cast(build, y, a.y_dtype.value_or(build.dtype(y)))};
  }
  const Shape shape = build.shape(in[0]);
  const int64_t half = shape.back() / 2;
  const ValueId x1 = slice(build, in[0], -1, 0, half, 2);
  const ValueId x2 = slice(build, in[0], -1, 1, half, 2);
  const ValueId y1 = sub(build, mul(build, in[1], x1), mul(build, in[2], x2));
  const ValueId y2 = add(build, mul(build, in[2], x1), mul(build, in[1], x2));
  const int axis = a.form == RopeForm::kInterleaved ? -1 : -2;
  const ValueId y = reshape(build, stack(build, y1, y2, axis), shape);
  return {cast(build, y, a.y_dtype.value_or(build.dtype(y)))};
}

std::optional<Attributes> fold_output_cast(const Attributes& attributes, int output, DType to) {
  auto a = attributes.as<RopeAttributes>();
  if (output != 0 || !only_rounds(a.y_dtype, to)) return std::nullopt;
  a.y_dtype = to;
  return a;
}

// A narrower x is still rotated in float32. If the cast is removed, the output keeps the type that the cast gave it.
std::optional<Attributes> fold_input_cast(const Attributes& attributes, int input, DType to) {
  auto a = attributes.as<RopeAttributes>();
  if (input != 0 || to != DType::kFloat32) return std::nullopt;
  a.y_dtype = a.y_dtype.value_or(to);
  return a;
}

double flops(const Signature& s) { return 3.0 * static_cast<double>(s.out[0].numel()); }

}  // namespace

const char* name_of(RopeForm form) {
  switch (form) {
    case RopeForm::kInterleaved: return "interleaved";
    case RopeForm::kHalves: return "halves";
    case RopeForm::kRotateHalf: return "rotate_half";
  }
  return "?";
}

const OpCard kRopeTable = {.name = "rope_table",
                           .kind = OpKind::kConstant,
                           .infer = infer_table,
                           .reference = reference_table,
                           .is_module_buffer = true};
const OpCard kRope = {.name = "rope",
                      .infer = infer,
                      .gradient = gradient,
                      .flops = flops,
                      .reference = [](const OpCall& call) { rotate(call, false); },
                      .decompose = decompose,
                      .fold_input_cast = fold_input_cast,
                      .fold_output_cast = fold_output_cast,
                      .may_overwrite = {{0, 0}}};
const OpCard kRopeBackward = {.name = "rope_backward",
                              .infer = infer,
                              .flops = flops,
                              .reference = [](const OpCall& call) { rotate(call, true); },
                              .fold_input_cast = fold_input_cast,
                              .fold_output_cast = fold_output_cast,
                              .may_overwrite = {{0, 0}}};

std::span<const OpCard* const> rope_cards() {
  static constexpr const OpCard* kCards[] = {&kRopeTable, &kRope, &kRopeBackward};
  return kCards;
}

RopeTable rope_table(Builder& build, const RopeTableAttributes& attributes) {
  const std::vector<ValueId> table = build.emit(kRopeTable, attributes, {});
  return {table[0], table[1]};
}

ValueId rope(Builder& build, ValueId x, const RopeTable& table, RopeForm form) {
  return build.emit_one(kRope, RopeAttributes{form}, {x, table.cos, table.sin});
}

}  // namespace laptime
