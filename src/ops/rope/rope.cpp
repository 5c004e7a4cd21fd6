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
  const TensorType type = contiguous_type(a.dtype, {a.context_length, a.d_head / 2});
  return {type, type};
}

// Frequencies and angles are rounded to the table's type in between, as torch rounds them.
template <class Real>
void fill_table(const RopeTableAttributes& a, std::span<const TensorView> out) {
  for (int64_t i = 0; i < a.d_head / 2; ++i) {
    const Real frequency =
        std::pow(static_cast<Real>(a.theta), -(static_cast<Real>(2 * i) / static_cast<Real>(a.d_head)));
    for (int64_t t = 0; t < a.context_length; ++t) {
      const Real angle = static_cast<Real>(t) * frequency;
      out[0].put(t * (a.d_head / 2) + i, std::cos(angle));
      out[1].put(t * (a.d_head / 2) + i, std::sin(angle));
    }
  }
}

void reference_table(const OpCall& call) {
  const auto& a = call.attributes.as<RopeTableAttributes>();
  a.dtype == DType::kFloat64 ? fill_table<double>(a, call.out) : fill_table<float>(a, call.out);
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> in) {
  const Shape& shape = in[0].shape();
  LAPTIME_CHECK(shape.back() % 2 == 0, "{} has an odd last axis", in[0].text());
  const Shape table{shape[-2], shape.back() / 2};
  LAPTIME_CHECK(in[1].shape() == table && in[2].shape() == table, "{} rotated by {}", in[0].text(), in[1].text());
  const DType dtype = attributes.as<RopeAttributes>().y_dtype.value_or(promote(in[0].dtype, in[1].dtype));
  return {{dtype, dense_like(in[0].layout)}};
}

// Rotates each pair. A row is read before it is written, so that y may overwrite x.
void rotate(const OpCall& call, bool inverse) {
  const TensorView& x = call.in[0];
  const int64_t half = x.shape().back() / 2;
  const int64_t positions = x.shape()[-2];
  const bool halves = call.attributes.as<RopeAttributes>().form == RopeForm::kHalves;
  std::vector<double> row(static_cast<size_t>(2 * half));
  for (int64_t begin = 0; begin < x.numel(); begin += 2 * half) {
    for (int64_t i = 0; i < 2 * half; ++i) row[static_cast<size_t>(i)] = x.at(begin + i);
    for (int64_t i = 0; i < half; ++i) {
      const int64_t angle = begin / (2 * half) % positions * half + i;
      const double cos = call.in[1].at(angle);
      const double sin = inverse ? -call.in[2].at(angle) : call.in[2].at(angle);
      const bool from_halves = halves && inverse;
      const bool to_halves = halves && !inverse;
      const double x1 = row[static_cast<size_t>(from_halves ? i : 2 * i)];
      const double x2 = row[static_cast<size_t>(from_halves ? half + i : 2 * i + 1)];
      call.out[0].put(begin + (to_halves ? i : 2 * i), cos * x1 - sin * x2);
      call.out[0].put(begin + (to_halves ? half + i : 2 * i + 1), sin * x1 + cos * x2);
    }
  }
}

void gradient(GradientContext& c) {
  const RopeAttributes attributes{c.attributes.as<RopeAttributes>().form};
  c.grad_in[0] = c.build.emit_one(kRopeBackward, attributes, {c.grad_out[0], c.in[1], c.in[2]});
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const Shape shape = build.shape(in[0]);
  const int64_t half = shape.back() / 2;
  const ValueId x1 = slice(build, in[0], -1, 0, half, 2);
  const ValueId x2 = slice(build, in[0], -1, 1, half, 2);
  const ValueId y1 = sub(build, mul(build, in[1], x1), mul(build, in[2], x2));
  const ValueId y2 = add(build, mul(build, in[2], x1), mul(build, in[1], x2));
  const auto& a = attributes.as<RopeAttributes>();
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

// A narrower x is rotated in float32 all the same; the output keeps its type when the cast goes.
std::optional<Attributes> fold_input_cast(const Attributes& attributes, int input, DType to) {
  auto a = attributes.as<RopeAttributes>();
  if (input != 0 || to != DType::kFloat32) return std::nullopt;
  a.y_dtype = a.y_dtype.value_or(to);
  return a;
}

double flops(const Signature& s) { return 3.0 * static_cast<double>(s.out[0].numel()); }

}  // namespace

const char* name_of(RopeForm form) { return form == RopeForm::kInterleaved ? "interleaved" : "halves"; }

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

RopeTable rope_table(Builder& build, int64_t context_length, int64_t d_head, double theta, DType dtype) {
  const std::vector<ValueId> table =
      build.emit(kRopeTable, RopeTableAttributes{context_length, d_head, theta, dtype}, {});
  return {table[0], table[1]};
}

ValueId rope(Builder& build, ValueId x, const RopeTable& table, RopeForm form) {
  return build.emit_one(kRope, RopeAttributes{form}, {x, table.cos, table.sin});
}

}  // namespace laptime
