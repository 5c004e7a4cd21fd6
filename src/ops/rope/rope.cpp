// Rotary position embedding: (x1, x2) -> (cos x1 - sin x2, sin x1 + cos x2) for pairs (2i, 2i+1)   (Su et al. 2021)
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

// Frequencies and angles are rounded to the table's type on the way, as a framework rounds them.
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

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(promote(in[0].dtype, in[1].dtype), in[0].shape())};
}

void reference(const OpCall& call) {
  const int64_t half = call.in[0].shape().back() / 2;
  const int64_t positions = call.in[0].shape()[-2];
  const bool interleaved = call.attributes.as<RopeAttributes>().form == RopeForm::kInterleaved;
  for (int64_t row = 0; row < call.in[0].numel() / (2 * half); ++row) {
    for (int64_t i = 0; i < half; ++i) {
      const double cos = call.in[1].at(row % positions * half + i);
      const double sin = call.in[2].at(row % positions * half + i);
      const double x1 = call.in[0].at(row * 2 * half + 2 * i);
      const double x2 = call.in[0].at(row * 2 * half + 2 * i + 1);
      call.out[0].put(row * 2 * half + (interleaved ? 2 * i : i), cos * x1 - sin * x2);
      call.out[0].put(row * 2 * half + (interleaved ? 2 * i + 1 : half + i), sin * x1 + cos * x2);
    }
  }
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const Shape shape = build.shape(in[0]);
  const int64_t half = shape.back() / 2;
  const ValueId x1 = slice(build, in[0], -1, 0, half, 2);
  const ValueId x2 = slice(build, in[0], -1, 1, half, 2);
  const ValueId y1 = sub(build, mul(build, in[1], x1), mul(build, in[2], x2));
  const ValueId y2 = add(build, mul(build, in[2], x1), mul(build, in[1], x2));
  const int axis = attributes.as<RopeAttributes>().form == RopeForm::kInterleaved ? -1 : -2;
  return {reshape(build, stack(build, y1, y2, axis), shape)};
}

}  // namespace

const char* name_of(RopeForm form) { return form == RopeForm::kInterleaved ? "interleaved" : "halves"; }

const OpCard kRopeTable = {
    .name = "rope_table", .kind = OpKind::kConstant, .infer = infer_table, .reference = reference_table};
const OpCard kRope = {.name = "rope",
                      .infer = infer,
                      .flops = [](const Signature& s) { return 3.0 * static_cast<double>(s.out[0].numel()); },
                      .reference = reference,
                      .decompose = decompose};

std::span<const OpCard* const> rope_cards() {
  static constexpr const OpCard* kCards[] = {&kRopeTable, &kRope};
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
